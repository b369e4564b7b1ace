package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.distribution.NormalDistribution;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesBidirectionalLSTM;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.conf.layers.recurrent.TimeDistributed;
import org.deeplearning4j.nn.conf.layers.util.MaskZeroLayer;
import org.deeplearning4j.nn.conf.weightnoise.DropConnect;
import org.deeplearning4j.nn.conf.weightnoise.WeightNoise;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Recurrent layers, their wrappers, masks, and truncated back-propagation. */
final class RecurrentFamilies {

    private static final int BATCH = 5;
    private static final int INPUTS = 7;
    private static final int STEPS = 11;
    private static final int CLASSES = 4;
    private static final InputType INPUT = InputType.recurrent(INPUTS, STEPS);

    private RecurrentFamilies() {
    }

    static List<Family> all() {
        return List.of(lstm(), gravesLstmTruncated(), bidirectional(), lastTimeStep(), maskZero(), timeDistributed(), masked(),
                maskedClassification(), embeddingSequence(), gravesBidirectional(), noisy(), cached());
    }

    private static Family lstm() {
        return StockFamily.layers("lstm", BATCH, () -> configuration(51, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(13).build())
                .layer(new LSTM.Builder().nOut(17).forgetGateBiasInit(1).build())
                .layer(new LSTM.Builder().nOut(11).build())
                .layer(new LSTM.Builder().nOut(14).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Segments of 4, 4 and 3 steps: three updates per call of fit, the last on a shorter segment. */
    @SuppressWarnings("deprecation")
    private static Family gravesLstmTruncated() {
        return StockFamily.layers("graves-lstm-tbptt", BATCH, () -> configuration(52, new RmsProp(2e-3))
                .l2(1e-3)
                .list()
                .layer(new GravesLSTM.Builder().nOut(15).build())
                .layer(new GravesLSTM.Builder().nOut(12).build())
                .layer(new GravesLSTM.Builder().nOut(16).build())
                .layer(new LSTM.Builder().nOut(10).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(4)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Two layers in one, each with its own parameter table over halves of one view. */
    private static Family bidirectional() {
        return StockFamily.layers("bidirectional-lstm", BATCH, () -> configuration(53, new Adam(1e-3))
                .list()
                .layer(new Bidirectional(Bidirectional.Mode.CONCAT, new LSTM.Builder().nOut(9).build()))
                .layer(new Bidirectional(Bidirectional.Mode.ADD, new LSTM.Builder().nOut(14).build()))
                .layer(new Bidirectional(Bidirectional.Mode.AVERAGE, new SimpleRnn.Builder().nOut(12).build()))
                .layer(new LSTM.Builder().nOut(10).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    private static Family lastTimeStep() {
        return StockFamily.layers("simple-rnn-last-step", BATCH, () -> configuration(54, new Nesterovs(0.02, 0.9))
                .list()
                .layer(new SimpleRnn.Builder().nOut(19).build())
                .layer(new SimpleRnn.Builder().nOut(16).build())
                .layer(new LastTimeStep(new LSTM.Builder().nOut(13).build()))
                .layer(new DenseLayer.Builder().nOut(21).build())
                .layer(softmax())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classes(BATCH, CLASSES)));
    }

    /** Series that end in zeros, which the wrapper turns into a mask of its own. */
    private static Family maskZero() {
        return StockFamily.layers("mask-zero", BATCH, () -> configuration(55, new Adam(1e-3))
                .list()
                .layer(new MaskZeroLayer.Builder().setUnderlying(new LSTM.Builder().nOut(14).build()).setMaskValue(0.0).build())
                .layer(new LSTM.Builder().nOut(11).build())
                .layer(new SimpleRnn.Builder().nOut(15).build())
                .layer(new LSTM.Builder().nOut(9).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> {
                    INDArray present = data.lengths(BATCH, STEPS).reshape(BATCH, 1, STEPS).broadcast(BATCH, INPUTS, STEPS);
                    return batch(data.gaussian(BATCH, INPUTS, STEPS).muli(present), data.classSeries(BATCH, CLASSES, STEPS));
                });
    }

    private static Family timeDistributed() {
        return StockFamily.layers("time-distributed", BATCH, () -> configuration(56, new Adam(1e-3))
                .list()
                .layer(new TimeDistributed(new DenseLayer.Builder().nOut(18).build()))
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(new TimeDistributed(new DenseLayer.Builder().nOut(16).build()))
                .layer(new SimpleRnn.Builder().nOut(13).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Series of different lengths, labelled at every step of theirs. */
    private static Family masked() {
        return StockFamily.layers("masked-series", BATCH, () -> configuration(57, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(15).build())
                .layer(new Bidirectional(new LSTM.Builder().nOut(8).build()))
                .layer(new SimpleRnn.Builder().nOut(14).build())
                .layer(new LSTM.Builder().nOut(10).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> {
                    INDArray mask = data.lengths(BATCH, STEPS);
                    return batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS), mask, mask.dup());
                });
    }

    /** Series of different lengths, labelled at their last step only and in truncated segments, some of which have no label at all. */
    private static Family maskedClassification() {
        return StockFamily.layers("masked-last-step-tbptt", BATCH, () -> truncatedStack())
                .inputs(INPUT)
                .on(data -> {
                    INDArray mask = data.lengths(BATCH, STEPS);
                    return batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS), mask,
                            RandomData.lastOnly(mask));
                });
    }

    private static MultiLayerConfiguration truncatedStack() {
        return configuration(58, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(new LSTM.Builder().nOut(15).build())
                .layer(new LSTM.Builder().nOut(9).build())
                .layer(new LSTM.Builder().nOut(13).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTLength(5)
                .build();
    }

    /** Words by index, convolved and pooled over time. */
    private static Family embeddingSequence() {
        int words = 250;
        return StockFamily.layers("embedding-sequence", BATCH, () -> configuration(59, new Adam(1e-3))
                .list()
                .layer(new EmbeddingSequenceLayer.Builder().nIn(words).nOut(12).inputLength(STEPS).build())
                .layer(new Convolution1DLayer.Builder(3).nIn(12).nOut(16).build())
                .layer(new LSTM.Builder().nIn(16).nOut(13).build())
                .layer(new GlobalPoolingLayer(PoolingType.MAX))
                .layer(new DenseLayer.Builder().nIn(13).nOut(20).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nIn(20).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .build())
                .on(data -> batch(data.indices(words, BATCH, STEPS), data.classes(BATCH, CLASSES)));
    }

    /** The older bidirectional layer: one layer, six parameters. */
    @SuppressWarnings("deprecation")
    private static Family gravesBidirectional() {
        return StockFamily.layers("graves-bidirectional", BATCH, () -> configuration(60, new Adam(1e-3))
                .list()
                .layer(new GravesBidirectionalLSTM.Builder().nOut(10).build())
                .layer(new GravesBidirectionalLSTM.Builder().nOut(13).build())
                .layer(new SimpleRnn.Builder().nOut(12).build())
                .layer(new LSTM.Builder().nOut(9).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Noise on input and recurrent weights, which the layer asks for separately; drop-out, decay and constraints on recurrent weights. */
    private static Family noisy() {
        return StockFamily.layers("lstm-weight-noise", BATCH, () -> configuration(161, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(12).weightNoise(new DropConnect(0.8)).build())
                .layer(new SimpleRnn.Builder().nOut(15).weightNoise(new WeightNoise(new NormalDistribution(0, 0.05))).build())
                .layer(new LSTM.Builder().nOut(11).dropOut(0.8).l2(1e-3).l1Bias(1e-4).build())
                .layer(new LSTM.Builder().nOut(14).constrainRecurrent(new MaxNormConstraint(0.9, 1))
                        .constrainInputWeights(new UnitNormConstraint(1)).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Layers that keep what they computed in forward for backward. */
    private static Family cached() {
        return StockFamily.layers("lstm-cached", BATCH, () -> configuration(162, new Adam(1e-3))
                .cacheMode(CacheMode.DEVICE)
                .list()
                .layer(new LSTM.Builder().nOut(13).build())
                .layer(new LSTM.Builder().nOut(10).build())
                .layer(new SimpleRnn.Builder().nOut(15).build())
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    private static RnnOutputLayer rnnOutput() {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
