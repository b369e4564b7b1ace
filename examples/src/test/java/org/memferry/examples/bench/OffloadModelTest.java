package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.dataset.DataSet;

import static org.assertj.core.api.Assertions.assertThat;

class OffloadModelTest {

    @ParameterizedTest
    @EnumSource(OffloadModel.class)
    void twoNetworksOfOneKindTrainAlike(OffloadModel model) {
        assertThat(Bits.maxUlp(trained(model).params(), trained(model).params())).isZero();
    }

    private static NeuralNetwork trained(OffloadModel model) {
        NeuralNetwork network = model.configured();
        network.init();
        for (DataSet batch : model.batches().subList(0, 2)) {
            network.fit(batch);
        }
        return network;
    }
}
