package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Frozen layers, wrapped layers in wrappers, and layers that a user writes in SameDiff. */
final class WrapperFamilies {

    private static final int BATCH = 8;
    private static final int INPUTS = 15;
    private static final int CLASSES = 5;

    private WrapperFamilies() {
    }

    static List<Family> all() {
        return List.of(frozenPrefix(), frozenPicturePrefix(), frozenWithBackprop(), frozenInGraph(), nestedWrappers(), userLayers());
    }

    /** Fine-tuning: the first layers keep their values, whatever the regularisation says, and get neither gradient nor state. */
    private static Family frozenPrefix() {
        return StockFamily.layers("frozen-prefix", BATCH, () -> configuration(71, new Nesterovs(0.02, 0.9))
                .l2(0.1)
                .list()
                .layer(new FrozenLayer(dense(31)))
                .layer(new FrozenLayer(dense(28)))
                .layer(dense(26))
                .layer(dense(33))
                .layer(dense(21))
                .layer(dense(24))
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** A frozen batch normalisation runs in test mode: its running mean and variance stand still. */
    private static Family frozenPicturePrefix() {
        InputType input = InputType.convolutional(10, 10, 2);
        return StockFamily.layers("frozen-cnn-prefix", BATCH, () -> configuration(72, new Adam(1e-3))
                .list()
                .layer(new FrozenLayer(new ConvolutionLayer.Builder(3, 3).nOut(9).build()))
                .layer(new FrozenLayer(new BatchNormalization.Builder().build()))
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(7).build())
                .layer(new BatchNormalization.Builder().build())
                .layer(new ConvolutionLayer.Builder(2, 2).nOut(8).build())
                .layer(dense(22))
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 2, 10, 10), data.classes(BATCH, CLASSES)));
    }

    /** Frozen layers in the middle that the error passes through, on its way to layers that train. */
    private static Family frozenWithBackprop() {
        return StockFamily.layers("frozen-with-backprop", BATCH, () -> configuration(73, new RmsProp(2e-3))
                .l1(1e-3)
                .list()
                .layer(dense(30))
                .layer(dense(23))
                .layer(new FrozenLayerWithBackprop(dense(27)))
                .layer(dense(32))
                .layer(new FrozenLayerWithBackprop(dense(25)))
                .layer(dense(20))
                .layer(softmax())
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** A frozen layer in one of two branches: no error comes back through it, so what lies before it trains by the other branch only. */
    private static Family frozenInGraph() {
        return StockFamily.graph("frozen-in-graph", BATCH, () -> configuration(74, new Adam(1e-3))
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("first", dense(29), "input")
                .addLayer("second", dense(24), "first")
                .addLayer("passed", new FrozenLayerWithBackprop(dense(22)), "second")
                .addLayer("third", dense(31), "passed")
                .addLayer("frozen", new FrozenLayer(dense(26)), "first")
                .addLayer("fourth", dense(19), "third", "frozen")
                .addLayer("output", softmax(), "fourth")
                .setOutputs("output")
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** A wrapper in a wrapper, frozen and not. */
    private static Family nestedWrappers() {
        InputType input = InputType.recurrent(6, 7);
        return StockFamily.layers("nested-wrappers", BATCH, () -> configuration(75, new Adam(1e-3))
                .list()
                .layer(new FrozenLayer(new Bidirectional(Bidirectional.Mode.ADD, new LSTM.Builder().nOut(11).build())))
                .layer(new LSTM.Builder().nOut(13).build())
                .layer(new FrozenLayerWithBackprop(new LSTM.Builder().nOut(10).build()))
                .layer(new LSTM.Builder().nOut(14).build())
                .layer(new LastTimeStep(new Bidirectional(Bidirectional.Mode.CONCAT, new LSTM.Builder().nOut(8).build())))
                .layer(dense(20))
                .layer(softmax())
                .setInputType(input)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 6, 7), data.classes(BATCH, CLASSES)));
    }

    /** Dense and output layer as a user writes them in SameDiff, among DL4J's own. */
    private static Family userLayers() {
        return StockFamily.layers("samediff-layers", BATCH, () -> configuration(76, new Adam(1e-3))
                .list()
                .layer(dense(28))
                .layer(new UserDenseLayer(28, 23))
                .layer(dense(26))
                .layer(new UserDenseLayer(26, 21))
                .layer(dense(18))
                .layer(new UserOutputLayer(18, CLASSES))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.gaussian(BATCH, CLASSES)));
    }

    private static DenseLayer dense(int size) {
        return new DenseLayer.Builder().nOut(size).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
