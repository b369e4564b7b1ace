package org.memferry.examples.programs;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.LocalFileModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.termination.ScoreImprovementEpochTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.optimize.listeners.CheckpointListener;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.examples.Digits;
import org.memferry.examples.ScratchFolder;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;

/**
 * Stops early, and goes on elsewhere: a network trains with checkpoints until it gets no better; then the checkpoint of an epoch in the
 * middle is restored on a device with half of the memory and trained to the same epoch. The numbers are the same.
 */
public final class ResumeElsewhere {

    private static final long SEED = 77;
    private static final int BATCH = 64;
    private static final int EPOCHS = 6;
    private static final int RESUMED_FROM = 3;
    /** A line on stderr for so many iterations. */
    private static final int REPORTED = 20;

    private ResumeElsewhere() {
    }

    /** Runs the program; the exit code is 1 if the numbers differ. */
    public static void main(String[] args) throws IOException {
        boolean same;
        try (ScratchFolder checkpoints = new ScratchFolder("memferry-resume")) {
            same = run(checkpoints.path().toFile(), "emulated:16MB", "emulated:8MB");
        }
        System.out.println(same ? "The resumed network has the same parameters, bit for bit." : "The parameters differ.");
        System.exit(same ? 0 : 1);
    }

    static boolean run(File folder, String device, String smallerDevice) throws IOException {
        DataSetIterator test = new ExistingDataSetIterator(Digits.bundled().test(SEED).batches(0, 10, BATCH));
        MultiLayerNetwork net = network();
        INDArray stopped;
        int epochs;
        try (MemFerry ferry = MemFerry.init(net, on(device))) {
            net.addListeners(new ScoreIterationListener(REPORTED), new CheckpointListener.Builder(folder).keepAll().saveEveryEpoch().build());
            EarlyStoppingConfiguration<MultiLayerNetwork> stopping = new EarlyStoppingConfiguration.Builder<MultiLayerNetwork>()
                    .epochTerminationConditions(new MaxEpochsTerminationCondition(EPOCHS), new ScoreImprovementEpochTerminationCondition(2))
                    .scoreCalculator(new DataSetLossCalculator(test, true))
                    .modelSaver(new LocalFileModelSaver(folder))
                    .build();
            EarlyStoppingResult<MultiLayerNetwork> result = new EarlyStoppingTrainer(stopping, net, train()).fit();
            epochs = net.getEpochCount();
            System.out.printf("Stopped in epoch %d by %s; best held-out loss %.4f, accuracy %.4f%n", net.getEpochCount() + 1,
                    result.getTerminationDetails(), result.getScoreVsEpoch().get(result.getBestModelEpoch()), net.evaluate(test).accuracy());
            stopped = net.params().dup();
        }
        File checkpoint = CheckpointListener.getFileForCheckpoint(folder, RESUMED_FROM - 1);
        MultiLayerNetwork resumed = MemFerry.restoreMultiLayerNetwork(checkpoint, true, on(smallerDevice));
        resumed.setListeners(new ScoreIterationListener(REPORTED));
        try (MemFerry ferry = MemFerry.of(resumed)) {
            System.out.printf("Restored %s of epoch %d on %s%n", checkpoint.getName(), resumed.getEpochCount(), smallerDevice);
            while (resumed.getEpochCount() < epochs) {
                resumed.fit(train());
            }
            return resumed.params().equalsWithEps(stopped, 0);
        }
    }

    private static MemFerryConfig on(String device) {
        return MemFerryConfig.builder().device(device).expect(BATCH, InputType.convolutional(Digits.SIDE, Digits.SIDE, 1)).build();
    }

    private static DataSetIterator train() {
        return new ExistingDataSetIterator(Digits.bundled().train(SEED).batches(0, 10, BATCH));
    }

    private static MultiLayerNetwork network() {
        ListBuilder layers = new NeuralNetConfiguration.Builder().seed(SEED).updater(new Adam(1e-3)).weightInit(WeightInit.RELU)
                .activation(Activation.RELU).list();
        for (int i = 0; i < 4; i++) {
            layers.layer(new DenseLayer.Builder().nOut(512).build());
        }
        return new MultiLayerNetwork(layers
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(10).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1)).build());
    }
}
