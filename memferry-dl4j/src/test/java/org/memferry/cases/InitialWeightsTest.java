package org.memferry.cases;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import static org.assertj.core.api.Assertions.assertThat;

/** Initial weights are drawn where they belong, and leave nothing else behind. */
class InitialWeightsTest {

    private static final int WIDTH = 1000;

    @Test
    void drawingWeightsLeavesNoGarbageTheSizeOfTheNetwork() {
        MultiLayerNetwork net = network();
        long before = Nd4j.getEnvironment().getDeviceCouner(0);
        try (MemFerry ferry = MemFerry.init(net, MemFerryConfig.defaults())) {
            long after = Nd4j.getEnvironment().getDeviceCouner(0);
            assertThat(net.numParams()).isGreaterThan(3L * WIDTH * WIDTH);
            assertThat(after - before).as("bytes of ordinary arrays left by init").isLessThan(WIDTH * WIDTH);
            assertThat(ferry.network()).isSameAs(net);
        }
    }

    @Test
    void theRandomGeneratorIsLeftAsStockLeavesIt() {
        MultiLayerNetwork stock = network();
        stock.init();
        double expected = Nd4j.getRandom().nextDouble();
        MultiLayerNetwork net = network();
        try (MemFerry ferry = MemFerry.init(net, MemFerryConfig.defaults())) {
            assertThat(Nd4j.getRandom().nextDouble()).isEqualTo(expected);
            assertThat(ferry.isOpen()).isTrue();
            assertThat(net.params()).isEqualTo(stock.params());
        }
    }

    private static MultiLayerNetwork network() {
        return new MultiLayerNetwork(new NeuralNetConfiguration.Builder().seed(7).updater(new Adam(1e-3)).list()
                .layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).build())
                .layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).build())
                .layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(WIDTH).nOut(2).build())
                .build());
    }
}
