package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.nn.weights.WeightInitXavier;
import org.deeplearning4j.zoo.model.AlexNet;
import org.deeplearning4j.zoo.model.LeNet;
import org.deeplearning4j.zoo.model.ResNet50;
import org.deeplearning4j.zoo.model.TextGenerationLSTM;
import org.deeplearning4j.zoo.model.TinyYOLO;
import org.deeplearning4j.zoo.model.VGG16;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.Locale;

/**
 * Networks that people train, those of DL4J's zoo and some of its usual kinds, on random data: what they learn makes no difference to the
 * memory they take. The batch is one that a small machine computes in seconds.
 */
public enum KnownNetwork {

    /** LeNet on images of 28 x 28, as in DL4J's zoo. */
    LENET(32, InputType.convolutional(28, 28, 1)) {
        @Override
        public Model network() {
            return new MultiLayerNetwork(LeNet.builder().numClasses(CLASSES).updater(adam()).build().conf());
        }
    },

    /** AlexNet, as in DL4J's zoo: 58 million parameters for 10 classes. */
    ALEXNET(4, InputType.convolutional(224, 224, 3)) {
        @Override
        public Model network() {
            return new MultiLayerNetwork(AlexNet.builder().numClasses(CLASSES).build().conf());
        }
    },

    /** VGG16 on small images. */
    VGG16_64(4, InputType.convolutional(64, 64, 3)) {
        @Override
        public Model network() {
            return vgg16(64, adam());
        }
    },

    /** VGG16 on images of its own size, with the zoo's Nesterovs: 138 million parameters for 1000 classes. */
    VGG16_224(1, InputType.convolutional(224, 224, 3)) {
        @Override
        public Model network() {
            return vgg16(224, new Nesterovs(1e-3));
        }
    },

    /** ResNet-50, as in DL4J's zoo but for weights that do not overflow. */
    RESNET50(2, InputType.convolutional(224, 224, 3)) {
        @Override
        public Model network() {
            return new ComputationGraph(ResNet50.builder().numClasses(CLASSES).weightInit(new WeightInitXavier()).updater(adam()).build()
                    .graphBuilder().build());
        }
    },

    /** A small U-Net with dropout, three levels deep, on images of 64 x 64. */
    UNET(4, InputType.convolutional(64, 64, 3)) {
        @Override
        public Model network() {
            return new ComputationGraph(unet());
        }

        @Override
        public INDArray labels() {
            return Nd4j.zeros(DataType.FLOAT, batch(), 1, 64, 64);
        }
    },

    /** Characters by two LSTMs in segments of 50, as in DL4J's zoo. */
    TEXT_LSTM(16, InputType.recurrent(47, 100)) {
        @Override
        public Model network() {
            return new MultiLayerNetwork(TextGenerationLSTM.builder().totalUniqueCharacters(47).inputShape(new int[] {100, 47}).updater(adam())
                    .build().conf());
        }

        @Override
        public INDArray labels() {
            return Nd4j.zeros(DataType.FLOAT, batch(), 47, 100);
        }
    },

    /** Two LSTMs 1024 wide over 50 steps: 13 million parameters. */
    LSTM1024(8, InputType.recurrent(77, 50)) {
        @Override
        public Model network() {
            return new MultiLayerNetwork(configuration().list().layer(new LSTM.Builder().nOut(1024).build())
                    .layer(new LSTM.Builder().nOut(1024).build())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(77).activation(Activation.SOFTMAX).build())
                    .setInputType(input()).build());
        }

