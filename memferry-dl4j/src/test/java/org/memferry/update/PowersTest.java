package org.memferry.update;

import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;

import static org.assertj.core.api.Assertions.assertThat;

class PowersTest {

    @Test
    void thePowersOfTheNativeLibraryAreThoseOfNd4j() {
        Kernels.needNative();
        for (int t = 1; t < 2000; t++) {
            for (double beta : new double[] {0.9, 0.999, 0.5, 0.0, 1.0}) {
                assertThat(Powers.ofNd4j(DataType.FLOAT, (float) beta, t)).isEqualTo(NativeKernel.powf((float) beta, t));
                assertThat(Powers.ofNd4j(DataType.DOUBLE, beta, t)).isEqualTo(NativeKernel.pow(beta, t));
            }
        }
    }
}
