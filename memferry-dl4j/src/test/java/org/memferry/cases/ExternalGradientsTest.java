package org.memferry.cases;

import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerryConfig;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Gradients that a user computes and applies by hand, in place of {@code fit}: from errors given at the output, from a batch, or made up
 * altogether. Case A33.
 */
class ExternalGradientsTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int OUTPUTS = 5;

    static List<Arguments> everyWay() {
        List<Arguments> ways = new ArrayList<>();
        for (Serving serving : Serving.values()) {
            for (WorkspaceMode training : WorkspaceMode.values()) {
                for (WorkspaceMode inference : WorkspaceMode.values()) {
                    if (used(training) && used(inference)) {
                        ways.add(Arguments.of(serving, training, inference));
                    }
                }
            }
        }
        return ways;
    }

    /** A graph with workspaces in training only leaves one of them as the thread's current one after each fit, in stock DL4J as here. */
    static List<Arguments> everyWayOfAGraph() {
        List<Arguments> ways = everyWay();
        ways.removeIf(a -> a.get()[1] == WorkspaceMode.ENABLED && a.get()[2] == WorkspaceMode.NONE);
        return ways;
    }

    /** The other values are deprecated names of ENABLED. */
    private static boolean used(WorkspaceMode mode) {
        return mode == WorkspaceMode.ENABLED || mode == WorkspaceMode.NONE;
    }

    private static NeuralNetConfiguration.Builder base(WorkspaceMode training, WorkspaceMode inference) {
        return new NeuralNetConfiguration.Builder().seed(6).activation(Activation.TANH).updater(new Adam(1e-2)).l2(1e-3)
                .trainingWorkspaceMode(training).inferenceWorkspaceMode(inference);
    }

    private static NeuralNetConfiguration.Builder clipped(WorkspaceMode training, WorkspaceMode inference) {
        return base(training, inference).gradientNormalization(GradientNormalization.ClipL2PerLayer).gradientNormalizationThreshold(0.5);
    }

    /** No output layer: errors come from outside. */
    private static MultiLayerConfiguration open(WorkspaceMode training, WorkspaceMode inference) {
        return clipped(training, inference).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(8).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new DenseLayer.Builder().nOut(OUTPUTS).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static MultiLayerConfiguration closed(WorkspaceMode training, WorkspaceMode inference) {
        return clipped(training, inference).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(8).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(OUTPUTS).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static MemFerryConfig config(Serving serving) {
        return serving.config(BATCH, InputType.feedForward(INPUTS));
    }

    @ParameterizedTest(name = "{0}, training {1}, inference {2}")
    @MethodSource("everyWay")
    void errorsFromOutsideTrainLikeStock(Serving serving, WorkspaceMode training, WorkspaceMode inference) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> open(training, inference))) {
            twins.attach(config(serving));
            for (int i = 0; i < 4; i++) {
                int step = i;
                twins.sameAnswer("error at the input, step " + i, net -> externalStep(net, step));
                assertSameStep(twins, "step " + i);
            }
        }
    }

    private static INDArray externalStep(MultiLayerNetwork net, int step) {
        net.setInput(Twins.gaussian(70 + step, BATCH, INPUTS));
        net.feedForward(true, false);
        Pair<Gradient, INDArray> back = net.backpropGradient(Twins.gaussian(80 + step, BATCH, OUTPUTS), LayerWorkspaceMgr.noWorkspaces());
        Gradient gradient = back.getFirst();
        net.getUpdater().update(net, gradient, step, 0, BATCH, LayerWorkspaceMgr.noWorkspaces());
        net.params().subi(gradient.gradient());
        return back.getSecond();
    }

    /** There is no score to compare: nothing computed one. */
    private static void assertSameStep(Twins<MultiLayerNetwork> twins, String when) {
        twins.assertSameParameters(when);
        Twins.assertSameBits(Twins.updaterState(twins.stock()), Twins.updaterState(twins.attached()), "updater state " + when);
        twins.sameAnswer("output " + when, net -> net.output(Twins.gaussian(90, BATCH, INPUTS)));
    }

    @ParameterizedTest(name = "{0}, training {1}, inference {2}")
    @MethodSource("everyWay")
    void gradientsOfABatchAreStocksEvenBetweenOrdinaryIterations(Serving serving, WorkspaceMode training, WorkspaceMode inference)
            throws Exception {
        ExecutorService other = Executors.newSingleThreadExecutor();
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> closed(training, inference))) {
            twins.attach(config(serving));
            for (int i = 0; i < 4; i++) {
                DataSet batch = Twins.batch(100 + i, OUTPUTS, BATCH, INPUTS);
                String when = ", " + serving + ", step " + i;
                twins.sameAnswer("gradient" + when, net -> calculated(net, batch));
                twins.both(net -> net.fit(batch));
                twins.assertSame("after fit" + when);
                // Now backward has been writing to shared slots, which must not get these gradients.
                twins.sameAnswer("gradient after fit" + when, net -> calculated(net, batch));
                int step = i;
                twins.both(net -> {
                    Gradient gradient = net.calculateGradients(batch.getFeatures(), batch.getLabels(), null, null).getFirst();
                    net.getUpdater().update(net, gradient, step, 0, BATCH, LayerWorkspaceMgr.noWorkspaces());
                    net.params().subi(gradient.gradient());
                });
                assertSameStep(twins, "after a step by hand" + when);
                twins.both(net -> net.fit(batch));
                other.submit(() -> twins.sameAnswer("gradient on another thread" + when, net -> calculated(net, batch))).get();
            }
        } finally {
            other.shutdown();
        }
    }

    private static INDArray calculated(MultiLayerNetwork net, DataSet batch) {
        Pair<Gradient, INDArray> result = net.calculateGradients(batch.getFeatures(), batch.getLabels(), null, null);
        for (Map.Entry<String, INDArray> e : result.getFirst().gradientForVariable().entrySet()) {
            // Each entry is its piece of the flat gradient.
            assertThat(e.getValue().length()).isEqualTo(net.getParam(e.getKey()).length());
        }
        INDArray flat = result.getFirst().gradient().dup();
        return org.nd4j.linalg.factory.Nd4j.toFlattened('c', flat, result.getSecond());
    }

    @ParameterizedTest(name = "{0}, training {1}, inference {2}")
    @MethodSource("everyWay")
    void gradientsNotMadeByTheNetworkAreAppliedLikeStock(Serving serving, WorkspaceMode training, WorkspaceMode inference) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> closed(training, inference))) {
            twins.attach(config(serving));
            for (int i = 0; i < 3; i++) {
                DataSet batch = Twins.batch(110 + i, OUTPUTS, BATCH, INPUTS);
                twins.both(net -> net.fit(batch));
                int step = i;
                twins.both(net -> {
                    Gradient made = new DefaultGradient();
                    net.paramTable().forEach((key, a) -> made.setGradientFor(key,
                            Twins.gaussian(key.hashCode() + step, (int) a.length()).reshape('c', a.shape())));
                    Updater updater = net.getUpdater();
                    updater.update(net, made, net.getIterationCount(), net.getEpochCount(), BATCH, LayerWorkspaceMgr.noWorkspaces());
                    made.gradientForVariable().forEach((key, g) -> net.getParam(key).subi(g));
                });
                assertSameStep(twins, "after a made-up gradient, " + serving + ", step " + i);
            }
        }
    }

    @ParameterizedTest(name = "{0}, training {1}, inference {2}")
    @MethodSource("everyWayOfAGraph")
    void errorsFromOutsideTrainAGraphLikeStock(Serving serving, WorkspaceMode training, WorkspaceMode inference) {
        try (Twins<ComputationGraph> twins = Twins.graphs(() -> base(training, inference).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("a", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("b", new DenseLayer.Builder().nOut(8).build(), "a")
                .addLayer("c", new DenseLayer.Builder().nOut(7).build(), "a")
                .addLayer("d", new DenseLayer.Builder().nOut(OUTPUTS).build(), "b", "c")
                .setOutputs("d").build())) {
            twins.attach(config(serving));
            for (int i = 0; i < 4; i++) {
                int step = i;
                twins.both(net -> {
                    INDArray[] in = {Twins.gaussian(70 + step, BATCH, INPUTS)};
                    net.feedForward(in, true, false);
                    Gradient gradient = net.backpropGradient(Twins.gaussian(80 + step, BATCH, OUTPUTS));
                    net.getUpdater().update(gradient, step, 0, BATCH, LayerWorkspaceMgr.noWorkspaces());
                    net.params().subi(gradient.gradient());
                });
                twins.assertSameParameters("graph, step " + i);
                Twins.assertSameBits(Twins.updaterState(twins.stock()), Twins.updaterState(twins.attached()), "updater state, step " + i);
                twins.sameAnswer("output, step " + i, net -> net.outputSingle(Twins.gaussian(90, BATCH, INPUTS)));
            }
        }
    }

    @ParameterizedTest(name = "{0}, training {1}, inference {2}")
    @MethodSource("everyWayOfAGraph")
    void scoreAndGradientComputedByHandAreStocks(Serving serving, WorkspaceMode training, WorkspaceMode inference) {
        try (Twins<ComputationGraph> twins = Twins.graphs(() -> base(training, inference).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("a", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("b", new DenseLayer.Builder().nOut(8).build(), "a")
                .addLayer("c", new OutputLayer.Builder(LossFunction.MSE).nOut(OUTPUTS).activation(Activation.IDENTITY).build(), "b")
                .setOutputs("c").build())) {
            twins.attach(config(serving));
            for (int i = 0; i < 3; i++) {
                DataSet batch = Twins.batch(120 + i, OUTPUTS, BATCH, INPUTS);
                twins.both(net -> net.fit(batch));
                twins.assertSame("after fit " + i);
                twins.both(net -> {
                    net.setInputs(batch.getFeatures());
                    net.setLabels(batch.getLabels());
                    net.computeGradientAndScore();
                });
                twins.sameNumber("score " + i, ComputationGraph::score);
                twins.sameAnswer("gradient " + i, net -> net.gradient().gradient());
                twins.sameNumber("score of a batch " + i, net -> net.score(new MultiDataSet(batch.getFeatures(), batch.getLabels())));
            }
        }
    }
}
