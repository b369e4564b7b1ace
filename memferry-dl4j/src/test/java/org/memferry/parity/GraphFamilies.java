package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Computation graphs: several inputs and outputs, branches, layers used twice, series that become vectors and back. */
final class GraphFamilies {

    private static final int BATCH = 8;
    private static final int CLASSES = 5;

    private GraphFamilies() {
    }

    static List<Family> all() {
        return List.of(multipleInputsAndOutputs(), sharedLayers(), residual(), dualHead(), danglingBranch(), sequenceToSequence(),
                truncatedGraph());
    }

    /** Two inputs merged twice, three outputs of different kinds at different depths. */
    private static Family multipleInputsAndOutputs() {
        int left = 12;
        int right = 9;
        return StockFamily.graph("multi-input-output", BATCH, () -> configuration(81, new Adam(1e-3))
                .graphBuilder()
                .addInputs("left", "right")
                .setInputTypes(InputType.feedForward(left), InputType.feedForward(right))
                .addLayer("left1", dense(26), "left")
                .addLayer("right1", dense(22), "right")
                .addVertex("merged", new MergeVertex(), "left1", "right1")
                .addLayer("common", dense(31), "merged")
                .addLayer("again", dense(20), "common", "right1")
                .addLayer("early", softmax(), "left1")
                .addLayer("class", softmax(), "common")
                .addLayer("value", new OutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build(), "again")
                .setOutputs("early", "class", "value")
                .build())
                .inputs(InputType.feedForward(left), InputType.feedForward(right))
                .on(data -> new MultiDataSet(
                        new INDArray[] {data.gaussian(BATCH, left), data.gaussian(BATCH, right)},
                        new INDArray[] {data.classes(BATCH, CLASSES), data.classes(BATCH, CLASSES), data.gaussian(BATCH, 3)}));
    }

    /** Siamese: both inputs pass the same layers, stacked into one batch. */
    private static Family sharedLayers() {
        int inputs = 11;
        return StockFamily.graph("stacked-siamese", BATCH, () -> configuration(82, new RmsProp(2e-3))
                .graphBuilder()
                .addInputs("a", "b")
                .setInputTypes(InputType.feedForward(inputs), InputType.feedForward(inputs))
                .addVertex("stack", new StackVertex(), "a", "b")
                .addLayer("shared1", dense(27), "stack")
                .addLayer("shared2", dense(18), "shared1")
                .addVertex("outA", new UnstackVertex(0, 2), "shared2")
                .addVertex("outB", new UnstackVertex(1, 2), "shared2")
                .addVertex("product", new ElementWiseVertex(ElementWiseVertex.Op.Product), "outA", "outB")
                .addLayer("compare", dense(24), "product")
                .addLayer("narrow", dense(14), "compare")
                .addLayer("output", softmax(), "narrow")
                .setOutputs("output")
                .build())
                .inputs(InputType.feedForward(inputs), InputType.feedForward(inputs))
                .on(data -> new MultiDataSet(
                        new INDArray[] {data.gaussian(BATCH, inputs), data.gaussian(BATCH, inputs)},
                        new INDArray[] {data.classes(BATCH, CLASSES)}));
    }

