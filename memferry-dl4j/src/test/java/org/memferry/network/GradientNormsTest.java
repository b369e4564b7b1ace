package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/** The CPU backend's norms are ND4J's bits; those of another backend are our own, and no other number. */
class GradientNormsTest {

    @Test
    void onTheCpuBackendNormsAreNd4js() {
        INDArray gradient = Nd4j.rand(DataType.FLOAT, 70_001).subi(0.5);
        try (UpdateEngine engine = UpdateEngine.start(2)) {
            GradientNorms norms = GradientNorms.of(Nd4j.getBackend().getClass().getSimpleName(), engine, ElementType.FLOAT);
            assertThat(norms.of(gradient)).isEqualTo(gradient.norm2Number().doubleValue());
        }
    }

    @Test
    void onAnotherBackendNormsAreThoseOfTheElementsTheArrayShowsWhateverTheThreads() {
        INDArray all = Nd4j.rand(DataType.FLOAT, 300_003).subi(0.5);
        INDArray gradient = all.get(NDArrayIndex.interval(100_001, 300_002));
        double first = Double.NaN;
        for (int threads = 1; threads <= 3; threads++) {
            try (UpdateEngine engine = UpdateEngine.start(threads)) {
                GradientNorms norms = GradientNorms.of("JCublasBackend", engine, ElementType.FLOAT);
                double norm = norms.of(gradient);
                first = threads == 1 ? norm : first;
                assertThat(norm).isEqualTo(first).isEqualTo(norms.ofRenormalised(gradient));
                assertThat(norm).isCloseTo(gradient.norm2Number().doubleValue(), within(1e-4 * norm));
                assertThat(norm).as("not the norm of more than the view").isNotCloseTo(all.norm2Number().doubleValue(), within(1.0));
            }
        }
    }
}
