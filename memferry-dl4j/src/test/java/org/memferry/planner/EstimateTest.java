package org.memferry.planner;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.plan.Hardware;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import static org.assertj.core.api.Assertions.assertThat;

class EstimateTest {

    private static final InputType INPUT = InputType.feedForward(1000);

    private static MultiLayerConfiguration network() {
        return new NeuralNetConfiguration.Builder().updater(new Adam(1e-3)).activation(Activation.TANH).list()
                .layer(new DenseLayer.Builder().nOut(1000).build()).layer(new DenseLayer.Builder().nOut(1000).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nOut(10).build()).setInputType(INPUT).build();
    }

    private static Estimate estimate(int batch, long deviceBytes) {
        return MemFerry.estimate(network(), batch, Hardware.named("V100-32-PCIe3").withDeviceBytes(deviceBytes), INPUT);
    }

    @Test
    void parameters_gradients_and_state_are_counted_where_they_are() {
        Estimate estimate = estimate(8, 8 << 20);
        long parameters = 4L * (2 * 1001 * 1000 + 1001 * 10);
        assertThat(estimate.parameterBytes()).isEqualTo(parameters);
        assertThat(estimate.gradientBytes()).isEqualTo(parameters);
        assertThat(estimate.updaterStateBytes()).isEqualTo(2 * parameters);
        Estimate.Need plain = estimate.need(Strategy.NONE).orElseThrow();
        assertThat(plain.deviceBytes()).isEqualTo(4 * parameters + estimate.memory().totalBytes());
        assertThat(plain.hostBytes()).isZero();
        assertThat(estimate.need(Strategy.MEMFERRY).orElseThrow().hostBytes()).isEqualTo(4 * parameters);
        assertThat(estimate.need(Strategy.AUTO)).isEmpty();
    }

    @Test
    void the_largest_batch_fits_and_one_more_does_not() {
        Estimate estimate = estimate(8, 40 << 20);
        for (Estimate.Need need : estimate.needs()) {
            assertThat(need.fits()).as("%s", need.strategy()).isTrue();
            assertThat(estimate(need.largestBatch(), 40 << 20).need(need.strategy()).orElseThrow().fits()).isTrue();
            assertThat(estimate(need.largestBatch() + 1, 40 << 20).need(need.strategy()).orElseThrow().fits()).isFalse();
        }
    }

    @Test
    void the_verdict_says_whether_moving_parameters_helps() {
        assertThat(estimate(8, 1L << 30).verdict()).startsWith("Plain training fits");
        assertThat(estimate(8, 12 << 20).verdict()).contains("moving parameters to the host helps").contains("GO_MEMFERRY");
        Estimate crowded = estimate(4096, 32 << 20);
        assertThat(crowded.activationsDominate()).isTrue();
        assertThat(crowded.verdict()).contains("does not help").contains("activations and working memory alone").contains("A batch of");
        assertThat(crowded.fitting()).isEmpty();
        assertThat(estimate(1, 16 << 10).verdict()).contains("No batch is small enough");
    }

    /** Case B55. */
    @Test
    void every_line_of_the_table_says_what_is_counted_and_where() {
        String table = estimate(8, 12 << 20).table();
        assertThat(table).contains("what forward leaves for backward").contains("features and labels of one batch")
                .contains("not counted: arrays that wait for a garbage collection");
        assertThat(table.lines().filter(line -> line.startsWith("  "))).hasSize(7)
                .allMatch(line -> line.contains("device") || line.contains("where the parameters are"));
    }

    @Test
    void nothing_of_the_networks_size_is_allocated_and_the_network_stays_as_it_was() {
        MultiLayerNetwork network = new MultiLayerNetwork(network());
        long before = Nd4j.getEnvironment().getDeviceCouner(0);
        MemFerry.estimate(network, 512, Hardware.named("RTX3060"), INPUT);
        assertThat(Nd4j.getEnvironment().getDeviceCouner(0) - before).isLessThan(100_000);
        assertThat(network.isInitCalled()).isFalse();
    }
}
