package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** What MemFerry needs of a network, the same for both kinds. */
abstract class NetworkAdapter {

    /** Starts empty, so that every array gets memory of its own, which ends with the workspace. */
    private static final WorkspaceConfiguration SCRATCH = WorkspaceConfiguration.builder().initialSize(0)
            .policyAllocation(AllocationPolicy.STRICT).policyLearning(LearningPolicy.NONE).policySpill(SpillPolicy.EXTERNAL).build();

    /** The adapter for a network; refuses what is not one of DL4J's two kinds. */
    static NetworkAdapter of(Model network) {
        if (network instanceof MultiLayerNetwork) {
            return new MultiLayerAdapter((MultiLayerNetwork) network);
        }
        if (network instanceof ComputationGraph) {
            return new GraphAdapter((ComputationGraph) network);
        }
        throw new RefusedException("cannot attach to " + (network == null ? "null" : "a " + network.getClass().getName())
                + " (expected: a MultiLayerNetwork or a ComputationGraph)");
    }

    /** The network itself. */
    abstract Model network();

    /** Another network of the same configuration (the object, as a copy of some loses updaters), not initialised. */
    abstract NetworkAdapter twin();

    /** True once {@code init()} has run. */
    abstract boolean initialised();

    /** Data type of the parameters, from the configuration. */
    abstract DataType dataType();

    /** Number of parameters of each layer or vertex, by its name and kind, from the configuration alone. */
    abstract Map<String, Long> parametersOfLayers();

    /** Number of parameters, from the configuration alone. */
    final long countParameters() {
        return parametersOfLayers().values().stream().reduce(0L, Math::addExact);
    }

    /** {@code network.init(params, false)}. */
    abstract void init(INDArray params);

    /**
     * Gives the parameters in the network's arrays their initial values, exactly as {@code network.init()} would: same seed, same order,
     * same number of random draws.
     */
    abstract void initialiseWeights();

    /**
     * Does work whose temporary arrays shall not wait for a garbage collection: DL4J draws a layer's weights in an ordinary array of their
     * size before it copies them to where they belong.
     */
    static void withScratch(Runnable work) {
        MemoryWorkspace scratch = Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread(SCRATCH, "MEMFERRY_SCRATCH");
        try (MemoryWorkspace scope = scratch.notifyScopeEntered()) {
            work.run();
        } finally {
            Nd4j.getWorkspaceManager().destroyWorkspace(scratch);
        }
    }

    /** The units with parameters, in the order of the flat vector. */
    abstract List<NetworkUnit> units();

    /** Indices into {@link #units()}: read by forward in training. */
    abstract int[] forwardOrder();

    /** Indices into {@link #units()}: reached by backward. */
    abstract int[] backwardOrder();

    /** Indices into {@link #units()}: read by inference. */
    abstract int[] inferenceOrder();

    abstract INDArray flattenedParams();

    abstract void setFlattenedParams(INDArray params);

    abstract INDArray flattenedGradients();

    abstract void setFlattenedGradients(INDArray gradients);

    /** The gradient of the last backward pass; null before the first. */
    abstract Gradient gradient();

    abstract void forgetGradient();

    abstract void initGradientsView();

    abstract Solver solver();

    /** The updater in force, null if none was made yet. */
    abstract BaseMultiLayerUpdater<?> updater();

    abstract void setUpdater(BaseMultiLayerUpdater<?> updater);

    /** A stock updater over the network's present arrays. */
    abstract BaseMultiLayerUpdater<?> stockUpdater(INDArray state);

    /** Our updater over the network's present arrays, with these blocks and their state. */
    abstract BaseMultiLayerUpdater<?> ferryUpdater(UpdateHook hook, HostBlocks blocks, INDArray state);

    abstract void setAccumulator(GradientsAccumulator accumulator);

    abstract Collection<TrainingListener> listeners();

    abstract void addListener(TrainingListener listener);

    abstract void setListeners(Collection<TrainingListener> listeners);

    /** The configuration that the optimizer reads. */
    abstract NeuralNetConfiguration defaultConfiguration();

    /** The configurations of all layers. */
    abstract List<NeuralNetConfiguration> configurations();

    abstract WorkspaceMode trainingWorkspaces();

    abstract WorkspaceMode inferenceWorkspaces();

    abstract String configurationJson();

    abstract int iteration();

    abstract int epoch();

    /** The inputs set for the present iteration. */
    abstract INDArray[] inputs();

    /** How many inputs there are; 0 if none were set. */
    abstract int inputCount();

    /** One of the inputs that were set last, for an iteration or for inference; null if it was not. Nothing is allocated. */
    abstract INDArray input(int index);

    /** What DL4J was given for the present iteration. */
    abstract IterationData data();

    /** One training iteration on the data of a network of the same configuration. */
    abstract void fit(IterationData data);

    /** Lets the layers of a network of the same configuration have the masks of this one's, where {@link #data()} does not hold them. */
    abstract void copyMasks(NetworkAdapter to);

    /** Sets the count of iterations. */
    abstract void setIteration(int iteration);

    /** Every layer, with parameters or without. */
    abstract List<Layer> layers();

    /** Every vertex of a graph; none in a MultiLayerNetwork. */
    abstract List<GraphVertex> vertices();

    /** Steps of time that are trained at once; 0 for all of them. */
    abstract int segmentSteps();

    /**
     * Every layer and vertex of a network in execution order, as one example passes through.
     *
     * @throws RuntimeException whatever DL4J throws where the types do not fit the network
     */
    abstract List<LayerShape> shapes(InputType[] types);

    /** What a profile holds for beside its device: configuration, type of the numbers, batch and input types. */
    final String key(int batch, InputType[] types) {
        String configuration = configurationJson().replaceAll("\"(iterationCount|epochCount)\" : \\d+", "");
        return "network " + Integer.toHexString(configuration.hashCode()) + " of " + countParameters() + " " + dataType() + ", batch "
                + batch + " of " + Arrays.toString(types);
    }

    /** The input types that the arrays of the present iteration have, in DL4J's default formats; null if one has an odd rank. */
    final InputType[] presentInputTypes() {
        INDArray[] inputs = inputs();
        InputType[] types = new InputType[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            types[i] = inputs[i] == null ? null : typeOf(inputs[i]);
            if (types[i] == null) {
                return null;
            }
        }
        return types;
    }

    /** The input type of an array, in DL4J's default format; null for an odd rank. */
    static InputType typeOf(INDArray a) {
        switch (a.rank()) {
            case 2:
                return InputType.feedForward(a.size(1));
            case 3:
                return InputType.recurrent(a.size(1), a.size(2));
            case 4:
                return InputType.convolutional(a.size(2), a.size(3), a.size(1));
            case 5:
                return InputType.convolutional3D(a.size(2), a.size(3), a.size(4), a.size(1));
            default:
                return null;
        }
    }
}
