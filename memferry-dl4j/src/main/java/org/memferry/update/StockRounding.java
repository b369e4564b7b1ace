package org.memferry.update;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.AdaBeliefUpdater;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Whether the loaded build of ND4J fuses multiplications with additions: its avx2 build does, its generic build does not, and the
 * results differ in the last place. Found by running ND4J's own operation on a tiny array, once for each rule and type.
 */
final class StockRounding {

    /** What was found. */
    enum Contraction {
        /** Every operation rounds. */
        PLAIN,
        /** The products marked in {@link UpdateRule} are fused. */
        FUSED,
        /** Neither gives ND4J's numbers: a build that this class does not know. */
        UNKNOWN
    }

    private static final Logger LOG = LoggerFactory.getLogger(StockRounding.class);
    private static final int PROBE = 67;
    private static final int TYPES = ElementType.values().length;
    private static final int REGULARISATION = UpdateRule.values().length;
    private static final AtomicReferenceArray<Contraction> FOUND = new AtomicReferenceArray<>((REGULARISATION + 1) * TYPES);

    private StockRounding() {
    }

    /** How the loaded ND4J rounds a rule. On a backend that is not a CPU: as the avx2 build does, for nothing there can be matched. */
    static Contraction ofRule(UpdateRule rule, ElementType type) {
        if (rule.stateComponents() == 0) {
            return Contraction.PLAIN;
        }
        Contraction found = FOUND.get(rule.ordinal() * TYPES + type.ordinal());
        return found != null ? found : find(rule.ordinal(), rule.toString(), type, new RuleProbe(rule, type));
    }

    /** How the loaded ND4J rounds {@code gradient + coefficient * parameter} of l2 and weight decay. */
    static Contraction ofRegularisation(ElementType type) {
        Contraction found = FOUND.get(REGULARISATION * TYPES + type.ordinal());
        return found != null ? found : find(REGULARISATION, "regularisation", type, new AxpyProbe(type));
    }

    private static synchronized Contraction find(int index, String name, ElementType type, Probe probe) {
        if (FOUND.get(index * TYPES + type.ordinal()) == null) {
            FOUND.set(index * TYPES + type.ordinal(), run(name, type, probe));
        }
        return FOUND.get(index * TYPES + type.ordinal());
    }

    private static Contraction run(String name, ElementType type, Probe probe) {
        if (!Nd4j.getEnvironment().isCPU()) {
            return Contraction.FUSED;
        }
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            if (probe.matches(false)) {
                return Contraction.PLAIN;
            }
            if (probe.matches(true)) {
                return Contraction.FUSED;
            }
        }
        LOG.warn("{} for {}: the loaded ND4J rounds in neither of the ways that MemFerry knows; results may differ from stock DL4J in"
                + " the last place", name, type);
        return Contraction.UNKNOWN;
    }

    /** Runs ND4J's operation and ours on the same numbers. */
    private abstract static class Probe {

        final DataType type;
        final ElementType elements;

        Probe(ElementType elements) {
            this.elements = elements;
            type = elements == ElementType.FLOAT ? DataType.FLOAT : DataType.DOUBLE;
        }

        abstract boolean matches(boolean fused);

        INDArray random(long seed, double low, double high, long length) {
            Random random = new Random(seed);
            INDArray array = Nd4j.createUninitialized(type, length);
            for (long i = 0; i < length; i++) {
                array.putScalar(i, low + (high - low) * random.nextDouble());
            }
            return array;
        }

        void ours(UpdatePass pass, INDArray parameters, INDArray gradients, INDArray state) {
            long n = gradients.length();
            long x = state == null ? 0 : state.data().address();
            long stride = n * elements.bytes();
            new JavaKernel().update(pass, parameters.data().address(), gradients.data().address(), x, x + stride, x + 2 * stride, 0, n);
        }
    }

    private static final class RuleProbe extends Probe {

        private final UpdateRule rule;

        RuleProbe(UpdateRule rule, ElementType type) {
            super(type);
            this.rule = rule;
        }

        @Override
        boolean matches(boolean fused) {
            IUpdater updater = defaultOf(rule);
            INDArray gradients = random(1, -0.01, 0.01, PROBE);
            INDArray state = random(2, 1e-5, 1e-3, PROBE * rule.stateComponents());
            INDArray ourGradients = gradients.dup();
            INDArray ourState = state.dup();
            stock(updater, gradients, state);
            UpdatePass pass = new UpdatePass();
            pass.begin(RuleStep.of(updater, elements, 2, 0));
            pass.fuse(fused, false);
            pass.writeUpdate();
            ours(pass, random(3, -1, 1, PROBE), ourGradients, ourState);
            return ourGradients.equalsWithEps(gradients, 0) && ourState.equalsWithEps(state, 0);
        }

        private static void stock(IUpdater updater, INDArray gradients, INDArray state) {
            if (updater instanceof AdaBelief) {
                // Its instantiate(view) fails on every view in M2.1: it asks a rank 1 shape for a second dimension.
                AdaBeliefUpdater u = new AdaBeliefUpdater((AdaBelief) updater);
                INDArray rows = state.reshape(2, PROBE);
                u.setState(Map.of(AdaBeliefUpdater.M_STATE, rows.slice(0), AdaBeliefUpdater.S_STATE, rows.slice(1)), false);
                u.applyUpdater(gradients, 2, 0);
            } else {
                // Rows: what DL4J passes up to M1.1; later releases flatten them.
                updater.instantiate(state.reshape(1, state.length()), false).applyUpdater(gradients.reshape(1, PROBE), 2, 0);
            }
        }
    }

    private static final class AxpyProbe extends Probe {

        AxpyProbe(ElementType type) {
            super(type);
        }

        @Override
        boolean matches(boolean fused) {
            INDArray parameters = random(1, -1, 1, PROBE);
            INDArray gradients = random(2, -0.01, 0.01, PROBE);
            INDArray ours = gradients.dup();
            new L2Regularization(0.3).apply(parameters, gradients, 1, 0, 0);
            UpdatePass pass = new UpdatePass();
            pass.begin(elements);
            pass.fuse(false, fused);
            pass.addL2(0.3);
            pass.writeUpdate();
            ours(pass, parameters.dup(), ours, null);
            return ours.equalsWithEps(gradients, 0);
        }
    }

    private static IUpdater defaultOf(UpdateRule rule) {
        switch (rule) {
            case ADAM:
                return new Adam();
            case AMSGRAD:
                return new AMSGrad();
            case ADAMAX:
                return new AdaMax();
            case NADAM:
                return new Nadam();
            case NESTEROVS:
                return new Nesterovs();
            case RMSPROP:
                return new RmsProp();
            case ADAGRAD:
                return new AdaGrad();
            case ADADELTA:
                return new AdaDelta();
            case ADABELIEF:
                return new AdaBelief();
            case SGD:
                return new Sgd();
            default:
                return new NoOp();
        }
    }
}
