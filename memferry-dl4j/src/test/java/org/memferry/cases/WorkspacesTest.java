package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.LocationPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ops.executioner.OpExecutioner.ProfilingMode;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A user's workspace may be open, of whatever kind, while a network is attached, changed or given back: nothing of the network may come to
 * lie in it. And DL4J's workspace debugging has nothing to say about an attached network.
 */
class WorkspacesTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    /** Kinds of workspace that a user may have open. */
    enum Kind {
        /** Memory at once. */
        STRICT,
        /** Memory from its second use on. */
        LEARNING,
        /** A mapped file. */
        MAPPED
    }

    private static MultiLayerConfiguration layers(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new AMSGrad(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static ComputationGraphConfiguration graph(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("hidden", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(),
                        "hidden")
                .setOutputs("out").build();
    }

    private static WorkspaceConfiguration configuration(Kind kind, Path file) throws IOException {
        WorkspaceConfiguration.WorkspaceConfigurationBuilder builder = WorkspaceConfiguration.builder().initialSize(1 << 20)
                .policyAllocation(AllocationPolicy.STRICT).policyLearning(LearningPolicy.NONE).policySpill(SpillPolicy.EXTERNAL);
        switch (kind) {
            case LEARNING:
                return builder.initialSize(0).policyLearning(LearningPolicy.FIRST_LOOP).build();
            case MAPPED:
                Files.deleteIfExists(file);
                return builder.policyLocation(LocationPolicy.MMAP).tempFilePath(file.toString()).build();
            default:
                return builder.build();
        }
    }

    /** Runs the action twice-opened: a learning workspace has no memory in its first round. What stood in it is overwritten afterwards. */
    private static void inside(WorkspaceConfiguration configuration, String id, Runnable action) {
        try (MemoryWorkspace first = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id)) {
            Nd4j.zeros(1 << 16);
        }
        try (MemoryWorkspace second = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id)) {
            action.run();
        }
        try (MemoryWorkspace third = Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id)) {
            Nd4j.valueArrayOf(new long[] {1 << 16}, Float.NaN);
        }
    }

    // A14
    @ParameterizedTest(name = "{0}")
    @EnumSource(Kind.class)
    void attachingChangingAndClosingInsideAnOpenWorkspaceLeavesNothingInIt(Kind kind, @TempDir Path directory) throws IOException {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            for (Serving serving : Serving.values()) {
                String name = kind + ", " + mode + ", " + serving;
                WorkspaceConfiguration configuration = configuration(kind, directory.resolve(serving + "-" + mode));
                Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(mode));
                String id = "USER_" + kind + mode + serving;
                inside(configuration, id, () -> twins.attach(serving.config()));
                steps(twins, 0, name + ", attached inside");
                inside(configuration, id, () -> twins.ferry().setLearningRate(1e-3));
                twins.stock().setLearningRate(1e-3);
                steps(twins, 2, name + ", rate set inside");
                inside(configuration, id, twins::close);
                steps(twins, 4, name + ", closed inside");
                assertThat(twins.attached().params().isAttached()).as(name).isFalse();
                assertThat(Twins.updaterState(twins.attached()).isAttached()).as(name).isFalse();

                Twins<ComputationGraph> graphs = Twins.graphs(() -> graph(mode));
                inside(configuration, id, () -> graphs.attach(serving.config()));
                steps(graphs, 0, "graph, " + name + ", attached inside");
                inside(configuration, id, graphs::close);
                steps(graphs, 2, "graph, " + name + ", closed inside");
            }
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        }
    }

    // A14
    @ParameterizedTest(name = "{0}")
    @EnumSource(Kind.class)
    void initialisingAndRestoringInsideAnOpenWorkspaceLeavesNothingInIt(Kind kind, @TempDir Path directory) throws IOException {
        for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
            WorkspaceConfiguration configuration = configuration(kind, directory.resolve("mapped-" + mode));
            MultiLayerNetwork stock = new MultiLayerNetwork(layers(mode));
            stock.init();
            MultiLayerNetwork net = new MultiLayerNetwork(layers(mode));
            inside(configuration, "USER_INIT_" + kind, () -> MemFerry.init(net, Serving.PREFETCH.config()));
            for (int i = 0; i < 2; i++) {
                stock.fit(batch(i));
                net.fit(batch(i));
            }
            Twins.assertSameBits(stock.params(), net.params(), "initialised inside " + kind);
            java.io.File file = directory.resolve("model-" + mode).toFile();
            inside(configuration, "USER_INIT_" + kind, () -> MemFerry.of(net).save(file, true));
            MemFerry.of(net).close();
            MultiLayerNetwork[] restored = new MultiLayerNetwork[1];
            inside(configuration, "USER_INIT_" + kind,
                    () -> restored[0] = MemFerry.restoreMultiLayerNetwork(file, true, Serving.RESIDENT.config()));
            for (int i = 2; i < 4; i++) {
                stock.fit(batch(i));
                restored[0].fit(batch(i));
            }
            Twins.assertSameBits(stock.params(), restored[0].params(), "restored inside " + kind);
            MemFerry.of(restored[0]).close();
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        }
    }

    private static DataSet batch(int step) {
        return Twins.batch(200 + step, CLASSES, BATCH, INPUTS);
    }

    private static <M extends Model> void steps(Twins<M> twins, int first, String name) {
        for (int i = first; i < first + 2; i++) {
            DataSet batch = batch(i);
            twins.both(net -> Twins.fit(net, batch));
            twins.assertSame(name + ", step " + i);
        }
        twins.sameAnswer(name + ", output", net -> Twins.output(net, Twins.gaussian(9, BATCH, INPUTS)));
    }

    // A14
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void trainingInsideAnOpenWorkspaceIsAsInStock(Serving serving) throws IOException {
        WorkspaceConfiguration configuration = configuration(Kind.STRICT, null);
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.ENABLED))) {
            twins.attach(serving.config());
            for (int i = 0; i < 3; i++) {
                DataSet batch = batch(i);
                inside(configuration, "USER_TRAIN_" + serving, () -> twins.both(net -> net.fit(batch)));
                twins.assertSame("trained inside, " + serving + ", step " + i);
            }
        }
    }

    @AfterEach
    void debuggingOff() {
        Nd4j.getExecutioner().setProfilingMode(ProfilingMode.SCOPE_PANIC);
        Nd4j.getWorkspaceManager().setDebugMode(DebugMode.DISABLED);
    }

    // A18
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void workspaceDebuggingIsSilentOnAResidualBlockWithBatchNormalisation(Serving serving) {
        for (DebugMode debug : new DebugMode[] {DebugMode.DISABLED, DebugMode.SPILL_EVERYTHING}) {
            Nd4j.getExecutioner().setProfilingMode(ProfilingMode.SCOPE_PANIC);
            Nd4j.getWorkspaceManager().setDebugMode(debug);
            try (Twins<ComputationGraph> twins = Twins.graphs(WorkspacesTest::residual)) {
                twins.attach(serving.config());
                for (int i = 0; i < 20; i++) {
                    DataSet batch = Twins.batch(300 + i, CLASSES, BATCH, 2, 6, 6);
                    twins.both(net -> net.fit(batch));
                    if (i % 5 == 4) {
                        twins.assertSame("residual block, " + debug + ", " + serving + ", step " + i);
                        twins.sameAnswer("output", net -> net.outputSingle(batch.getFeatures()));
                    }
                }
                for (String key : twins.attached().paramTable().keySet()) {
                    assertThat(twins.attached().getParam(key).isAttached()).as(key + " lies in a workspace").isFalse();
                }
            }
        }
        assertThat(Nd4j.getMemoryManager().getCurrentWorkspace()).as("workspace left open").isNull();
    }

    private static ComputationGraphConfiguration residual() {
        return new NeuralNetConfiguration.Builder().seed(1).updater(new Adam(1e-2)).convolutionMode(ConvolutionMode.Same)
                .trainingWorkspaceMode(WorkspaceMode.ENABLED).inferenceWorkspaceMode(WorkspaceMode.ENABLED).graphBuilder()
                .addInputs("in").setInputTypes(InputType.convolutional(6, 6, 2))
                .addLayer("stem", new ConvolutionLayer.Builder(3, 3).nOut(4).build(), "in")
                .addLayer("conv1", new ConvolutionLayer.Builder(3, 3).nOut(4).hasBias(false).build(), "stem")
                .addLayer("bn1", new BatchNormalization.Builder().activation(Activation.RELU).build(), "conv1")
                .addLayer("conv2", new ConvolutionLayer.Builder(3, 3).nOut(4).hasBias(false).build(), "bn1")
                .addLayer("bn2", new BatchNormalization.Builder().build(), "conv2")
                .addVertex("add", new ElementWiseVertex(ElementWiseVertex.Op.Add), "bn2", "stem")
                .addLayer("relu", new ActivationLayer(Activation.RELU), "add")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), "relu")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "pool")
                .setOutputs("out").build();
    }
}
