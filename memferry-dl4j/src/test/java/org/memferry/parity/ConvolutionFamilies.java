package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.Convolution3D;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.objdetect.Yolo2OutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.deeplearning4j.zoo.model.LeNet;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Networks of convolutions, small relatives of those in DL4J's zoo among them. */
final class ConvolutionFamilies {

    private static final int BATCH = 6;
    private static final int CLASSES = 5;

    private ConvolutionFamilies() {
    }

    static List<Family> all() {
        return List.of(batchNormalisation(), separable(), prelu(), convolution1D(), convolution3D(), locallyConnected(), leNet(),
                alexNet(), tinyYolo(), noisyWithoutWorkspaces());
    }

    /** Running mean and variance are parameters that the update moves by their "gradient", without any updater. */
    private static Family batchNormalisation() {
        InputType input = InputType.convolutional(12, 12, 3);
        return StockFamily.layers("cnn-batch-norm", BATCH, () -> configuration(41, new Adam(1e-3))
                .l2(1e-4)
                .list()
                .layer(convolution(8, 3))
                .layer(new BatchNormalization.Builder().build())
                .layer(convolution(13, 3))
                .layer(new BatchNormalization.Builder().lockGammaBeta(true).gamma(1.1).beta(0.05).build())
                .layer(maxPooling())
                .layer(convolution(10, 3))
                .layer(new BatchNormalization.Builder().useLogStd(true).decay(0.8).build())
                .layer(new DenseLayer.Builder().nOut(30).build())
                .layer(new BatchNormalization.Builder().build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 3, 12, 12), data.classes(BATCH, CLASSES)));
    }

    /** Convolutions with two weight arrays, with one per channel, and the transposed one. */
    private static Family separable() {
        InputType input = InputType.convolutional(10, 10, 3);
        return StockFamily.layers("cnn-separable", BATCH, () -> configuration(42, new RmsProp(2e-3))
                .convolutionMode(ConvolutionMode.Same)
                .list()
                .layer(new SeparableConvolution2D.Builder(3, 3).nOut(9).depthMultiplier(2).build())
                .layer(new DepthwiseConvolution2D.Builder(3, 3).depthMultiplier(2).build())
                .layer(new Deconvolution2D.Builder(2, 2).stride(2, 2).nOut(7).build())
                .layer(maxPooling())
                .layer(new SeparableConvolution2D.Builder(3, 3).nOut(11).hasBias(false).build())
                .layer(convolution(8, 3))
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 3, 10, 10), data.classes(BATCH, CLASSES)));
    }

    /** Layers with a single parameter array, one of the shape of the activations. */
    private static Family prelu() {
        InputType input = InputType.convolutional(10, 10, 2);
        return StockFamily.layers("cnn-prelu", BATCH, () -> configuration(43, new Adam(1e-3))
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(8).activation(Activation.IDENTITY).build())
                .layer(new PReLULayer.Builder().inputShape(8, 8, 8).build())
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(12).activation(Activation.IDENTITY).build())
                .layer(new PReLULayer.Builder().inputShape(12, 6, 6).build())
                .layer(new DenseLayer.Builder().nOut(28).build())
                .layer(new ElementWiseMultiplicationLayer.Builder().nIn(28).nOut(28).activation(Activation.TANH).build())
                .layer(new DenseLayer.Builder().nOut(17).build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 2, 10, 10), data.classes(BATCH, CLASSES)));
    }

    private static Family convolution1D() {
        InputType input = InputType.recurrent(6, 14);
        return StockFamily.layers("cnn-1d", BATCH, () -> configuration(44, new Adam(1e-3))
                .convolutionMode(ConvolutionMode.Same)
                .list()
                .layer(new Convolution1DLayer.Builder(3).nOut(14).build())
                .layer(new Convolution1DLayer.Builder(5).nOut(11).activation(Activation.RELU).build())
                .layer(new Convolution1DLayer.Builder(1).nOut(18).build())
                .layer(new GlobalPoolingLayer(PoolingType.AVG))
                .layer(new DenseLayer.Builder().nOut(22).build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 6, 14), data.classes(BATCH, CLASSES)));
    }

    /** Stock 1.0.0-M1.1 trains it, but its model file loses the data format, so that stock cannot train what it restored. */
    private static Family convolution3D() {
        InputType input = InputType.convolutional3D(Convolution3D.DataFormat.NCDHW, 6, 6, 6, 2);
        return StockFamily.layers("cnn-3d", BATCH, () -> configuration(45, new Nesterovs(0.01, 0.9))
                .list()
                .layer(new Convolution3D.Builder(3, 3, 3).nOut(6).build())
                .layer(new Convolution3D.Builder(2, 2, 2).nOut(9).build())
                .layer(new Convolution3D.Builder(2, 2, 2).nOut(7).build())
                .layer(new GlobalPoolingLayer(PoolingType.AVG))
                .layer(new DenseLayer.Builder().nOut(21).build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .notInM11()
                .on(data -> batch(data.gaussian(BATCH, 2, 6, 6, 6), data.classes(BATCH, CLASSES)));
    }

    /** A layer that DL4J itself writes in SameDiff, between ordinary ones. */
    private static Family locallyConnected() {
        InputType input = InputType.convolutional(8, 8, 2);
        return StockFamily.layers("cnn-locally-connected", BATCH, () -> configuration(46, new Adam(1e-3))
                .list()
                .layer(convolution(6, 3))
                .layer(new LocallyConnected2D.Builder().kernelSize(2, 2).nOut(4).activation(Activation.TANH).build())
                .layer(convolution(7, 2))
                .layer(new DenseLayer.Builder().nOut(19).build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 2, 8, 8), data.classes(BATCH, CLASSES)));
    }

    /** The zoo's own configuration on small pictures: AdaDelta, two state arrays per parameter, one layer far larger than the rest. */
    private static Family leNet() {
        int side = 8;
        return StockFamily.layers("zoo-lenet", BATCH, () -> LeNet.builder()
                .seed(47)
                .inputShape(new int[] {1, side, side})
                .numClasses(CLASSES)
                .updater(new AdaDelta())
                .build()
                .conf())
                .inputs(InputType.convolutionalFlat(side, side, 1))
                .on(data -> batch(data.gaussian(BATCH, side * side), data.classes(BATCH, CLASSES)));
    }

    /** After the zoo's AlexNet: biases at twice the rate, gradients not divided by the batch, renormalised per layer. */
    private static Family alexNet() {
        InputType input = InputType.convolutional(24, 24, 3);
        return StockFamily.layers("alexnet-like", BATCH, () -> configuration(48, new Nesterovs(1e-2, 0.9))
                .biasUpdater(new Nesterovs(2e-2, 0.9))
                .weightInit(new NormalDistribution(0.0, 0.1))
                .activation(Activation.RELU)
                .gradientNormalization(GradientNormalization.RenormalizeL2PerLayer)
                .l2(5e-4)
                .miniBatch(false)
                .list()
                .layer(new ConvolutionLayer.Builder(5, 5).stride(2, 2).nOut(12).build())
                .layer(new LocalResponseNormalization.Builder().build())
                .layer(maxPooling())
                .layer(new ConvolutionLayer.Builder(3, 3).padding(1, 1).nOut(20).biasInit(1).build())
                .layer(new LocalResponseNormalization.Builder().build())
                .layer(new ConvolutionLayer.Builder(3, 3).padding(1, 1).nOut(24).build())
                .layer(new ConvolutionLayer.Builder(3, 3).padding(1, 1).nOut(16).biasInit(1).build())
                .layer(maxPooling())
                .layer(new DenseLayer.Builder().nOut(60).biasInit(1).build())
                .layer(new DenseLayer.Builder().nOut(45).biasInit(1).dropOut(0.5).build())
                .layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .biasInit(0.1).build())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 3, 24, 24), data.classes(BATCH, CLASSES)));
    }

    /** After the zoo's TinyYOLO: convolution, batch normalisation, leaky ReLU; normalised gradients; an output layer without parameters. */
    private static Family tinyYolo() {
        InputType input = InputType.convolutional(32, 32, 3);
        return StockFamily.graph("tiny-yolo-like", BATCH, () -> yoloGraph(input, 3))
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 3, 32, 32), data.boxes(BATCH, 3, 4)));
    }

    private static ComputationGraphConfiguration yoloGraph(InputType input, int objectClasses) {
        INDArray priors = Nd4j.createFromArray(new float[][] {{1.0f, 1.0f}, {2.0f, 1.5f}});
        var graph = configuration(49, new Adam(1e-3))
                .gradientNormalization(GradientNormalization.RenormalizeL2PerLayer)
                .gradientNormalizationThreshold(1.0)
                .l2(1e-5)
                .activation(Activation.IDENTITY)
                .convolutionMode(ConvolutionMode.Same)
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(input);
        String previous = "input";
        int[] filters = {8, 14, 20, 26};
        for (int i = 0; i < filters.length; i++) {
            graph.addLayer("cnn" + i, new ConvolutionLayer.Builder(3, 3).nOut(filters[i]).hasBias(false).build(), previous)
                    .addLayer("bn" + i, new BatchNormalization.Builder().activation(new ActivationLReLU(0.1)).build(), "cnn" + i);
            previous = "bn" + i;
            if (i < 3) {
                graph.addLayer("pool" + i, maxPooling(), previous);
                previous = "pool" + i;
            }
        }
        return graph
                .addLayer("boxes", new ConvolutionLayer.Builder(1, 1).nOut((int) priors.size(0) * (5 + objectClasses)).build(), previous)
                .addLayer("output", new Yolo2OutputLayer.Builder().boundingBoxPriors(priors).build(), "boxes")
                .setOutputs("output")
                .build();
    }

    /** Weight noise on convolutions, and DL4J's workspaces switched off: arrays come from the ordinary heap. */
    private static Family noisyWithoutWorkspaces() {
        InputType input = InputType.convolutional(10, 10, 2);
        return StockFamily.layers("cnn-weight-noise-no-workspaces", BATCH, () -> configuration(50, new Adam(1e-3))
                .trainingWorkspaceMode(WorkspaceMode.NONE)
                .inferenceWorkspaceMode(WorkspaceMode.NONE)
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(9).weightNoise(new DropConnect(0.8)).build())
                .layer(new SeparableConvolution2D.Builder(3, 3).nOut(8).weightNoise(new DropConnect(0.8)).build())
                .layer(new DepthwiseConvolution2D.Builder(2, 2).depthMultiplier(2)
                        .weightNoise(new WeightNoise(new NormalDistribution(0, 0.05))).build())
                .layer(new ConvolutionLayer.Builder(2, 2).nOut(7).constrainWeights(new MaxNormConstraint(0.8, 1, 2, 3)).build())
                .layer(new DenseLayer.Builder().nOut(22).dropOut(0.7).build())
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 2, 10, 10), data.classes(BATCH, CLASSES)));
    }

    private static ConvolutionLayer convolution(int filters, int kernel) {
        return new ConvolutionLayer.Builder(kernel, kernel).nOut(filters).build();
    }

    private static SubsamplingLayer maxPooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
