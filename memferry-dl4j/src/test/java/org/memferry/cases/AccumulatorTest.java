package org.memferry.cases;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.BasicGradientsAccumulator;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Gradient accumulation is not served: it is refused by name, whenever it is set, and nothing is half attached. Cases A15, B72. */
class AccumulatorTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;
    private static final DataSet DATA = Twins.batch(7, CLASSES, BATCH, INPUTS);

    private static NeuralNetConfiguration.Builder base() {
        return new NeuralNetConfiguration.Builder().seed(8).activation(Activation.TANH).updater(new Adam(1e-2));
    }

    private static MultiLayerNetwork layers() {
        MultiLayerNetwork net = new MultiLayerNetwork(base().list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build());
        net.init();
        return net;
    }

    private static ComputationGraph graph() {
        ComputationGraph net = new ComputationGraph(base().graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("hidden", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(),
                        "hidden")
                .setOutputs("out").build());
        net.init();
        return net;
    }

    private static GradientsAccumulator accumulator() {
        return new BasicGradientsAccumulator(1);
    }

    @Test
    void aNetworkWithAnAccumulatorIsRefusedByNameAndStaysAsItWas() {
        MultiLayerNetwork net = layers();
        GradientsAccumulator accumulator = accumulator();
        net.setGradientsAccumulator(accumulator);
        INDArray params = net.params();
        INDArray before = params.dup();
        assertThatThrownBy(() -> MemFerry.attach(net, Serving.RESIDENT.config()))
                .isInstanceOf(RefusedException.class)
                .hasMessageContaining(BasicGradientsAccumulator.class.getName())
                .hasMessageContaining("gradient accumulation")
                .hasMessageContaining("setGradientsAccumulator(null)");
        assertThat(MemFerry.of(net)).isNull();
        assertThat(net.params()).isSameAs(params).isEqualTo(before);

        ComputationGraph graph = graph();
        graph.setGradientsAccumulator(accumulator());
        assertThatThrownBy(() -> MemFerry.attach(graph, Serving.RESIDENT.config()))
                .isInstanceOf(RefusedException.class)
                .hasMessageContaining(BasicGradientsAccumulator.class.getName());
        assertThat(MemFerry.of(graph)).isNull();

        // What the message says to do works.
        net.setGradientsAccumulator(null);
        try (MemFerry ferry = MemFerry.attach(net, Serving.RESIDENT.config())) {
            net.fit(DATA);
            assertThat(ferry.metrics().iterations()).isEqualTo(1);
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void anAccumulatorSetOnAnAttachedNetworkIsRefusedAndNotSilentlyDropped(Serving serving) {
        MultiLayerNetwork stock = layers();
        MultiLayerNetwork net = layers();
        try (MemFerry ferry = MemFerry.attach(net, serving.config())) {
            stock.fit(DATA);
            net.fit(DATA);
            net.setGradientsAccumulator(accumulator());
            assertThatThrownBy(() -> net.fit(DATA)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining(BasicGradientsAccumulator.class.getName())
                    .hasMessageContaining("setGradientsAccumulator(null)");
            Twins.assertSameBits(stock.params(), net.params(), "parameters after the refusal");
            // What the message says to do works, and nothing is lost.
            net.setGradientsAccumulator(null);
            stock.fit(DATA);
            net.fit(DATA);
            Twins.assertSameBits(stock.params(), net.params(), "parameters after going on");
            Twins.assertSameBits(Twins.updaterState(stock), Twins.updaterState(net), "updater state after going on");
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    @Test
    void closingLeavesAnAccumulatorThatTheUserHasSet() {
        MultiLayerNetwork stock = layers();
        MultiLayerNetwork net = layers();
        MemFerry ferry = MemFerry.attach(net, Serving.PREFETCH.config());
        stock.fit(DATA);
        net.fit(DATA);
        stock.setGradientsAccumulator(accumulator());
        net.setGradientsAccumulator(accumulator());
        ferry.close();
        stock.fit(DATA);
        net.fit(DATA);
        Twins.assertSameBits(stock.params(), net.params(), "parameters trained with the accumulator after close");
    }
}
