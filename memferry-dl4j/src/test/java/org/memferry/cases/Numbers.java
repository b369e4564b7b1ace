package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

import static org.assertj.core.api.Assertions.assertThat;

/** Comparing bit for bit. */
final class Numbers {

    private Numbers() {
    }

    /** Fails unless score, parameters, updater state and iteration count of two networks are the same. */
    static void assertSame(Model stock, Model attached, String when) {
        assertThat(Nets.iteration(attached)).as("iteration count %s", when).isEqualTo(Nets.iteration(stock));
        assertThat(Double.doubleToRawLongBits(attached.score())).as("score %s: %s, stock %s", when, attached.score(), stock.score())
                .isEqualTo(Double.doubleToRawLongBits(stock.score()));
        assertSame(stock.params(), attached.params(), "parameters " + when);
        assertSame(Nets.updaterState(stock), Nets.updaterState(attached), "updater state " + when);
    }

    /** Fails, naming the first difference, unless both arrays have the same bits in the same order. */
    static void assertSame(INDArray stock, INDArray ours, String what) {
        if (stock == null || ours == null) {
            assertThat(ours).as(what).isEqualTo(stock);
            return;
        }
        double[] expected = values(stock);
        double[] actual = values(ours);
        assertThat(actual.length).as("length of %s", what).isEqualTo(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(Double.doubleToRawLongBits(actual[i])).as("%s, element %d of %d: %s, stock %s", what, i, expected.length, actual[i],
                    expected[i]).isEqualTo(Double.doubleToRawLongBits(expected[i]));
        }
    }

    /** A float widened to double keeps its value, so that equal double bits mean equal float bits. */
    static double[] values(INDArray array) {
        INDArray copy = array.dup('c');
        if (array.dataType() == DataType.DOUBLE) {
            return copy.data().asDouble();
        }
        float[] narrow = copy.data().asFloat();
        double[] wide = new double[narrow.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = narrow[i];
        }
        return wide;
    }
}
