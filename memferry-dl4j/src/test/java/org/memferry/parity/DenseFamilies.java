package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.MinMaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.CenterLossOutputLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.variational.BernoulliReconstructionDistribution;
import org.deeplearning4j.nn.conf.layers.variational.VariationalAutoencoder;
import org.deeplearning4j.nn.conf.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Stacks of dense layers, with what DL4J adds to them: normalisation, regularisation, constraints, noise, special outputs. */
final class DenseFamilies {

    private static final int BATCH = 16;
    private static final int INPUTS = 20;
    private static final int CLASSES = 7;

    private DenseFamilies() {
    }

    static List<Family> all() {
        return List.of(mlp(), mlpDouble(), layerNorm(), regularised(), weightNoise(), manyTinyLayers(), lossLayer(), embedding(),
                centerLoss(), autoencoder(), oneClass());
    }

    /** The plain case, each layer of another size. */
    private static Family mlp() {
        return StockFamily.layers("mlp", BATCH, () -> plainStack(DataType.FLOAT))
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** The plain case in DOUBLE: every size and offset in bytes is twice that of FLOAT. */
    private static Family mlpDouble() {
        return StockFamily.layers("mlp-double", BATCH, () -> plainStack(DataType.DOUBLE))
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(DataType.DOUBLE, BATCH, INPUTS), data.classes(BATCH, CLASSES).castTo(DataType.DOUBLE)));
    }

    private static MultiLayerConfiguration plainStack(DataType type) {
        return configuration(11, new Adam(1e-3))
                .dataType(type)
                .list()
                .layer(dense(48))
                .layer(new DenseLayer.Builder().nOut(41).activation(Activation.RELU).build())
                .layer(dense(33))
                .layer(new DenseLayer.Builder().nOut(56).activation(Activation.SIGMOID).hasBias(false).build())
                .layer(dense(24))
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build();
    }

    /** A third parameter per layer, the gain, read in forward and backward. */
    private static Family layerNorm() {
        return StockFamily.layers("mlp-layer-norm", BATCH, () -> configuration(12, new Adam(1e-3))
                .list()
                .layer(new DenseLayer.Builder().nOut(40).hasLayerNorm(true).build())
                .layer(new DenseLayer.Builder().nOut(31).hasLayerNorm(true).activation(Activation.RELU).build())
                .layer(new DenseLayer.Builder().nOut(28).hasLayerNorm(true).hasBias(false).build())
                .layer(new DenseLayer.Builder().nOut(22).hasLayerNorm(true).build())
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .notInM11()
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Terms of the score that read parameters, changes before and after the updater, and constraints that write parameters. */
    private static Family regularised() {
        return StockFamily.layers("mlp-regularised", BATCH, () -> configuration(13, new Nesterovs(0.02, 0.9))
                .list()
                .layer(new DenseLayer.Builder().nOut(37).l1(1e-3).constrainWeights(new MaxNormConstraint(1.0, 1)).build())
                .layer(new DenseLayer.Builder().nOut(30).l2(1e-2).l2Bias(1e-3).constrainBias(new NonNegativeConstraint()).build())
                .layer(new DenseLayer.Builder().nOut(26).l1(1e-4).l2(1e-3).l1Bias(1e-4)
                        .constrainWeights(new UnitNormConstraint(1)).build())
                .layer(new DenseLayer.Builder().nOut(29)
                        .regularization(List.of(new WeightDecay(1e-2, true)))
                        .regularizationBias(List.of(new WeightDecay(1e-3, false))).build())
                .layer(new DenseLayer.Builder().nOut(21)
                        .regularization(List.of(new L1Regularization(1e-4), new L2Regularization(1e-3), new WeightDecay(1e-3, false)))
                        .constrainWeights(new MinMaxNormConstraint(0.5, 1.5, 0.8, 1)).build())
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Layers that keep the noisy parameter, or the parameter itself, from forward to backward; and drop-out of activations. */
    private static Family weightNoise() {
        return StockFamily.layers("mlp-weight-noise", BATCH, () -> configuration(14, new Adam(1e-3))
                .list()
                .layer(new DenseLayer.Builder().nOut(44).weightNoise(new DropConnect(0.7)).build())
                .layer(new DenseLayer.Builder().nOut(35).weightNoise(new DropConnect(0.8, true)).build())
                .layer(new DenseLayer.Builder().nOut(30).weightNoise(new WeightNoise(new NormalDistribution(0, 0.05))).build())
                .layer(new DenseLayer.Builder().nOut(27)
                        .weightNoise(new WeightNoise(new NormalDistribution(1, 0.1), true, false)).dropOut(0.8).build())
                .layer(dense(23))
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .weightNoise(new DropConnect(0.9)).build())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Forty layers of a few dozen parameters each, many of them of odd length: bookkeeping per layer, not bytes, decides here. */
    private static Family manyTinyLayers() {
        return StockFamily.layers("mlp-tiny-layers", BATCH, () -> {
            var list = configuration(15, new Sgd(0.05)).list();
            for (int i = 0; i < 40; i++) {
                list.layer(dense(5 + i % 3));
            }
            return list.layer(softmax()).setInputType(InputType.feedForward(INPUTS)).build();
        })
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Layers without parameters between the others and at the end. */
    private static Family lossLayer() {
        return StockFamily.layers("mlp-loss-layer", BATCH, () -> configuration(16, new RmsProp(2e-3))
                .activation(Activation.IDENTITY)
                .list()
                .layer(dense(36))
                .layer(new ActivationLayer(Activation.LEAKYRELU))
                .layer(new DenseLayer.Builder().nOut(32).activation(Activation.IDENTITY).build())
                .layer(new ActivationLayer(Activation.SOFTSIGN))
                .layer(dense(25))
                .layer(new DenseLayer.Builder().nOut(CLASSES).activation(Activation.IDENTITY).build())
                .layer(new ActivationLayer(Activation.CUBE))
                .layer(new LossLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Rows of a table picked by index: one large parameter of which a batch uses little. */
    private static Family embedding() {
        int words = 300;
        return StockFamily.layers("embedding", BATCH, () -> configuration(17, new Adam(1e-3))
                .list()
                .layer(new EmbeddingLayer.Builder().nIn(words).nOut(24).hasBias(true).build())
                .layer(new DenseLayer.Builder().nIn(24).nOut(38).build())
                .layer(new DenseLayer.Builder().nIn(38).nOut(30).build())
                .layer(new DenseLayer.Builder().nIn(30).nOut(19).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nIn(19).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .build())
                .on(data -> batch(data.indices(words, BATCH, 1), data.classes(BATCH, CLASSES)));
    }

    /** The centres are a parameter of the output layer that its own rule moves, whatever the updater. */
    private static Family centerLoss() {
        return StockFamily.layers("center-loss", BATCH, () -> configuration(18, new Adam(1e-3))
                .list()
                .layer(dense(34))
                .layer(dense(29))
                .layer(dense(26))
                .layer(dense(18))
                .layer(new CenterLossOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .alpha(0.1).lambda(1e-2).build())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Supervised training of a layer whose decoder only pre-training would use: parameters without gradient and updater. */
    private static Family autoencoder() {
        return StockFamily.layers("variational-autoencoder", BATCH, () -> configuration(19, new Adam(1e-3))
                .list()
                .layer(dense(32))
                .layer(new VariationalAutoencoder.Builder()
                        .encoderLayerSizes(30, 25)
                        .decoderLayerSizes(25, 30)
                        .pzxActivationFunction(Activation.IDENTITY)
                        .reconstructionDistribution(new BernoulliReconstructionDistribution(new ActivationSigmoid()))
                        .nOut(14)
                        .build())
                .layer(dense(27))
                .layer(dense(20))
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** An output layer that writes one of its parameters, the radius, itself while it computes the gradient. */
    private static Family oneClass() {
        return StockFamily.layers("one-class-output", BATCH, () -> configuration(20, new Adam(1e-3))
                .list()
                .layer(dense(34))
                .layer(dense(28))
                .layer(dense(25))
                .layer(dense(12))
                .layer(new OCNNOutputLayer.Builder().nIn(12).hiddenLayerSize(9).nu(0.1).windowSize(2 * BATCH)
                        .activation(new ActivationSigmoid()).initialRValue(0.2).build())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, 1)));
    }

    private static DenseLayer dense(int size) {
        return new DenseLayer.Builder().nOut(size).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