    /** After the zoo's ResNet50: many small blocks of batch normalisation, whose mean and variance split the update blocks. */
    private static Family residual() {
        InputType input = InputType.convolutional(10, 10, 3);
        return StockFamily.graph("residual", BATCH, () -> residualGraph(input))
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, 3, 10, 10), data.classes(BATCH, CLASSES)));
    }

    private static ComputationGraphConfiguration residualGraph(InputType input) {
        GraphBuilder graph = configuration(83, new RmsProp(1e-3, 0.96, 1e-3))
                .l1(1e-7)
                .l2(5e-5)
                .activation(Activation.IDENTITY)
                .convolutionMode(ConvolutionMode.Same)
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(input)
                .addLayer("stem", convolution(12), "input");
        String previous = "stem";
        for (int block = 0; block < 3; block++) {
            String p = "block" + block + "-";
            graph.addLayer(p + "conv1", convolution(9 + block), previous)
                    .addLayer(p + "bn1", new BatchNormalization.Builder().activation(Activation.RELU).build(), p + "conv1")
                    .addLayer(p + "conv2", convolution(12), p + "bn1")
                    .addLayer(p + "bn2", new BatchNormalization(), p + "conv2")
                    .addVertex(p + "add", new ElementWiseVertex(ElementWiseVertex.Op.Add), previous, p + "bn2")
                    .addLayer(p + "relu", new ActivationLayer(Activation.RELU), p + "add");
            previous = p + "relu";
        }
        return graph.addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), previous)
                .addLayer("output", softmax(), "pool")
                .setOutputs("output")
                .build();
    }

    /** After AlphaGo Zero's network: one tower, a policy and a value; Sgd, so that there is no updater state at all. */
    private static Family dualHead() {
        InputType input = InputType.convolutional(6, 6, 4);
        return StockFamily.graph("dual-head-sgd", BATCH, () -> configuration(84, new Sgd(0.02))
                .activation(Activation.RELU)
                .convolutionMode(ConvolutionMode.Same)
                .graphBuilder()
                .addInputs("board")
                .setInputTypes(input)
                .addLayer("conv1", convolution(14), "board")
                .addLayer("bn1", new BatchNormalization(), "conv1")
                .addLayer("conv2", convolution(11), "bn1")
                .addLayer("policy1", new ConvolutionLayer.Builder(1, 1).nOut(3).build(), "conv2")
                .addLayer("policy", new OutputLayer.Builder(LossFunction.MCXENT).nOut(37).activation(Activation.SOFTMAX).build(), "policy1")
                .addLayer("value1", new ConvolutionLayer.Builder(1, 1).nOut(2).build(), "conv2")
                .addLayer("value2", dense(21), "value1")
                .addLayer("value", new OutputLayer.Builder(LossFunction.MSE).nOut(1).activation(Activation.TANH).build(), "value2")
                .setOutputs("policy", "value")
                .build())
                .inputs(input)
                .on(data -> new MultiDataSet(
                        new INDArray[] {data.gaussian(BATCH, 4, 6, 6)},
                        new INDArray[] {data.classes(BATCH, 37), data.gaussian(BATCH, 1)}));
    }

    /**
     * Layers that nothing reads and that are no output: they run forward only. DL4J refuses to train such a graph unless they are
     * frozen, since it has no error to start from.
     */
    private static Family danglingBranch() {
        int inputs = 13;
        return StockFamily.graph("dangling-branch", BATCH, () -> configuration(85, new Adam(1e-3))
                .l2(1e-3)
                .graphBuilder()
                .allowDisconnected(true)
                .addInputs("input")
                .setInputTypes(InputType.feedForward(inputs))
                .addLayer("first", dense(25), "input")
                .addLayer("second", dense(30), "first")
                .addLayer("dangling1", new FrozenLayer(dense(17)), "first")
                .addLayer("dangling2", new FrozenLayer(dense(22)), "dangling1")
                .addLayer("third", dense(19), "second")
                .addLayer("fourth", dense(23), "third")
                .addLayer("output", softmax(), "fourth")
                .setOutputs("output")
                .build())
                .inputs(InputType.feedForward(inputs))
                .on(data -> batch(data.gaussian(BATCH, inputs), data.classes(BATCH, CLASSES)));
    }

    /** Encoder and decoder in DOUBLE: the last step of one series is repeated along another of a different length. */
    private static Family sequenceToSequence() {
        int source = 6;
        int target = 5;
        int sourceSteps = 9;
        int targetSteps = 7;
        InputType[] inputs = {InputType.recurrent(source, sourceSteps), InputType.recurrent(target, targetSteps)};
        return StockFamily.graph("seq2seq-double", BATCH, () -> configuration(86, new Adam(1e-3))
                .dataType(DataType.DOUBLE)
                .graphBuilder()
                .addInputs("source", "target")
                .setInputTypes(inputs)
                .addLayer("encoder1", new LSTM.Builder().nOut(14).build(), "source")
                .addLayer("encoder2", new LSTM.Builder().nOut(11).build(), "encoder1")
                .addVertex("last", new LastTimeStepVertex("source"), "encoder2")
                .addVertex("repeated", new DuplicateToTimeSeriesVertex("target"), "last")
                .addLayer("decoder1", new LSTM.Builder().nOut(16).build(), "target", "repeated")
                .addLayer("decoder2", new LSTM.Builder().nOut(12).build(), "decoder1")
                .addLayer("output", rnnOutput(target), "decoder2")
                .setOutputs("output")
                .build())
                .inputs(inputs)
                .on(data -> new MultiDataSet(
                        new INDArray[] {
                            data.gaussian(DataType.DOUBLE, BATCH, source, sourceSteps),
                            data.gaussian(DataType.DOUBLE, BATCH, target, targetSteps)},
                        new INDArray[] {data.classSeries(BATCH, target, targetSteps).castTo(DataType.DOUBLE)},
                        new INDArray[] {data.lengths(BATCH, sourceSteps).castTo(DataType.DOUBLE), null},
                        new INDArray[] {data.lengths(BATCH, targetSteps).castTo(DataType.DOUBLE)}));
    }

    /** Truncated back-propagation in a graph, with a second branch at every step. */
    private static Family truncatedGraph() {
        int inputs = 7;
        int steps = 10;
        InputType input = InputType.recurrent(inputs, steps);
        return StockFamily.graph("graph-tbptt", BATCH, () -> configuration(87, new Adam(1e-3))
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(input)
                .addLayer("a1", new LSTM.Builder().nOut(12).build(), "input")
                .addLayer("b1", new LSTM.Builder().nOut(9).build(), "input")
                .addLayer("a2", new LSTM.Builder().nOut(15).build(), "a1")
                .addLayer("both", new LSTM.Builder().nOut(11).build(), "a2", "b1")
                .addLayer("output", rnnOutput(CLASSES), "both")
                .setOutputs("output")
                .backpropType(BackpropType.TruncatedBPTT)
                .tBPTTForwardLength(4)
                .tBPTTBackwardLength(4)
                .build())
                .inputs(input)
                .on(data -> batch(data.gaussian(BATCH, inputs, steps), data.classSeries(BATCH, CLASSES, steps)));
    }

    private static DenseLayer dense(int size) {
        return new DenseLayer.Builder().nOut(size).build();
    }

    private static ConvolutionLayer convolution(int filters) {
        return new ConvolutionLayer.Builder(3, 3).nOut(filters).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static RnnOutputLayer rnnOutput(int classes) {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(classes).activation(Activation.SOFTMAX).build();
    }
}
