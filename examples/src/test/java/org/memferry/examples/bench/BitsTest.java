package org.memferry.examples.bench;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.nd4j.linalg.factory.Nd4j;

import static org.assertj.core.api.Assertions.assertThat;

class BitsTest {

    @ParameterizedTest
    @CsvSource({"1, 1, 0", "1, 1.0000001, 1", "0, -0.0, 1", "1.4e-45, -1.4e-45, 2", "NaN, NaN, 0", "NaN, 1, 9223372036854775807",
        "-1, 1, 2130706432"})
    void distancesCountTheFloatsBetween(float a, float b, long ulp) {
        float[] x = new float[70_000];
        float[] y = new float[70_000];
        x[69_999] = a;
        y[69_999] = b;
        assertThat(Bits.maxUlp(Nd4j.createFromArray(x), Nd4j.createFromArray(y))).isEqualTo(ulp);
        assertThat(Bits.maxUlp(Nd4j.createFromArray(y), Nd4j.createFromArray(x))).isEqualTo(ulp);
    }
}
