package org.memferry.cases;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** What DL4J cannot hold is refused with the numbers, before any memory is taken. Case A11. */
class LargeNetworkTest {

    @Test
    void aLayerOfMoreThanTwoToTheThirtyOneParametersIsRefusedFromItsConfigurationAlone() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().updater(new Adam(1e-3)).list()
                .layer(new EmbeddingSequenceLayer.Builder().nIn(60_000_000).nOut(40).inputLength(4).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(40).nOut(2).build()).build());
        assertThatThrownBy(() -> MemFerry.init(net, Setup.HOST.config())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("2400000000 parameters").hasMessageContaining("at most 2147483647");
        assertThat(net.isInitCalled()).isFalse();
        assertThat(MemFerry.of(net)).isNull();
    }
}
