package org.memferry.examples.programs;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.examples.Digits;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * A training loop like that of DL4J's own first examples: a network, an iterator, {@code fit}, an evaluation. MemFerry is the one line that
 * adds its listener.
 */
public final class TrainingLoop {

    private static final long SEED = 123;
    private static final int BATCH = 64;
    private static final int EPOCHS = 15;

    private TrainingLoop() {
    }

    /** @param args where to train, {@code emulated:8MB} if not given */
    public static void main(String[] args) {
        System.out.println(run(args.length > 0 ? args[0] : "emulated:8MB").stats());
    }

    static Evaluation run(String device) {
        DataSetIterator train = new ExistingDataSetIterator(Digits.bundled().train(SEED).batches(0, 10, BATCH));
        DataSetIterator test = new ExistingDataSetIterator(Digits.bundled().test(SEED).batches(0, 10, BATCH));
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder()
                .seed(SEED)
                .updater(new Nesterovs(0.05, 0.9))
                .weightInit(WeightInit.XAVIER)
                .l2(1e-4)
                .list()
                .layer(new DenseLayer.Builder().nOut(256).activation(Activation.RELU).build())
                .layer(new DenseLayer.Builder().nOut(256).activation(Activation.RELU).build())
                .layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD).nOut(10).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.convolutional(Digits.SIDE, Digits.SIDE, 1))
                .build();

        MultiLayerNetwork net = new MultiLayerNetwork(configuration);
        net.init();
        net.setListeners(new ScoreIterationListener(100));
        net.addListeners(new MemFerryListener(MemFerryConfig.builder().device(device).build()));

        net.fit(train, EPOCHS);

        return net.evaluate(test);
    }
}
