package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnLossLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.Upsampling2D;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.recurrent.SimpleRnn;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.plan.IterationMemory;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.params.provider.Arguments.arguments;

/** The estimate against the workspaces of plain DL4J networks that were trained, layer by layer. */
class TrainingMemoryTest {

    private static final int BATCH = 10;
    private static final int EVALUATED = 40;
    /** A workspace of a graph knows its size once it was opened as often as there are vertices. */
    private static final int ITERATIONS = 10;
    private static final InputType IMAGE = InputType.convolutional(20, 20, 3);
    private static final InputType DEEP_IMAGE = InputType.convolutional(20, 20, 8);
    private static final InputType SERIES = InputType.recurrent(7, 25);

    static Stream<Arguments> networks() {
        List<Arguments> all = new ArrayList<>();
        InputType vector = InputType.feedForward(100);
        all.add(row("dense, tanh", vector, dense(1000, Activation.TANH), output(50)));
        all.add(row("dense, ReLU", vector, dense(1000, Activation.RELU), output(50)));
        all.add(row("dense, dropout", vector, dense(1000, Activation.RELU),
                new DenseLayer.Builder().nOut(700).dropOut(0.5).activation(Activation.RELU).build(), output(50)));
        all.add(row("large output", vector, dense(10, Activation.TANH), output(500)));
        all.add(row("binary output", vector, dense(10, Activation.TANH),
                new OutputLayer.Builder(LossFunction.XENT).activation(Activation.SIGMOID).nOut(500).build()));
        all.add(row("convolution, ReLU", IMAGE, convolution(3, Activation.RELU), output(5)));
        all.add(row("convolution, tanh", IMAGE, convolution(3, Activation.TANH), output(5)));
        all.add(row("convolutions", IMAGE, convolution(3, Activation.IDENTITY), convolution(3, Activation.IDENTITY), output(5)));
        all.add(row("convolution 1x1", DEEP_IMAGE, convolution(1, Activation.IDENTITY), output(5)));
        all.add(row("strided convolution", DEEP_IMAGE, new ConvolutionLayer.Builder(3, 3).stride(2, 2).nOut(8)
                .convolutionMode(ConvolutionMode.Same).activation(Activation.IDENTITY).build(), output(5)));
        all.add(row("batch normalisation", DEEP_IMAGE, new BatchNormalization(), output(5)));
        all.add(row("normalisation of responses", DEEP_IMAGE, new LocalResponseNormalization(), output(5)));
        all.add(row("global pooling", DEEP_IMAGE, new GlobalPoolingLayer(PoolingType.AVG), output(5)));
        all.add(row("pooling", DEEP_IMAGE, new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2)
                .build(), output(5)));
        all.add(row("upsampling", DEEP_IMAGE, new Upsampling2D.Builder(2).build(), output(5)));
        all.add(row("padding", IMAGE, new ZeroPaddingLayer.Builder(2, 2).build(), convolution(3, Activation.IDENTITY), output(5)));
        all.add(row("activation, ReLU", DEEP_IMAGE, new ActivationLayer(Activation.RELU), output(5)));
        all.add(row("activation, tanh", DEEP_IMAGE, new ActivationLayer(Activation.TANH), new DropoutLayer(0.5), output(5)));
        all.add(row("image loss", DEEP_IMAGE, convolution(1, Activation.IDENTITY),
                new CnnLossLayer.Builder(LossFunction.XENT).activation(Activation.SIGMOID).build()));
        all.add(row("deconvolution", DEEP_IMAGE, new Deconvolution2D.Builder(2, 2).stride(2, 2).nOut(8).activation(Activation.IDENTITY).build(),
                output(5)));
        all.add(row("separable convolution", DEEP_IMAGE, new SeparableConvolution2D.Builder(3, 3).nOut(8)
                .convolutionMode(ConvolutionMode.Same).activation(Activation.IDENTITY).build(), output(5)));
        all.add(row("LSTM", SERIES, new LSTM.Builder().nOut(20).build(), rnnOutput(3)));
        all.add(row("LSTMs, dropout", SERIES, new LSTM.Builder().nOut(20).build(), new LSTM.Builder().nOut(20).dropOut(0.5).build(),
                rnnOutput(3)));
        all.add(row("Graves' LSTM", SERIES, new GravesLSTM.Builder().nOut(20).build(), rnnOutput(3)));
        all.add(row("plain recurrent", SERIES, new SimpleRnn.Builder().nOut(20).build(), rnnOutput(3)));
        all.add(row("both directions", SERIES, new Bidirectional(new LSTM.Builder().nOut(20).build()), rnnOutput(3)));
        all.add(row("large output over time", SERIES, new LSTM.Builder().nOut(4).build(), rnnOutput(100)));
        all.add(row("dense over time", SERIES, dense(40, Activation.TANH), rnnOutput(3)));
        all.add(row("convolution over time", SERIES, new Convolution1DLayer.Builder(3).convolutionMode(ConvolutionMode.Same).nOut(20)
                .activation(Activation.RELU).build(), rnnOutput(3)));
        all.add(row("self-attention", InputType.recurrent(20, 50), new SelfAttentionLayer.Builder().nOut(20).nHeads(2).projectInput(true)
                .build(), rnnOutput(3)));
        all.add(row("last step", SERIES, new LastTimeStep(new LSTM.Builder().nOut(20).build()), output(3)));
        all.add(arguments("segments", segments(), new InputType[] {InputType.recurrent(7, 100)}));
        all.add(arguments("residual graph", residual(), new InputType[] {DEEP_IMAGE}));
        all.add(arguments("merging graph", merging(), new InputType[] {DEEP_IMAGE}));
        all.add(arguments("attention graph", attention(), new InputType[] {InputType.recurrent(20, 50)}));
        return all.stream();
    }

    /** Further networks, for an evaluation only; a graph of the same layers for each of all that are layers in a row. */
    static Stream<Arguments> evaluated() {
        List<Arguments> all = networks().collect(Collectors.toCollection(ArrayList::new));
        InputType vector = InputType.feedForward(100);
        all.add(row("activation layer", vector, dense(1000, Activation.IDENTITY), new ActivationLayer(Activation.RELU), output(50)));
        all.add(row("flat normalisation", vector, dense(300, Activation.TANH), new BatchNormalization(), output(50)));
        all.add(row("normalised convolution", DEEP_IMAGE, convolution(3, Activation.IDENTITY), new BatchNormalization(),
                new ActivationLayer(Activation.RELU), output(5)));
        all.add(row("pooled convolution", DEEP_IMAGE, convolution(3, Activation.IDENTITY), new SubsamplingLayer.Builder(
                SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build(), dense(100, Activation.TANH), output(5)));
        all.add(row("convolution, pooled to a point", DEEP_IMAGE, convolution(1, Activation.IDENTITY),
                new GlobalPoolingLayer(PoolingType.AVG), output(5)));
        all.add(row("embedding", InputType.feedForward(1), new EmbeddingLayer.Builder().nIn(50).nOut(1000).build(), output(50)));
        all.add(row("embedded words", InputType.recurrent(1, 25), new EmbeddingSequenceLayer.Builder().inputLength(25).nIn(50).nOut(100)
                .build(), rnnOutput(5)));
        all.add(row("loss over time", SERIES, new LSTM.Builder().nOut(20).build(),
                new RnnLossLayer.Builder(LossFunction.MSE).activation(Activation.TANH).build()));
        all.add(row("loss", vector, dense(300, Activation.TANH), new LossLayer.Builder(LossFunction.MSE).activation(Activation.TANH).build()));
        all.add(row("depthwise convolution", DEEP_IMAGE, new DepthwiseConvolution2D.Builder(3, 3).depthMultiplier(2)
                .convolutionMode(ConvolutionMode.Same).activation(Activation.TANH).build(), output(5)));
        all.add(row("both directions, added", SERIES, new Bidirectional(Bidirectional.Mode.ADD, new LSTM.Builder().nOut(20).build()),
                rnnOutput(3)));
        all.add(row("LSTM, then dense", SERIES, new LSTM.Builder().nOut(20).build(), dense(30, Activation.TANH), rnnOutput(3)));
        List<Arguments> graphs = new ArrayList<>();
        for (Arguments row : all) {
            InputType[] types = (InputType[]) row.get()[2];
            boolean isInSegments = row.get()[0].equals("segments");
            // Two layers behind one another that pass on what comes in.
            boolean passesOn = row.get()[0].equals("activation, tanh");
            if (row.get()[1] instanceof MultiLayerNetwork && !isInSegments && !passesOn) {
                graphs.add(arguments(row.get()[0] + ", as a graph", inGraph((MultiLayerNetwork) row.get()[1], types[0]), types));
            }
        }
        // As the first layers they would write to the data, which DL4J then finds in no workspace of its own.
        all.removeIf(row -> row.get()[0].toString().startsWith("activation, "));
        return Stream.concat(all.stream(), graphs.stream());
    }

    private static ComputationGraph inGraph(MultiLayerNetwork network, InputType type) {
        GraphBuilder graph = graph(type);
        String last = "in";
        for (NeuralNetConfiguration layer : network.getLayerWiseConfigurations().getConfs()) {
            String name = last + "'";
            graph.addLayer(name, layer.getLayer().clone(), last);
            last = name;
        }
        return new ComputationGraph(graph.setOutputs(last).build());
    }

    private static Arguments row(String name, InputType type, Layer... layers) {
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().seed(1).updater(new Sgd(0.01)).list();
        for (Layer layer : layers) {
            list.layer(layer);
        }
        return arguments(name, new MultiLayerNetwork(list.setInputType(type).build()), new InputType[] {type});
    }

    private static DenseLayer dense(int width, Activation activation) {
        return new DenseLayer.Builder().nOut(width).activation(activation).build();
    }

    private static OutputLayer output(int width) {
        return new OutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(width).build();
    }

    private static RnnOutputLayer rnnOutput(int width) {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(width).build();
    }

    private static ConvolutionLayer convolution(int kernel, Activation activation) {
        return new ConvolutionLayer.Builder(kernel, kernel).convolutionMode(ConvolutionMode.Same).nOut(8).activation(activation).build();
    }

    private static MultiLayerNetwork segments() {
        return new MultiLayerNetwork(new NeuralNetConfiguration.Builder().updater(new Sgd(0.01)).list().layer(new LSTM.Builder().nOut(20).build())
                .layer(rnnOutput(3)).backpropType(BackpropType.TruncatedBPTT).tBPTTLength(25).setInputType(InputType.recurrent(7, 100)).build());
    }

    private static GraphBuilder graph(InputType type) {
        return new NeuralNetConfiguration.Builder().seed(1).updater(new Sgd(0.01)).graphBuilder().addInputs("in").setInputTypes(type);
    }

    private static ComputationGraph residual() {
        ConvolutionLayer dropping = new ConvolutionLayer.Builder(1, 1).nOut(8).dropOut(0.5).activation(Activation.IDENTITY).build();
        return new ComputationGraph(graph(DEEP_IMAGE).addLayer("a", convolution(3, Activation.TANH), "in").addLayer("b", dropping, "a")
                .addLayer("c", new BatchNormalization(), "b").addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "a", "c")
                .addLayer("out", output(5), "sum").setOutputs("out").build());
    }

    private static ComputationGraph merging() {
        return new ComputationGraph(graph(DEEP_IMAGE).addLayer("a", convolution(1, Activation.TANH), "in")
                .addLayer("b", convolution(1, Activation.TANH), "in").addLayer("c", convolution(1, Activation.TANH), "b")
                .addVertex("merged", new MergeVertex(), "a", "c").addLayer("d", convolution(1, Activation.TANH), "merged")
                .addLayer("out", output(5), "d").setOutputs("out").build());
    }

    private static ComputationGraph attention() {
        return new ComputationGraph(graph(InputType.recurrent(20, 50)).addVertex("a", new AttentionVertex.Builder().nInQueries(20).nInKeys(20)
                .nInValues(20).nOut(20).headSize(10).nHeads(2).projectInput(true).build(), "in", "in", "in")
                .addLayer("out", rnnOutput(3), "a").setOutputs("out").build());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("networks")
    void workspaces_take_what_was_estimated(String name, Model network, InputType[] types) {
        IterationMemory told = TrainingMemory.of(NetworkAdapter.of(network), types).of(BATCH, 0);
        network.init();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        long data = fit(network, types);
        long held = held();
        long[] outside = outside(network, types, BATCH);
        double workspaces = told.activationBytes() + told.gradientBytes() + told.workingBytes() - outside[0] - outside[1];
        assertThat(workspaces / held).as("%s: %s, held %d", name, text(told), held).isCloseTo(1, within(0.03));
        assertThat(told.dataBytes()).as("data of %s", name).isEqualTo(data);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("evaluated")
    void workspaces_of_an_evaluation_take_what_was_estimated(String name, Model network, InputType[] types) {
        TrainingMemory.Sum sum = new TrainingMemory.Sum();
        TrainingMemory.inOne(NetworkAdapter.of(network), types).evaluate(sum, EVALUATED);
        IterationMemory told = sum.memory();
        network.init();
        INDArray features = features(types, EVALUATED);
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        output(network, features);
        long held = held();
        double workspaces = told.gradientBytes() + told.workingBytes() - outside(network, types, EVALUATED)[1];
        assertThat(workspaces / held).as("%s: %s, held %d", name, text(told), held).isCloseTo(1, within(0.03));
        assertThat(told.activationBytes()).isZero();
    }

    static Stream<Arguments> alternating() {
        Set<String> names = Set.of("dense, dropout", "convolutions", "batch normalisation", "LSTM", "residual graph", "merging graph");
        return networks().filter(row -> names.contains(row.get()[0].toString()));
    }

    /** The block of a workspace that grew later is no larger than it must be. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("alternating")
    void workspaces_of_iterations_and_evaluations_in_turns_take_what_was_estimated(String name, Model network, InputType[] types) {
        IterationMemory told = TrainingMemory.of(NetworkAdapter.of(network), types).of(BATCH, EVALUATED);
        network.init();
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        fit(network, types);
        output(network, features(types, EVALUATED));
        fit(network, types);
        long held = held();
        long[] trained = outside(network, types, BATCH);
        double workspaces = told.totalBytes() - told.dataBytes() - trained[0] - outside(network, types, EVALUATED)[1];
        assertThat(workspaces / held).as("%s: %s, held %d", name, text(told), held).isBetween(1.0, 1.03);
    }

    private static String text(IterationMemory m) {
        return "activations " + m.activationBytes() + ", gradients " + m.gradientBytes() + ", working " + m.workingBytes();
    }

    /** What no workspace holds: arrays from a layer's forward to its backward, and what libnd4j takes within an operation. Bytes. */
    private static long[] outside(Model network, InputType[] types, int batch) {
        long[] outside = new long[2];
        for (LayerShape shape : NetworkAdapter.of(network).shapes(types)) {
            LayerMemory memory = LayerMemory.of(shape, null, false, batch);
            outside[0] += 4 * memory.loose();
            outside[1] = Math.max(outside[1], 4 * memory.operation());
        }
        return outside;
    }

    private static INDArray features(InputType[] types, int batch) {
        long[] shape = types[0].getShape(true);
        shape[0] = batch;
        return Nd4j.rand(DataType.FLOAT, shape);
    }

    /** Bytes of the thread's workspaces, which are gone then. */
    private static long held() {
        long held = 0;
        for (MemoryWorkspace workspace : Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread()) {
            held += workspace.getCurrentSize();
        }
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        return held;
    }

    private static void output(Model network, INDArray features) {
        for (int i = 0; i < ITERATIONS; i++) {
            if (network instanceof MultiLayerNetwork) {
                ((MultiLayerNetwork) network).output(features, false);
            } else {
                ((ComputationGraph) network).output(features);
            }
        }
    }

    /** Returns the bytes of features and labels. */
    private static long fit(Model network, InputType[] types) {
        INDArray features = features(types, BATCH);
        List<LayerShape> shapes = NetworkAdapter.of(network).shapes(types);
        // DL4J's types forget the steps of time behind some preprocessors.
        long[] last = shapes.get(shapes.size() - 1).output.type.getShape(true);
        last[0] = BATCH;
        if (last.length == 3) {
            last[2] = shapes.get(shapes.size() - 1).output.steps;
        }
        INDArray labels = Nd4j.rand(DataType.FLOAT, last);
        for (int i = 0; i < ITERATIONS; i++) {
            if (network instanceof MultiLayerNetwork) {
                ((MultiLayerNetwork) network).fit(features, labels);
            } else {
                ((ComputationGraph) network).fit(new INDArray[] {features}, new INDArray[] {labels});
            }
        }
        return 4 * (features.length() + labels.length());
    }

    @Test
    void without_workspaces_everything_counts_until_it_is_collected() {
        long with = TrainingMemory.of(NetworkAdapter.of(residual()), new InputType[] {DEEP_IMAGE}).of(BATCH, 0).totalBytes();
        ComputationGraph none = residual();
        none.getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.NONE);
        assertThat(TrainingMemory.of(NetworkAdapter.of(none), new InputType[] {DEEP_IMAGE}).of(BATCH, 0).totalBytes()).isGreaterThan(with);
    }

    @Test
    void evaluation_of_larger_batches_takes_room_only_where_training_does_not() {
        TrainingMemory memory = TrainingMemory.of(NetworkAdapter.of(residual()), new InputType[] {DEEP_IMAGE});
        IterationMemory alone = memory.of(BATCH, 0);
        assertThat(memory.of(BATCH, 1).workingBytes()).isEqualTo(alone.workingBytes());
        assertThat(memory.of(BATCH, 8 * BATCH).totalBytes()).isGreaterThan(alone.totalBytes());
        assertThat(memory.of(BATCH, 8 * BATCH).activationBytes()).isEqualTo(alone.activationBytes());
    }
}