        @Override
        public INDArray labels() {
            return Nd4j.zeros(DataType.FLOAT, batch(), 77, 50);
        }
    },

    /** Four transformer blocks 256 wide over 128 steps. */
    TRANSFORMER(4, InputType.recurrent(64, 128)) {
        @Override
        public Model network() {
            return new ComputationGraph(transformer(256, 4));
        }

        @Override
        public INDArray labels() {
            return Nd4j.zeros(DataType.FLOAT, batch(), 64, 128);
        }
    },

    /** Tiny YOLO with its own loss, as in DL4J's zoo, on images of 416 x 416. */
    TINYYOLO(1, InputType.convolutional(416, 416, 3)) {
        @Override
        public Model network() {
            return new ComputationGraph(TinyYOLO.builder().numClasses(CLASSES).updater(adam()).build().conf());
        }

        @Override
        public INDArray labels() {
            return Nd4j.zeros(DataType.FLOAT, batch(), 4 + CLASSES, 13, 13);
        }
    };

    private static final int CLASSES = 10;
    private static final int IMAGENET_CLASSES = 1000;
    private static final long SEED = 1998;

    private final int batch;
    private final InputType input;

    KnownNetwork(int batch, InputType input) {
        this.batch = batch;
        this.input = input;
    }

    /** A network of this kind, not initialised. */
    public abstract Model network();

    /** What goes into it. */
    public InputType input() {
        return input;
    }

    /** Examples in an iteration of the bench. */
    public int batch() {
        return batch;
    }

    /** Name on the command line. */
    public String title() {
        return name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
        return title();
    }

    /** Random features of one batch. */
    public INDArray features() {
        long[] shape = input.getShape(true);
        shape[0] = batch;
        return Nd4j.rand(DataType.FLOAT, shape);
    }

    /** Labels of one batch. */
    public INDArray labels() {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, batch, this == VGG16_224 ? IMAGENET_CLASSES : CLASSES);
        for (int i = 0; i < batch; i++) {
            labels.putScalar(i, i % CLASSES, 1);
        }
        return labels;
    }

    /** One iteration. */
    public static void fit(Model network, INDArray features, INDArray labels) {
        if (network instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) network).fit(features, labels);
        } else {
            ((ComputationGraph) network).fit(new INDArray[] {features}, new INDArray[] {labels});
        }
    }

    /** State of a network's updater; null if it has none. */
    static INDArray updaterState(Model network) {
        return network instanceof MultiLayerNetwork ? ((MultiLayerNetwork) network).getUpdater().getStateViewArray()
                : ((ComputationGraph) network).getUpdater().getStateViewArray();
    }

    /** VGG16 of DL4J's zoo; for images of 224 x 224 with the 1000 classes that it was made for. */
    static ComputationGraph vgg16(int size, IUpdater updater) {
        return new ComputationGraph(VGG16.builder().inputShape(new int[] {3, size, size}).numClasses(size == 224 ? IMAGENET_CLASSES : CLASSES)
                .updater(updater).build().conf());
    }

    private static IUpdater adam() {
        return new Adam(1e-4);
    }

    private static NeuralNetConfiguration.Builder configuration() {
        return new NeuralNetConfiguration.Builder().seed(SEED).updater(adam()).weightInit(WeightInit.XAVIER)
                .convolutionMode(ConvolutionMode.Same);
    }

    private static ConvolutionLayer convolution(int channels) {
        return new ConvolutionLayer.Builder(3, 3).nOut(channels).activation(Activation.RELU).build();
    }

    private static ComputationGraphConfiguration unet() {
        GraphBuilder graph = configuration().graphBuilder().addInputs("in").setInputTypes(InputType.convolutional(64, 64, 3));
        String x = "in";
        for (int level = 0; level < 3; level++) {
            graph.addLayer("down" + level, convolution(16 << level), x);
            graph.addLayer("pool" + level, new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2)
                    .build(), "down" + level);
            x = "pool" + level;
        }
        ConvolutionLayer bottom = convolution(128);
        bottom.setIDropout(new org.deeplearning4j.nn.conf.dropout.Dropout(0.5));
        graph.addLayer("bottom", bottom, x);
        x = "bottom";
        for (int level = 2; level >= 0; level--) {
            graph.addLayer("up" + level, new Upsampling2D.Builder(2).build(), x);
            graph.addVertex("merge" + level, new MergeVertex(), "down" + level, "up" + level);
            graph.addLayer("conv" + level, convolution(16 << level), "merge" + level);
            x = "conv" + level;
        }
        graph.addLayer("mask", new ConvolutionLayer.Builder(1, 1).nOut(1).activation(Activation.IDENTITY).build(), x);
        graph.addLayer("out", new CnnLossLayer.Builder(LossFunction.XENT).activation(Activation.SIGMOID).build(), "mask");
        return graph.setOutputs("out").build();
    }

    private static ComputationGraphConfiguration transformer(int width, int blocks) {
        GraphBuilder graph = configuration().activation(Activation.IDENTITY).graphBuilder().addInputs("in")
                .setInputTypes(InputType.recurrent(64, 128));
        graph.addLayer("embed", project(width, Activation.IDENTITY), "in");
        String x = "embed";
        for (int block = 0; block < blocks; block++) {
            String b = "b" + block + "-";
            for (String part : new String[] {"q", "k", "v"}) {
                graph.addLayer(b + part, project(width, Activation.IDENTITY), x);
            }
            graph.addVertex(b + "attention", new AttentionVertex.Builder().nInQueries(width).nInKeys(width).nInValues(width).nOut(width)
                    .headSize(width).nHeads(1).projectInput(false).build(), b + "q", b + "k", b + "v");
            graph.addLayer(b + "o", project(width, Activation.IDENTITY), b + "attention");
            graph.addVertex(b + "add1", new ElementWiseVertex(ElementWiseVertex.Op.Add), x, b + "o");
            graph.addLayer(b + "ff1", project(4 * width, Activation.RELU), b + "add1");
            graph.addLayer(b + "ff2", project(width, Activation.IDENTITY), b + "ff1");
            graph.addVertex(b + "add2", new ElementWiseVertex(ElementWiseVertex.Op.Add), b + "add1", b + "ff2");
            x = b + "add2";
        }
        return graph.addLayer("out", new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(64).activation(Activation.SOFTMAX).build(), x)
                .setOutputs("out").build();
    }

    private static Convolution1DLayer project(int width, Activation activation) {
        return new Convolution1DLayer.Builder(1).nOut(width).activation(activation).build();
    }
}
