package org.memferry.cases;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Types of parameters: FLOAT and DOUBLE are served, others refused by name before anything is touched. */
class DataTypesTest {

    private static MultiLayerConfiguration configuration(DataType type) {
        return new NeuralNetConfiguration.Builder().seed(3).dataType(type).activation(Activation.TANH).updater(new Adam(1e-2)).list()
                .layer(Nets.dense(0)).layer(Nets.dense(1)).layer(Nets.dense(2)).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build();
    }

    // A20, A21: DL4J's step in these types would differ from any good one, so there is none
    @ParameterizedTest
    @EnumSource(value = DataType.class, names = {"HALF", "BFLOAT16"})
    void narrowTypesAreRefusedByNameAndTheNetworkStaysAsItWas(DataType type) {
        MultiLayerConfiguration configuration = configuration(DataType.FLOAT);
        // DL4J's builder takes HALF only, but a network can be of either type, by this setter or read from a file.
        configuration.setDataType(type);
        MultiLayerNetwork net = new MultiLayerNetwork(configuration);
        assertThatThrownBy(() -> MemFerry.init(net, Setup.MIXED.config())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("data type " + type).hasMessageContaining("FLOAT and DOUBLE")
                .hasMessageContaining("convertDataType(DataType.FLOAT)");
        assertThat(net.isInitCalled()).isFalse();
        net.init();
        INDArray before = net.params();
        assertThat(before.dataType()).isEqualTo(type);
        Object updater = net.getUpdater();
        assertThatThrownBy(() -> MemFerry.attach(net, Setup.MIXED.config())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("data type " + type);
        assertThat(net.params()).isSameAs(before);
        assertThat(net.getUpdater()).isSameAs(updater);
        assertThat(MemFerry.of(net)).isNull();
        // The way out that the refusal names.
        MultiLayerNetwork converted = net.convertDataType(DataType.FLOAT);
        try (MemFerry ferry = MemFerry.attach(converted, Setup.MIXED.config())) {
            converted.fit(Nets.batch(0));
            assertThat(ferry.metrics().iterations()).isEqualTo(1);
        }
    }

    // A30: a network of DL4J has one type; its inputs may have another
    @ParameterizedTest
    @EnumSource(Setup.class)
    void aDoubleNetworkFedWithFloatsIsStocks(Setup setup) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(DataType.DOUBLE))) {
            twins.attach(setup.config());
            for (int i = 0; i < 4; i++) {
                DataSet batch = Nets.batch(i);
                assertThat(batch.getFeatures().dataType()).isEqualTo(DataType.FLOAT);
                twins.both(net -> net.fit(batch));
                twins.assertSame(setup + ", step " + i);
            }
            assertThat(twins.attached().params().dataType()).isEqualTo(DataType.DOUBLE);
            assertThat(Twins.updaterState(twins.attached()).dataType()).isEqualTo(DataType.DOUBLE);
        }
    }
}
