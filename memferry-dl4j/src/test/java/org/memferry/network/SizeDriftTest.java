package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Random;
import java.util.function.IntToDoubleFunction;

import static org.assertj.core.api.Assertions.assertThat;

/** When data is said to have come to be of another size. */
class SizeDriftTest {

    private static final int PATIENCE = 8;

    private final SizeDrift drift = new SizeDrift(1.5, PATIENCE);

    /** How often measuring begins anew in so many iterations. */
    private int begun(int iterations, IntToDoubleFunction size) {
        int begun = 0;
        for (int i = 0; i < iterations; i++) {
            drift.opened(size.applyAsDouble(i));
            if (drift.hasMoved()) {
                drift.begin();
                begun++;
            }
        }
        return begun;
    }

    @ParameterizedTest
    @ValueSource(doubles = {20, 0.05})
    void dataThatStaysLargerOrSmallerForSomeIterationsHasMovedOnce(double factor) {
        assertThat(begun(20, i -> 10)).isZero();
        assertThat(begun(PATIENCE - 1, i -> 10 * factor)).as("not yet").isZero();
        assertThat(begun(1, i -> 10 * factor)).isOne();
        assertThat(drift.isAlike()).as("what has become usual").isFalse();
        drift.opened(10 * factor);
        assertThat(drift.isAlike()).isTrue();
        assertThat(begun(100, i -> 10 * factor)).isZero();
    }

    @Test
    void aLittleLargerIsTheSame() {
        begun(20, i -> 10);
        assertThat(begun(100, i -> 14)).isZero();
        assertThat(drift.isAlike()).isTrue();
    }

    @Test
    void lengthsThatAlternateAreNeverMeasuredAnew() {
        assertThat(begun(10_000, i -> i % 2 == 0 ? 10 : 200)).isZero();
        assertThat(begun(10_000, i -> i % 5 == 0 ? 200 : 10)).isZero();
    }

    /** The longest of a thousand texts is a hundred times as long as the shortest; sorted, as some do it, or as they come. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void lengthsThatVaryAreMeasuredAnewLessAndLessOften(boolean sorted) {
        Random random = new Random(1);
        IntToDoubleFunction length = i -> sorted ? 10 + i % 1000 : 10 + random.nextInt(1000);
        int first = begun(20_000, length);
        int later = begun(20_000, length);
        assertThat(first).isLessThanOrEqualTo(10);
        assertThat(later).isLessThanOrEqualTo(2);
    }

    @Test
    void whatIsUsualIsTheMiddleOfWhatCameFirst() {
        begun(5, i -> new double[] {200, 10, 12, 500, 11}[i]);
        assertThat(drift.hasSettled()).isTrue();
        drift.opened(12);
        assertThat(drift.hasSettled()).isFalse();
        assertThat(drift.times()).isEqualTo(1);
        drift.opened(36);
        assertThat(drift.times()).isEqualTo(3);
        assertThat(drift.isOutgrown()).isTrue();
    }

    /** One of several is left to the median; of smaller ones the shortest time would be another. */
    @Test
    void aSingleLargerIterationCanBeMeasuredAndASmallerOneCannot() {
        begun(10, i -> 10);
        drift.opened(100);
        assertThat(drift.canBeMeasured()).isTrue();
        drift.opened(100);
        assertThat(drift.canBeMeasured()).isFalse();
        begun(2, i -> 10);
        drift.opened(100);
        assertThat(drift.canBeMeasured()).isFalse();
        begun(3, i -> 10);
        assertThat(drift.canBeMeasured()).isTrue();
        drift.opened(1);
        assertThat(drift.canBeMeasured()).isFalse();
    }
}
