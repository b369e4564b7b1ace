package org.memferry.parity;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

import static org.assertj.core.api.Assertions.assertThat;

/** Everything that must be the same in two networks, down to the last bit: score, parameters, updater state, counters, output. */
final class Snapshot {

    private final double score;
    private final long[] parameters;
    private final long[] updaterState;
    private final long[] output;
    private final int iteration;

    private Snapshot(double score, long[] parameters, long[] updaterState, long[] output, int iteration) {
        this.score = score;
        this.parameters = parameters;
        this.updaterState = updaterState;
        this.output = output;
        this.iteration = iteration;
    }

    /** Takes a snapshot; runs inference if a family is given. */
    static Snapshot of(Model model, Family family) {
        INDArray state;
        int iteration;
        if (model instanceof MultiLayerNetwork) {
            state = ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
            iteration = ((MultiLayerNetwork) model).getIterationCount();
        } else {
            state = ((ComputationGraph) model).getUpdater().getStateViewArray();
            iteration = ((ComputationGraph) model).getIterationCount();
        }
        return new Snapshot(model.score(), bits(model.params()), bits(state), family == null ? null : bits(family.output(model)),
                iteration);
    }

    /** Fails, naming the first difference, unless both are equal bit for bit. */
    void assertIdentical(Snapshot other, String when) {
        assertThat(other.iteration).as("iteration count %s", when).isEqualTo(iteration);
        assertThat(Double.doubleToRawLongBits(other.score)).as("score %s: %s is not %s", when, other.score, score)
                .isEqualTo(Double.doubleToRawLongBits(score));
        assertSame(parameters, other.parameters, "parameters " + when);
        assertSame(updaterState, other.updaterState, "updater state " + when);
        assertSame(output, other.output, "output " + when);
    }

    private static void assertSame(long[] expected, long[] actual, String what) {
        if (expected == null || actual == null) {
            assertThat(actual).as(what).isEqualTo(expected);
            return;
        }
        assertThat(actual.length).as("length of %s", what).isEqualTo(expected.length);
        int different = 0;
        int first = -1;
        for (int i = 0; i < expected.length; i++) {
            if (expected[i] != actual[i]) {
                different++;
                first = first < 0 ? i : first;
            }
        }
        assertThat(different).as("%s: %d of %d elements differ, the first at %d (%s, %s)", what, different, expected.length, first,
                first < 0 ? "" : Double.longBitsToDouble(expected[first]),
                first < 0 ? "" : Double.longBitsToDouble(actual[first])).isZero();
    }

    private static long[] bits(INDArray array) {
        if (array == null) {
            return null;
        }
        // A float widened to double keeps its value, so that equal double bits mean equal float bits (NaN payloads aside).
        double[] values = array.dataType() == DataType.DOUBLE ? array.dup('c').data().asDouble() : widened(array.dup('c').data().asFloat());
        long[] bits = new long[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Double.doubleToRawLongBits(values[i]);
        }
        return bits;
    }

    private static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
