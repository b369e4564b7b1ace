package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerPlan;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Parameters that no gradient trains: those of frozen layers, which nothing may touch, and the running statistics of batch normalisation.
 */
class FrozenAndNormalisedTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    private static NeuralNetConfiguration.Builder regularised() {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2)).l2(0.1).l1(0.01)
                .l2Bias(0.1);
    }

    private static DenseLayer dense(int size) {
        return new DenseLayer.Builder().nOut(size).build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    // A26
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void regularisationLeavesFrozenLayersAloneAndTheyHaveNoState(Serving serving) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> regularised().list()
                .layer(new FrozenLayer(dense(11)))
                .layer(new FrozenLayer(dense(8)))
                .layer(dense(7))
                .layer(output())
                .setInputType(InputType.feedForward(INPUTS)).build())) {
            twins.attach(serving.config());
            Map<String, long[]> frozen = bitsOf(twins.attached(), "0_W", "0_b", "1_W", "1_b");
            train(twins, "frozen prefix, " + serving);
            assertUntouched(twins.attached(), frozen);
            long trained = 8 * 7 + 7 + 7 * CLASSES + CLASSES;
            assertThat(Twins.updaterState(twins.attached()).length()).as("Adam's state of trained parameters only").isEqualTo(2 * trained);
            assertThat(twins.ferry().plan().network().updaterStateBytes()).isEqualTo(2 * trained * Float.BYTES);
            for (int i : new int[] {0, 1}) {
                LayerPlan plan = twins.ferry().plan().layers().get(i);
                assertThat(plan.gradientHome()).as("gradient of frozen layer " + i).isEqualTo(GradientHome.NONE);
            }
        }
    }

    // A26, in the branch of a graph, where backward goes on beside it
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void theSameHoldsForAFrozenVertexBetweenTrainedOnes(Serving serving) {
        try (Twins<ComputationGraph> twins = Twins.graphs(() -> regularised().graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("first", dense(11), "in")
                .addLayer("frozen", new FrozenLayer(dense(8)), "first")
                .addLayer("beside", dense(7), "first")
                .addLayer("out", output(), "frozen", "beside")
                .setOutputs("out").build())) {
            twins.attach(serving.config());
            Map<String, long[]> frozen = bitsOf(twins.attached(), "frozen_W", "frozen_b");
            train(twins, "frozen in a graph, " + serving);
            assertUntouched(twins.attached(), frozen);
            long trained = INPUTS * 11 + 11 + 11 * 7 + 7 + 15 * CLASSES + CLASSES;
            assertThat(Twins.updaterState(twins.attached()).length()).isEqualTo(2 * trained);
        }
    }

    // A26, where the error passes through: DL4J's rules for that layer are DL4J's, whatever they are
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void aFrozenLayerThatPassesTheErrorIsTreatedAsInStock(Serving serving) {
        Map<String, Supplier<MultiLayerConfiguration>> kinds = new LinkedHashMap<>();
        for (boolean l2 : new boolean[] {true, false}) {
            kinds.put("l2: " + l2, () -> {
                NeuralNetConfiguration.Builder builder = new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH)
                        .updater(new Nesterovs(1e-2, 0.9));
                return (l2 ? builder.l2(0.1) : builder).list()
                        .layer(dense(11))
                        .layer(new FrozenLayerWithBackprop(dense(8)))
                        .layer(dense(7))
                        .layer(output())
                        .setInputType(InputType.feedForward(INPUTS)).build();
            });
        }
        kinds.forEach((name, configuration) -> {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(configuration)) {
                twins.attach(serving.config());
                train(twins, "frozen with backprop, " + name + ", " + serving);
            }
        });
    }

    private static void train(Twins<?> twins, String name) {
        for (int i = 0; i < 10; i++) {
            DataSet batch = Twins.batch(400 + i, CLASSES, BATCH, INPUTS);
            twins.both(net -> Twins.fit(net, batch));
            twins.assertSame(name + ", step " + i);
        }
        twins.sameAnswer(name + ", output", net -> Twins.output(net, Twins.gaussian(9, BATCH, INPUTS)));
    }

    private static Map<String, long[]> bitsOf(Model net, String... keys) {
        Map<String, long[]> bits = new LinkedHashMap<>();
        for (String key : keys) {
            bits.put(key, Twins.bits(net.getParam(key)));
        }
        return bits;
    }

    private static void assertUntouched(Model net, Map<String, long[]> before) {
        before.forEach((key, bits) -> assertThat(Twins.bits(net.getParam(key))).as("frozen parameter " + key).isEqualTo(bits));
    }

    // A28
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void runningStatisticsOfBatchNormalisationAreStocks(Serving serving) {
        Map<String, Supplier<BatchNormalization>> kinds = new LinkedHashMap<>();
        kinds.put("variance", () -> new BatchNormalization.Builder().build());
        kinds.put("log standard deviation", () -> new BatchNormalization.Builder().useLogStd(true).build());
        kinds.put("locked gamma and beta", () -> new BatchNormalization.Builder().lockGammaBeta(true).gamma(1.5).beta(0.2).build());
        kinds.put("locked, log standard deviation", () -> new BatchNormalization.Builder().lockGammaBeta(true).useLogStd(true).build());
        kinds.put("fast decay", () -> new BatchNormalization.Builder().decay(0.3).eps(1e-3).build());
        kinds.forEach((name, normalisation) -> {
            for (boolean frozen : new boolean[] {false, true}) {
                String when = name + (frozen ? ", frozen, " : ", ") + serving;
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> convolutional(normalisation.get(), frozen))) {
                    twins.attach(serving.config());
                    INDArray mean = twins.attached().getParam("1_mean").dup();
                    for (int i = 0; i < 5; i++) {
                        DataSet batch = Twins.batch(500 + i, CLASSES, BATCH, 2, 6, 6);
                        twins.both(net -> net.fit(batch));
                        twins.assertSame(when + ", step " + i);
                        twins.sameAnswer(when + ", output in test mode", net -> net.output(batch.getFeatures()));
                        twins.sameAnswer(when + ", output in training mode", net -> net.output(batch.getFeatures(), true));
                    }
                    assertThat(twins.attached().getParam("1_mean").equals(mean)).as(when + ": mean stands still").isEqualTo(frozen);
                }
            }
        });
    }

    /** Everything that might get at the statistics: division by the batch, clipping, decay. */
    private static MultiLayerConfiguration convolutional(BatchNormalization normalisation, boolean frozen) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .regularization(List.of(new WeightDecay(0.1, true)))
                .gradientNormalization(GradientNormalization.ClipElementWiseAbsoluteValue).gradientNormalizationThreshold(1e-3).list()
                .layer(frozen ? new FrozenLayer(new ConvolutionLayer.Builder(3, 3).nOut(4).build())
                        : new ConvolutionLayer.Builder(3, 3).nOut(4).build())
                .layer(frozen ? new FrozenLayer(normalisation) : normalisation)
                .layer(dense(7))
                .layer(new BatchNormalization.Builder().build())
                .layer(output())
                .setInputType(InputType.convolutional(6, 6, 2)).build();
    }
}
