package org.memferry.cases;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.AutoEncoder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.variational.BernoulliReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Layers trained without labels, one by one, and then all with labels, in any order: attached before, in between, or given back in
 * between. Case A38.
 */
class PretrainTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    private static NeuralNetConfiguration.Builder base(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2)).l2(1e-3)
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode);
    }

    private static VariationalAutoencoder variational() {
        return new VariationalAutoencoder.Builder().nOut(5).encoderLayerSizes(10, 8).decoderLayerSizes(7, 10)
                .pzxActivationFunction(Activation.TANH)
                .reconstructionDistribution(new BernoulliReconstructionDistribution(new ActivationSigmoid())).build();
    }

    private static AutoEncoder denoising() {
        return new AutoEncoder.Builder().nOut(7).corruptionLevel(0.3).build();
    }

    /** The first layer is the one to pretrain: stock DL4J feeds any other of a MultiLayerNetwork with the wrong layer's output. */
    private static MultiLayerConfiguration layers(WorkspaceMode mode, boolean variational) {
        return base(mode).list()
                .layer(variational ? variational() : denoising())
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static ComputationGraphConfiguration graph(WorkspaceMode mode) {
        return base(mode).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("vae", variational(), "in")
                .addLayer("auto", denoising(), "vae")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "auto")
                .setOutputs("out").build();
    }

    private static DataSet batch(int step) {
        DataSet batch = Twins.batch(700 + step, CLASSES, BATCH, INPUTS);
        // What a Bernoulli distribution can have made.
        batch.setFeatures(batch.getFeatures().gt(0).castTo(batch.getLabels().dataType()));
        return batch;
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void pretrainingAndTrainingInTurnIsStocks(Serving serving) {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            for (boolean variational : new boolean[] {true, false}) {
                String name = serving + ", " + mode + ", variational: " + variational;
                Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(mode, variational));
                twins.attach(serving.config());
                pretrain(twins, 0, name);
                fit(twins, 2, name);
                // The layer's own optimizer exists by now, and backward has been writing to slots.
                pretrain(twins, 4, name + ", again");
                fit(twins, 6, name + ", again");
                twins.close();
                pretrain(twins, 8, name + ", after close");
                fit(twins, 10, name + ", after close");
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void attachingBetweenPretrainingAndTrainingKeepsEverything(Serving serving) {
        for (boolean variational : new boolean[] {true, false}) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.ENABLED, variational))) {
                pretrain(twins, 0, "plain");
                twins.attach(serving.config());
                fit(twins, 2, "pretrained plain, " + serving);
                pretrain(twins, 4, "pretrained plain and again attached, " + serving);
                fit(twins, 6, "pretrained twice, " + serving);
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void firstTrainingAndThenPretrainingIsStocks(Serving serving) {
        for (boolean variational : new boolean[] {true, false}) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.NONE, variational))) {
                twins.attach(serving.config());
                fit(twins, 0, "trained first, " + serving);
                pretrain(twins, 2, "trained first, " + serving);
                fit(twins, 4, "and again, " + serving);
            }
        }
    }

    /** Stock DL4J goes on subtracting what pre-training left in the gradient: that has to survive both moves. */
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void whatPretrainingLeftInTheGradientMovesWithTheNetwork(Serving serving) {
        for (boolean variational : new boolean[] {true, false}) {
            Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.ENABLED, variational));
            fit(twins, 0, "plain");
            pretrain(twins, 2, "plain");
            twins.attach(serving.config());
            fit(twins, 4, "attached after pretraining, " + serving + ", variational: " + variational);
            pretrain(twins, 6, "attached");
            twins.close();
            fit(twins, 8, "closed after pretraining, " + serving + ", variational: " + variational);
        }
    }

    private static void pretrain(Twins<MultiLayerNetwork> twins, int step, String name) {
        for (int i = step; i < step + 2; i++) {
            DataSet batch = batch(i);
            twins.both(net -> net.pretrainLayer(0, Batches.of(batch)));
            twins.assertSameParameters("pretrained, " + name + ", step " + i);
        }
        twins.sameAnswer("output of a pretrained network, " + name, net -> net.output(batch(99).getFeatures()));
    }

    private static void fit(Twins<MultiLayerNetwork> twins, int step, String name) {
        for (int i = step; i < step + 2; i++) {
            DataSet batch = batch(i);
            twins.both(net -> net.fit(batch));
            twins.assertSame("trained, " + name + ", step " + i);
        }
        twins.sameAnswer("output of a trained network, " + name, net -> net.output(batch(99).getFeatures()));
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void aGraphIsPretrainedAndTrainedAsInStock(Serving serving) {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            Twins<ComputationGraph> twins = Twins.graphs(() -> graph(mode));
            twins.attach(serving.config());
            for (int i = 0; i < 6; i++) {
                DataSet batch = batch(i);
                if (i == 4) {
                    twins.close();
                }
                twins.both(net -> net.pretrain(Batches.of(batch)));
                twins.assertSameParameters("graph, pretrained, " + serving + ", " + mode + ", step " + i);
                twins.both(net -> net.fit(batch));
                twins.assertSame("graph, trained, " + serving + ", " + mode + ", step " + i);
            }
        }
    }
}
