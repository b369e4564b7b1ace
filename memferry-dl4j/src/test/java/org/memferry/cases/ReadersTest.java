package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Whoever reads an attached network gets what stock DL4J would give: every kind of inference, on whatever thread, listeners in any of their
 * calls, and the forward pass after DL4J's constraints; also when parameters were written just before.
 */
class ReadersTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;
    /** The written layer: neither the first nor the last. */
    private static final String WEIGHTS = "1_W";

    private static MultiLayerConfiguration layers(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    /** The same stack as a graph; a vertex has the name that the layer's index is. */
    private static ComputationGraphConfiguration graph(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("0", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("1", new DenseLayer.Builder().nOut(11).build(), "0")
                .addLayer("2", new DenseLayer.Builder().nOut(7).build(), "1")
                .addLayer("3", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "2")
                .setOutputs("3").build();
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void everyKindOfInferenceSeesAWriteAndEqualsStock(Serving serving) {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> recurrent(mode))) {
                twins.attach(serving.config(BATCH, InputType.recurrent(5, 8)));
                DataSet batch = series(10);
                INDArray step = Twins.gaussian(13, BATCH, 5);
                for (int round = 0; round < 3; round++) {
                    String when = ", " + serving + ", " + mode + ", round " + round;
                    double change = 1 + 0.1 * round;
                    twins.both(net -> net.fit(batch));
                    twins.assertSame("after fit" + when);
                    twins.both(net -> net.getParam("0_RW").muli(change));
                    twins.sameAnswer("output" + when, net -> net.output(batch.getFeatures()));
                    twins.both(net -> net.getParam("2_W").addi(0.01));
                    twins.sameNumber("score" + when, net -> net.score(batch));
                    twins.both(net -> net.params().muli(change));
                    twins.sameNumber("evaluate" + when, net -> net.evaluate(
                            Batches.of(batch)).accuracy());
                    twins.both(net -> net.setParam("1_b", net.getParam("1_b").add(0.01)));
                    twins.sameAnswer("feedForward" + when, net -> Nd4j.toFlattened('c', net.feedForward(batch.getFeatures(), false)));
                    twins.both(net -> net.getParam("0_W").subi(0.01));
                    twins.sameAnswer("feedForward in training mode" + when,
                            net -> Nd4j.toFlattened('c', net.feedForward(batch.getFeatures(), true)));
                    twins.both(MultiLayerNetwork::rnnClearPreviousState);
                    for (int t = 0; t < 3; t++) {
                        twins.both(net -> net.getParam("0_b").addi(0.02));
                        twins.sameAnswer("rnnTimeStep " + t + when, net -> net.rnnTimeStep(step));
                    }
                    twins.both(MultiLayerNetwork::rnnClearPreviousState);
                    twins.both(net -> net.getParam("2_b").addi(0.02));
                    twins.sameAnswer("scoreExamples" + when, net -> net.scoreExamples(batch, true));
                }
                twins.both(net -> net.fit(batch));
                twins.assertSame("at the end, " + serving + ", " + mode);
            }
        }
    }

    private static MultiLayerConfiguration recurrent(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(2).activation(Activation.TANH).updater(new Adam(1e-2)).l2(1e-3)
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).list()
                .layer(new LSTM.Builder().nOut(7).build())
                .layer(new LSTM.Builder().nOut(6).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.recurrent(5, 8)).build();
    }

    private static DataSet series(long seed) {
        INDArray labels = Nd4j.zeros(BATCH, 3, 8);
        for (int i = 0; i < BATCH; i++) {
            for (int t = 0; t < 8; t++) {
                labels.putScalar(i, (i + t) % 3, t, 1.0);
            }
        }
        return new DataSet(Twins.gaussian(seed, BATCH, 5, 8), labels);
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void constraintsReachTheMasterAndTheNextForwardPass(Serving serving) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> new NeuralNetConfiguration.Builder().seed(3).updater(new Adam(5e-2))
                .activation(Activation.TANH).list()
                .layer(new DenseLayer.Builder().nOut(11).constrainWeights(new UnitNormConstraint(1)).build())
                .layer(new DenseLayer.Builder().nOut(11).constrainWeights(new MaxNormConstraint(0.3, 1)).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .constrainWeights(new NonNegativeConstraint()).build())
                .setInputType(InputType.feedForward(INPUTS)).build())) {
            twins.attach(serving.config());
            INDArray features = Twins.gaussian(3, BATCH, INPUTS);
            for (int i = 0; i < 5; i++) {
                DataSet batch = Twins.batch(20 + i, CLASSES, BATCH, INPUTS);
                twins.both(net -> net.fit(batch));
                twins.assertSame("constrained, after step " + i);
                twins.sameAnswer("output after constraints", net -> net.output(features));
            }
            assertThat(twins.attached().getParam("2_W").minNumber().doubleValue()).isNotNegative();
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void aListenerMayReadAndWriteParametersInAnyOfItsCalls(Serving serving) {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            for (String call : new String[] {"epoch", "forward", "backward", "gradient", "done"}) {
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(mode))) {
                    twins.both(net -> net.setListeners(new Meddler(call)));
                    twins.attach(serving.config());
                    meddle(twins, "layers, " + mode + ", " + call + ", " + serving);
                }
                try (Twins<ComputationGraph> twins = Twins.graphs(() -> graph(mode))) {
                    twins.attach(serving.config());
                    twins.both(net -> net.addListeners(new Meddler(call)));
                    meddle(twins, "graph, " + mode + ", " + call + ", " + serving);
                }
            }
        }
    }

    private static void meddle(Twins<?> twins, String name) {
        for (int i = 0; i < 3; i++) {
            DataSet batch = Twins.batch(30 + i, CLASSES, BATCH, INPUTS);
            twins.both(net -> {
                if (net instanceof MultiLayerNetwork) {
                    ((MultiLayerNetwork) net).fit(Batches.of(batch));
                } else {
                    ((ComputationGraph) net).fit(Batches.of(batch));
                }
            });
            twins.assertSame(name + ", step " + i);
        }
        twins.sameAnswer(name + ": output", net -> Twins.output(net, Twins.gaussian(3, BATCH, INPUTS)));
    }

    /** Reads one parameter and writes another, in the call that it is told to. */
    private static final class Meddler extends BaseTrainingListener {

        private final String call;

        Meddler(String call) {
            this.call = call;
        }

        private void meddle(Model net, String now) {
            if (now.equals(call)) {
                double mean = net.getParam("0_W").meanNumber().doubleValue();
                net.getParam("2_W").addi(0.01 + mean);
                net.setParam("0_b", net.getParam("0_b").add(0.01));
            }
        }

        @Override
        public void onEpochStart(Model model) {
            meddle(model, "epoch");
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            meddle(model, "forward");
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            meddle(model, "forward");
        }

        @Override
        public void onBackwardPass(Model model) {
            meddle(model, "backward");
        }

        @Override
        public void onGradientCalculation(Model model) {
            meddle(model, "gradient");
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            meddle(model, "done");
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void inferenceOnAnotherThreadThanTrainingIsRight(Serving serving) throws Exception {
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(mode));
                        Twins<ComputationGraph> graphs = Twins.graphs(() -> graph(mode))) {
                    twins.attach(serving.config(BATCH, InputType.feedForward(INPUTS)));
                    graphs.attach(serving.config(BATCH, InputType.feedForward(INPUTS)));
                    for (int i = 0; i < 3; i++) {
                        acrossThreads(twins, other, i, serving + ", " + mode);
                        acrossThreads(graphs, other, i, "graph, " + serving + ", " + mode);
                    }
                }
            }
        } finally {
            other.shutdown();
        }
    }

    /** Output, write and output again elsewhere, then train here: neither thread disturbs the other's numbers. */
    private static <M extends Model> void acrossThreads(Twins<M> twins, ExecutorService other, int i, String name) throws Exception {
        INDArray features = Twins.gaussian(40 + i, BATCH, INPUTS);
        DataSet batch = Twins.batch(50 + i, CLASSES, BATCH, INPUTS);
        other.submit(() -> {
            twins.sameAnswer("output on another thread, " + name, net -> Twins.output(net, features));
            twins.both(net -> net.getParam(WEIGHTS).addi(0.01));
            twins.sameAnswer("output on another thread after its write, " + name, net -> Twins.output(net, features));
        }).get();
        twins.sameAnswer("output here after a write elsewhere, " + name, net -> Twins.output(net, features));
        twins.both(net -> Twins.fit(net, batch));
        twins.assertSame("training here, " + name);
        other.submit(() -> twins.sameAnswer("output elsewhere after training, " + name, net -> Twins.output(net, features))).get();
        // And training itself may move to another thread.
        other.submit(() -> twins.both(net -> Twins.fit(net, batch))).get();
        twins.sameAnswer("output here after training elsewhere, " + name, net -> Twins.output(net, features));
        twins.assertSame("training elsewhere, " + name);
    }
}
