package org.memferry.examples.bench;

import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Supplier;

/** The networks of the bench, on random data: what they learn makes no difference to the time they take. */
public enum FitModel {

    /** Dense layers, where the update is a large part of an iteration: 59.8 million parameters. */
    MLP60M {
        @Override
        FitTask task() {
            return mlp("mlp60m", 2304, 4096, 4);
        }
    },

    /** Two LSTM layers over sequences of 50 characters: 3.4 million parameters. */
    LSTM {
        @Override
        FitTask task() {
            InputType input = InputType.recurrent(CHARACTERS, SEQUENCE);
            return new FitTask("lstm", () -> lstm(input), input, characters());
        }
    },

    /** Three convolutions and a dense layer on colour images of 32 x 32: 2.2 million parameters. */
    CNN {
        @Override
        FitTask task() {
            InputType input = InputType.convolutional(32, 32, 3);
            return new FitTask("cnn", () -> cnn(input), input, classified(MINIBATCH, 3, 32, 32));
        }
    };

    private static final int MINIBATCH = 32;
    private static final int BATCHES = 4;
    private static final int CLASSES = 10;
    private static final int CHARACTERS = 77;
    private static final int SEQUENCE = 50;
    private static final long SEED = 1998;

    /** Name as on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Makes the network's configuration and data. */
    abstract FitTask task();

    /** A network of this kind, not initialised. */
    public MultiLayerNetwork network() {
        return new MultiLayerNetwork(task().configuration.get());
    }

    /** What goes into it. */
    public InputType input() {
        return task().input;
    }

    /**
     * Dense layers in a row.
     *
     * @param inputs elements of an example
     * @param width  of every hidden layer
     * @param depth  hidden layers
     */
    static FitTask mlp(String name, int inputs, int width, int depth) {
        InputType input = InputType.feedForward(inputs);
        Supplier<MultiLayerConfiguration> configuration = () -> {
            ListBuilder layers = layers(Activation.RELU);
            for (int i = 0; i < depth; i++) {
                layers.layer(new DenseLayer.Builder().nOut(width).build());
            }
            return layers.layer(output()).setInputType(input).build();
        };
        return new FitTask(name, configuration, input, classified(MINIBATCH, inputs));
    }

    private static ListBuilder layers(Activation activation) {
        return new NeuralNetConfiguration.Builder().seed(SEED).updater(new Adam(1e-4)).weightInit(WeightInit.XAVIER)
                .activation(activation).convolutionMode(ConvolutionMode.Same).list();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static MultiLayerConfiguration lstm(InputType input) {
        return layers(Activation.TANH).layer(new LSTM.Builder().nOut(512).build()).layer(new LSTM.Builder().nOut(512).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CHARACTERS).activation(Activation.SOFTMAX).build())
                .setInputType(input).build();
    }

    private static MultiLayerConfiguration cnn(InputType input) {
        ListBuilder layers = layers(Activation.RELU);
        layers.layer(convolution(32)).layer(convolution(64)).layer(pooling()).layer(convolution(128)).layer(pooling());
        return layers.layer(new DenseLayer.Builder().nOut(256).build()).layer(output()).setInputType(input).build();
    }

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3).nOut(channels).build();
    }

    private static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build();
    }

    private static List<DataSet> classified(long... shape) {
        Random random = new Random(SEED);
        List<DataSet> batches = new ArrayList<>();
        for (int b = 0; b < BATCHES; b++) {
            INDArray labels = Nd4j.zeros(DataType.FLOAT, MINIBATCH, CLASSES);
            for (int i = 0; i < MINIBATCH; i++) {
                labels.putScalar(i, random.nextInt(CLASSES), 1);
            }
            batches.add(new DataSet(Nd4j.randn(DataType.FLOAT, shape), labels));
        }
        return batches;
    }

    /** Random texts; each character's label is the next one. */
    private static List<DataSet> characters() {
        Random random = new Random(SEED);
        List<DataSet> batches = new ArrayList<>();
        for (int b = 0; b < BATCHES; b++) {
            INDArray features = Nd4j.create(DataType.FLOAT, new long[] {MINIBATCH, CHARACTERS, SEQUENCE}, 'f');
            INDArray labels = Nd4j.create(DataType.FLOAT, new long[] {MINIBATCH, CHARACTERS, SEQUENCE}, 'f');
            for (int i = 0; i < MINIBATCH; i++) {
                int character = random.nextInt(CHARACTERS);
                for (int t = 0; t < SEQUENCE; t++) {
                    features.putScalar(i, character, t, 1);
                    character = random.nextInt(CHARACTERS);
                    labels.putScalar(i, character, t, 1);
                }
            }
            batches.add(new DataSet(features, labels));
        }
        return batches;
    }
}
