package org.memferry.update;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.AdaBeliefUpdater;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.Regularization.ApplyStep;

import java.util.List;
import java.util.Map;

/** An updater block computed as DL4J does: BaseMultiLayerUpdater, UpdaterBlock and the step function, call for call, by ND4J. */
final class StockBlock {

    /** A parameter of the block. */
    static final class Parameter {

        final int length;
        final boolean divided;
        final boolean trained;
        final List<Regularization> regularization;

        Parameter(int length, boolean divided, boolean trained, List<Regularization> regularization) {
            this.length = length;
            this.divided = divided;
            this.trained = trained;
            this.regularization = regularization;
        }
    }

    final INDArray parameters;
    final INDArray gradients;
    final INDArray state;
    private final GradientUpdater<?> updater;
    private final List<Parameter> layout;

    StockBlock(IUpdater rule, ElementType type, List<Parameter> layout, double[] parameters) {
        DataType dataType = type == ElementType.FLOAT ? DataType.FLOAT : DataType.DOUBLE;
        this.layout = layout;
        int n = parameters.length;
        this.parameters = view(dataType, n);
        assign(this.parameters, parameters);
        gradients = view(dataType, n);
        long stateSize = rule.stateSize(n);
        state = stateSize == 0 ? null : view(dataType, (int) stateSize);
        updater = instantiate(rule, n);
    }

    /** Arrays of DL4J are views into the network's flat ones, starting anywhere. */
    private static INDArray view(DataType type, int n) {
        return Nd4j.create(type, n + 11L).get(NDArrayIndex.interval(5, 5 + n));
    }

    private GradientUpdater<?> instantiate(IUpdater rule, int n) {
        if (!(rule instanceof AdaBelief)) {
            return rule.instantiate(state == null ? null : state.reshape(1, state.length()), true);
        }
        // M2.1's AdaBelief cannot make itself from a view; given its two arrays it works.
        AdaBeliefUpdater made = new AdaBeliefUpdater((AdaBelief) rule);
        made.setState(Map.of(AdaBeliefUpdater.M_STATE, state.get(NDArrayIndex.interval(0, n)),
                AdaBeliefUpdater.S_STATE, state.get(NDArrayIndex.interval(n, 2L * n))), true);
        return made;
    }

    static void assign(INDArray array, double[] values) {
        INDArray source = array.dataType() == DataType.FLOAT ? Nd4j.createFromArray(floats(values)) : Nd4j.createFromArray(values);
        array.assign(source);
    }

    static float[] floats(double[] values) {
        float[] f = new float[values.length];
        for (int i = 0; i < f.length; i++) {
            f[i] = (float) values[i];
        }
        return f;
    }

    /** One iteration with these gradients. {@code minibatch} 0: not divided. Leaves the updates in {@link #gradients}. */
    void step(double[] gradient, int minibatch, int iteration, int epoch) {
        assign(gradients, gradient);
        if (minibatch > 0) {
            each((p, g, parameter) -> {
                if (parameter.divided) {
                    g.divi(minibatch);
                }
            });
        }
        update(iteration, epoch);
        parameters.subi(gradients);
    }

    private void update(int iteration, int epoch) {
        if (!layout.get(0).trained) {
            return;
        }
        regularize(ApplyStep.BEFORE_UPDATER, iteration, epoch);
        // AdaBelief's arrays are flat, the others' are rows of what was a row.
        boolean flat = updater instanceof AdaBeliefUpdater;
        updater.applyUpdater(flat ? gradients : gradients.reshape(1, gradients.length()), iteration, epoch);
        regularize(ApplyStep.POST_UPDATER, iteration, epoch);
    }

    private void regularize(ApplyStep when, int iteration, int epoch) {
        IUpdater config = updater.getConfig();
        double learningRate = config.hasLearningRate() ? config.getLearningRate(iteration, epoch) : 1.0;
        each((p, g, parameter) -> {
            for (Regularization r : parameter.regularization) {
                if (r.applyStep() == when) {
                    r.apply(p, g, learningRate, iteration, epoch);
                }
            }
        });
    }

    private interface Visitor {

        void visit(INDArray parameter, INDArray gradient, Parameter description);
    }

    private void each(Visitor visitor) {
        long from = 0;
        for (Parameter p : layout) {
            visitor.visit(parameters.get(NDArrayIndex.interval(from, from + p.length)),
                    gradients.get(NDArrayIndex.interval(from, from + p.length)), p);
            from += p.length;
        }
    }
}
