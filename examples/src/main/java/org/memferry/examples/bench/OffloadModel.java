package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
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
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * The networks that the emulated benches train, on random data. Small, so that two cores suffice for computation, copies and steps at
 * once; each layer is stretched to {@link #dilation} times its time, which brings an iteration to a few hundred milliseconds.
 */
enum OffloadModel {

    /** Twelve dense layers, all alike but for the output: the textbook case. */
    MLP12(32, 6, InputType.feedForward(448)) {
        @Override
        NeuralNetwork configured() {
            return dense(repeated(12, 448));
        }
    },

    /** Twice as many dense layers, narrower. */
    DEEP(32, 6, InputType.feedForward(256)) {
        @Override
        NeuralNetwork configured() {
            return dense(repeated(24, 256));
        }
    },

    /** Dense layers of widths between 192 and 768: their parameters differ up to eight times. */
    UNEQUAL(32, 6, InputType.feedForward(384)) {
        @Override
        NeuralNetwork configured() {
            return dense(384, 512, 768, 384, 192, 256, 512, 640, 320, 448);
        }
    },

    /** Three transformer blocks on sequences of 16 vectors: projections, attention, a feed-forward part, sums around both. */
    TRANSFORMER(8, 4, InputType.recurrent(128, 16)) {
        @Override
        NeuralNetwork configured() {
            return transformer(3, 128);
        }
    },

    /** Five LSTM layers over sequences of 8 vectors. */
    LSTM(8, 3, InputType.recurrent(96, 8)) {
        @Override
        NeuralNetwork configured() {
            ListBuilder layers = settings(Activation.TANH).list();
            for (int i = 0; i < 5; i++) {
                layers.layer(new LSTM.Builder().nOut(112).build());
            }
            return new MultiLayerNetwork(layers.layer(sequenceOutput()).setInputType(input).build());
        }
    },

    /** Four convolutions and two dense layers on images of 12 x 12: computation first, parameters last. */
    CNN(8, 5, InputType.convolutional(12, 12, 3)) {
        @Override
        NeuralNetwork configured() {
            ListBuilder layers = settings(Activation.RELU).convolutionMode(ConvolutionMode.Same).list();
            layers.layer(convolution(24)).layer(convolution(32)).layer(pooling()).layer(convolution(48)).layer(convolution(64));
            layers.layer(pooling()).layer(new DenseLayer.Builder().nOut(192).build()).layer(new DenseLayer.Builder().nOut(192).build());
            return new MultiLayerNetwork(layers.layer(output()).setInputType(input).build());
        }
    },

    /** Four small dense layers, to see that a bench works: an iteration is too short to tell anything. */
    TINY(8, 2, InputType.feedForward(64)) {
        @Override
        NeuralNetwork configured() {
            return dense(repeated(4, 64));
        }
    };

    private static final int BATCHES = 4;
    private static final int CLASSES = 10;
    private static final long SEED = 2025;

    /** Examples of an iteration. */
    final int minibatch;
    /** How many times as long as measured each layer lasts. */
    final double dilation;
    /** Shape of an example. */
    final InputType input;

    OffloadModel(int minibatch, double dilation, InputType input) {
        this.minibatch = minibatch;
        this.dilation = dilation;
        this.input = input;
    }

    /** A new network of this kind that is not initialised; the same weights each time it is. */
    abstract NeuralNetwork configured();

    /** All that a measurement is made of. */
    static List<OffloadModel> measured() {
        return List.copyOf(EnumSet.complementOf(EnumSet.of(TINY)));
    }

    /** Name as on the command line. */
    String title() {
        return name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
        return title();
    }

    /** Batches to train on in turns, the same in every process. */
    List<DataSet> batches() {
        Nd4j.getRandom().setSeed(SEED);
        Random random = new Random(SEED);
        List<DataSet> batches = new ArrayList<>();
        for (int b = 0; b < BATCHES; b++) {
            INDArray features = Nd4j.randn(DataType.FLOAT, shape());
            batches.add(new DataSet(features, labels(random)));
        }
        return batches;
    }

    private long[] shape() {
        long[] shape = input.getShape(true);
        shape[0] = minibatch;
        return shape;
    }

    private INDArray labels(Random random) {
        boolean sequence = input instanceof InputType.InputTypeRecurrent;
        long steps = sequence ? ((InputType.InputTypeRecurrent) input).getTimeSeriesLength() : 1;
        INDArray labels = Nd4j.create(DataType.FLOAT, new long[] {minibatch, CLASSES, steps}, 'f');
        for (int i = 0; i < minibatch; i++) {
            for (int t = 0; t < steps; t++) {
                labels.putScalar(i, random.nextInt(CLASSES), t, 1);
            }
        }
        return sequence ? labels : labels.reshape('f', minibatch, CLASSES);
    }

    private static NeuralNetConfiguration.Builder settings(Activation activation) {
        return new NeuralNetConfiguration.Builder().seed(SEED).updater(new Adam(1e-4)).weightInit(WeightInit.XAVIER).activation(activation);
    }

    private static int[] repeated(int count, int width) {
        int[] widths = new int[count];
        Arrays.fill(widths, width);
        return widths;
    }

    NeuralNetwork dense(int... widths) {
        ListBuilder layers = settings(Activation.RELU).list();
        for (int width : widths) {
            layers.layer(new DenseLayer.Builder().nOut(width).build());
        }
        return new MultiLayerNetwork(layers.layer(output()).setInputType(input).build());
    }

    NeuralNetwork transformer(int blocks, int width) {
        GraphBuilder graph = settings(Activation.IDENTITY).graphBuilder().addInputs("input").setInputTypes(input);
        String last = "input";
        for (int b = 0; b < blocks; b++) {
            String p = "block" + b + "-";
            graph.addLayer(p + "q", projection(width), last).addLayer(p + "k", projection(width), last)
                    .addLayer(p + "v", projection(width), last)
                    .addVertex(p + "attention", new AttentionVertex.Builder().nInQueries(width).nInKeys(width).nInValues(width).nOut(width)
                            .nHeads(1).projectInput(false).build(), p + "q", p + "k", p + "v")
                    .addLayer(p + "o", projection(width), p + "attention")
                    .addVertex(p + "attended", new ElementWiseVertex(ElementWiseVertex.Op.Add), last, p + "o")
                    .addLayer(p + "up", new Convolution1DLayer.Builder(1).nOut(4 * width).activation(Activation.RELU).build(),
                            p + "attended")
                    .addLayer(p + "down", projection(width), p + "up")
                    .addVertex(p + "sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), p + "attended", p + "down");
            last = p + "sum";
        }
        return new ComputationGraph(graph.addLayer("output", sequenceOutput(), last).setOutputs("output").build());
    }

    private static Convolution1DLayer projection(int width) {
        return new Convolution1DLayer.Builder(1).nOut(width).build();
    }

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3).nOut(channels).build();
    }

    private static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build();
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static RnnOutputLayer sequenceOutput() {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
