package org.memferry.update;

import org.nd4j.linalg.learning.config.IUpdater;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** One block trained by stock ND4J and by several kernels, with the same gradients, compared bit for bit. */
final class BlockCase implements AutoCloseable {

    private final IUpdater rule;
    private final ElementType type;
    private final int length;
    private final StockBlock stock;
    private final List<Ours> ours = new ArrayList<>();

    BlockCase(IUpdater rule, ElementType type, List<StockBlock.Parameter> layout, double[] parameters, int shift,
            List<UpdateKernel> kernels, UpdateWorkers workers) {
        this.rule = rule;
        this.type = type;
        length = parameters.length;
        stock = new StockBlock(rule, type, layout, parameters);
        List<UpdateRange> ranges = new ArrayList<>();
        for (StockBlock.Parameter p : layout) {
            UpdateRange.Builder b = UpdateRange.of(p.length).regularization(p.regularization);
            if (!p.divided) {
                b.notDivided();
            }
            if (!p.trained) {
                b.notTrained();
            }
            ranges.add(b.build());
        }
        for (UpdateKernel kernel : kernels) {
            Ours o = new Ours(kernel, new FusedUpdate(new UpdateEngine(kernel, workers), type, ranges), shift);
            o.parameters.write(parameters);
            if (o.state != null) {
                o.state.write(stock.state.dup().data().asDouble());
            }
            ours.add(o);
        }
    }

    /** Runs an iteration everywhere and compares. */
    void step(double[] gradient, int minibatch, int iteration, int epoch, boolean writeUpdate) {
        stock.step(gradient, minibatch, iteration, epoch);
        double[] p = stock.parameters.dup().data().asDouble();
        double[] s = stock.state == null ? null : stock.state.dup().data().asDouble();
        double[] u = writeUpdate ? stock.gradients.dup().data().asDouble() : rounded(gradient);
        RuleStep step = RuleStep.of(rule, type, iteration, epoch);
        for (Ours o : ours) {
            o.gradients.write(gradient);
            o.fused.run(UpdateRequest.of(step).minibatch(minibatch).writeUpdate(writeUpdate)
                    .at(o.parameters.address(), o.gradients.address(), o.state == null ? 0 : o.state.address()).build());
            String what = rule + ", " + type + ", " + length + " elements, iteration " + iteration + ", " + o.kernel.name();
            equal(p, o.parameters.read(), what + ": parameters");
            equal(u, o.gradients.read(), what + (writeUpdate ? ": updates" : ": gradients, to be left alone"));
            if (s != null) {
                equal(s, o.state.read(), what + ": state");
            }
        }
    }

    private double[] rounded(double[] values) {
        return type == ElementType.DOUBLE ? values : Arrays.stream(values).map(v -> (float) v).toArray();
    }

    /** Same bits; NaNs are equal to each other. */
    private static void equal(double[] expected, double[] actual, String what) {
        int i = Arrays.mismatch(expected, actual);
        if (i >= 0) {
            long differing = 0;
            for (int k = 0; k < expected.length; k++) {
                differing += Double.doubleToLongBits(expected[k]) == Double.doubleToLongBits(actual[k]) ? 0 : 1;
            }
            throw new AssertionError(what + ": element " + i + " is " + actual[i] + ", stock has " + expected[i] + "; " + differing + " of "
                    + expected.length + " differ");
        }
    }

    /** Checks that no kernel wrote beside its arrays, and frees them. */
    @Override
    public void close() {
        for (Ours o : ours) {
            assertThat(o.parameters.wallsStand()).as("%s: memory around the parameters", o.kernel.name()).isTrue();
            assertThat(o.gradients.wallsStand()).as("%s: memory around the gradients", o.kernel.name()).isTrue();
            assertThat(o.state == null || o.state.wallsStand()).as("%s: memory around the state", o.kernel.name()).isTrue();
            o.parameters.close();
            o.gradients.close();
            if (o.state != null) {
                o.state.close();
            }
        }
    }

    private final class Ours {

        final UpdateKernel kernel;
        final FusedUpdate fused;
        final GuardedArray parameters;
        final GuardedArray gradients;
        final GuardedArray state;

        Ours(UpdateKernel kernel, FusedUpdate fused, int shift) {
            this.kernel = kernel;
            this.fused = fused;
            parameters = new GuardedArray(type, length, shift);
            gradients = new GuardedArray(type, length, 2 * shift + 1);
            int stateSize = (int) rule.stateSize(length);
            state = stateSize == 0 ? null : new GuardedArray(type, stateSize, 3 * shift);
        }
    }
}
