package org.memferry.cases;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A gradient is divided by the number of examples that are really in the batch, or not at all where the configuration says so. Case A35.
 */
class BatchDivisionTest {

    private static final int INPUTS = 9;
    private static final int CLASSES = 4;
    /** The plan is made for the first; then smaller ones, a last odd one, single examples, and one larger than planned. */
    private static final int[] BATCHES = {7, 7, 3, 1, 1, 7, 2, 12, 7};

    private static NeuralNetConfiguration.Builder base(boolean divide, IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(updater).miniBatch(divide).l2(1e-2);
    }

    private static MultiLayerConfiguration layers(boolean divide, IUpdater updater) {
        return base(divide, updater).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(8).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static ComputationGraphConfiguration graph(boolean divide, IUpdater updater) {
        return base(divide, updater).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("hidden", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("norm", new BatchNormalization.Builder().build(), "hidden")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "norm")
                .setOutputs("out").build();
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void everyBatchSizeIsDividedByAsInStockAndNotWhereDivisionIsOff(Serving serving) {
        for (boolean divide : new boolean[] {true, false}) {
            for (boolean adam : new boolean[] {true, false}) {
                String name = "divide: " + divide + ", Adam: " + adam + ", " + serving;
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(divide, rule(adam)));
                        Twins<ComputationGraph> graphs = Twins.graphs(() -> graph(divide, rule(adam)))) {
                    twins.attach(serving.config());
                    graphs.attach(serving.config());
                    for (int i = 0; i < BATCHES.length; i++) {
                        DataSet batch = Twins.batch(600 + i, CLASSES, BATCHES[i], INPUTS);
                        twins.both(net -> net.fit(batch));
                        twins.assertSame(name + ", batch " + BATCHES[i]);
                        graphs.both(net -> net.fit(batch));
                        graphs.assertSame("graph, " + name + ", batch " + BATCHES[i]);
                    }
                }
            }
        }
    }

    private static IUpdater rule(boolean adam) {
        return adam ? new Adam(1e-2) : new Sgd(1e-2);
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void anIteratorWithALastOddBatchTrainsAsInStock(Serving serving) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(true, new Adam(1e-2)))) {
            twins.attach(serving.config());
            twins.both(net -> net.fit(Batches.of(Twins.batch(1, CLASSES, 7, INPUTS), Twins.batch(2, CLASSES, 7, INPUTS),
                    Twins.batch(3, CLASSES, 3, INPUTS)), 3));
            twins.assertSame("three epochs, " + serving);
            assertThat(twins.attached().getEpochCount()).isEqualTo(twins.stock().getEpochCount());
        }
    }

    /** That the flag is honoured at all: without division the step of plain SGD is the batch size times as long. */
    @Test
    void theFlagMakesTheStepAsManyTimesLonger() {
        double[] step = new double[2];
        for (int i = 0; i < 2; i++) {
            boolean divide = i == 0;
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> new NeuralNetConfiguration.Builder().seed(1).updater(new Sgd(1e-4))
                    .activation(Activation.TANH).miniBatch(divide).list()
                    .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                    .setInputType(InputType.feedForward(INPUTS)).build())) {
                twins.attach(Serving.PREFETCH.config());
                double before = twins.attached().getParam("0_W").getDouble(3);
                twins.attached().fit(Twins.batch(4, CLASSES, 7, INPUTS));
                step[i] = twins.attached().getParam("0_W").getDouble(3) - before;
            }
        }
        assertThat(step[1] / step[0]).isBetween(6.9, 7.1);
    }
}
