package org.memferry.update;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.junit.jupiter.api.Test;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/** Norms of our own have the same bits for every number of threads, and are those of exact arithmetic to the last bits. */
class HostNormTest {

    @Property(tries = 60)
    void theBitsDoNotDependOnTheThreads(@ForAll long seed, @ForAll @IntRange(max = 5 * HostNorm.PIECE) int length) {
        float[] values = gaussian(seed, length);
        double expected = norm(1, values);
        for (int threads = 2; threads <= 4; threads++) {
            assertThat(norm(threads, values)).as("norm with %d threads", threads).isEqualTo(expected);
        }
    }

    @Property(tries = 60)
    void theNormIsThatOfExactArithmetic(@ForAll long seed, @ForAll @IntRange(max = 3 * JavaKernel.BLOCK + 1) int length) {
        float[] values = gaussian(seed, length);
        BigDecimal sum = BigDecimal.ZERO;
        for (float value : values) {
            sum = sum.add(new BigDecimal(value).pow(2));
        }
        double exact = sum.sqrt(MathContext.DECIMAL64).doubleValue();
        assertThat(norm(2, values)).isCloseTo(exact, within(Math.ulp((float) exact) * 1.0));
        assertThat(normOfDoubles(values)).isCloseTo(exact, within(exact * 1e-12 + Double.MIN_NORMAL));
    }

    @Test
    void whatIsNotFiniteStaysSo() {
        assertThat(norm(2, 1, Float.NaN, 2)).isNaN();
        assertThat(norm(2, 1, Float.NEGATIVE_INFINITY, 2)).isEqualTo(Double.POSITIVE_INFINITY);
        assertThat(norm(2, 0, -0f)).isZero();
        assertThat(norm(2)).as("norm of nothing").isZero();
        assertThat(norm(1, 3e30f, 4e30f)).as("squares beyond float").isEqualTo((double) 5e30f);
    }

    private static float[] gaussian(long seed, int length) {
        Random random = new Random(seed);
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static double norm(int threads, float... values) {
        try (FloatPointer memory = new FloatPointer(Math.max(1, values.length));
                UpdateEngine engine = new UpdateEngine(new JavaKernel(), new UpdateWorkers(threads))) {
            memory.put(values, 0, values.length);
            return new HostNorm(engine, ElementType.FLOAT).of(memory.address(), values.length);
        }
    }

    private static double normOfDoubles(float... values) {
        try (DoublePointer memory = new DoublePointer(Math.max(1, values.length));
                UpdateEngine engine = new UpdateEngine(new JavaKernel(), new UpdateWorkers(2))) {
            for (int i = 0; i < values.length; i++) {
                memory.put(i, values[i]);
            }
            return new HostNorm(engine, ElementType.DOUBLE).of(memory.address(), values.length);
        }
    }
}
