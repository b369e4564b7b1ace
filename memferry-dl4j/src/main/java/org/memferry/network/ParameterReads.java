package org.memferry.network;

import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.memferry.base.MemFerryException;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.engine.Program;
import org.memferry.nd4j.RegionArrays;
import org.memferry.shadow.Lease;
import org.memferry.shadow.ShadowLayer;
import org.memferry.shadow.ShadowModel;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Answers every read of a parameter: tells DL4J's computation, which gets the plan's place and moves the engine on, from everybody else, who
 * gets the host master. One thread computes: the one that opened the iteration.
 */
final class ParameterReads {

    /** Is told where inference meets the plan. */
    interface Inference {

        /** The thread that trains is about to compute outside of iterations. Another engine may serve it after this. */
        void computes();

        /** Somebody computes outside of iterations where the plan cannot change. Called by any thread. */
        void computesElsewhere();
    }

    /** DL4J opens this workspace around the computation of every layer, in both kinds of network. */
    private static final String LAYER_WORKSPACE = "WS_LAYER_WORKING_MEM";

    private final NetworkAdapter adapter;
    private final ShadowModel shadow;
    private final GradientHomes homes;
    private final OptimizerSteps steps;
    private final Installation installation;
    private final FirstConvolution firstConvolution;
    /** Ends the backward pass. */
    private final Runnable backwardEnded;
    private final Inference inference;
    private final List<SameDiffBinding> graphs = new ArrayList<>();
    private final List<ShadowLayer> graphLayers = new ArrayList<>();
    private volatile Thread owner = Thread.currentThread();

    /**
     * @param adapter          the network
     * @param shadow           its layers
     * @param homes            where their gradients are written
     * @param steps            who changes parameters during backward
     * @param installation     put back before a pass begins
     * @param firstConvolution told of reads
     * @param backwardEnded    called where a read shows that backward is over
     * @param inference        told of inference
     */
    ParameterReads(NetworkAdapter adapter, ShadowModel shadow, GradientHomes homes, OptimizerSteps steps, Installation installation,
            FirstConvolution firstConvolution, Runnable backwardEnded, Inference inference) {
        this.adapter = adapter;
        this.shadow = shadow;
        this.homes = homes;
        this.steps = steps;
        this.installation = installation;
        this.firstConvolution = firstConvolution;
        this.backwardEnded = backwardEnded;
        this.inference = inference;
    }

    /** A layer that computes in SameDiff keeps its arrays: they are exchanged for it. */
    void addGraph(SameDiffBinding graph, ShadowLayer layer) {
        graphs.add(graph);
        graphLayers.add(layer);
    }

    /** The calling thread trains from now on. */
    void ownedByThisThread() {
        owner = Thread.currentThread();
    }

    /** The thread that trained last. */
    Thread owner() {
        return owner;
    }

    /** True if the owner is in a training iteration. */
    boolean isTraining() {
        IterationEngine engine = shadow.engine();
        return engine != null && isTraining(engine.phase());
    }

    private static boolean isTraining(Phase phase) {
        return phase != Phase.IDLE && phase != Phase.INFERENCE;
    }

    /** A layer reads one of its parameters, or a user does. */
    INDArray read(ShadowLayer layer, int parameter) {
        IterationEngine engine = shadow.engine();
        Phase phase = engine == null ? Phase.IDLE : engine.phase();
        if (!isTraining(phase) && !installation.isComplete() && CallerCheck.layerCodeReads()) {
            installation.heal();
        }
        if (engine == null || Thread.currentThread() != owner || !computing(phase)) {
            // On another thread, or with workspaces in inference only, it may be a pass all the same, and be followed by a backward one.
            if (homes.isInSlot(layer.index()) && CallerCheck.layerCodeReads()) {
                gradientToHost(layer.index());
            }
            if (engine != null && Thread.currentThread() != owner) {
                inference.computesElsewhere();
            }
            return layer.tracked(parameter);
        }
        return lease(layer, engine, phase, false).array(parameter);
    }

    /** Tells DL4J's own reads from a user's: DL4J computes inside its layer workspace. Without workspaces the call stack has to do. */
    private boolean computing(Phase phase) {
        WorkspaceMode mode = isTraining(phase) ? adapter.trainingWorkspaces() : adapter.inferenceWorkspaces();
        if (mode == WorkspaceMode.NONE) {
            return CallerCheck.layerCodeReads();
        }
        return Nd4j.getWorkspaceManager().checkIfWorkspaceExistsAndActive(LAYER_WORKSPACE);
    }

    /** @param inGraph whether a graph computes that holds the arrays of its slots, which must stay what they are */
    private Lease lease(ShadowLayer layer, IterationEngine engine, Phase known, boolean inGraph) {
        Phase phase = known;
        if (steps.layerwise() != null && isTraining(phase) && !engine.isIn(layer.index()) && !CallerCheck.inIteration()) {
            // The iteration ended in an exception: to go on with it would take a step on half a gradient.
            engine.abort();
            phase = Phase.IDLE;
        }
        if (isTraining(phase)) {
            firstConvolution.read(layer.index());
        } else {
            infer(inGraph);
            gradientToHost(layer.index());
        }
        return shadow.read(layer);
    }

    private void infer(boolean inGraph) {
        if (inGraph) {
            inference.computesElsewhere();
        } else {
            inference.computes();
        }
        IterationEngine engine = shadow.engine();
        if (engine.phase() == Phase.IDLE) {
            RegionArrays.awaitComputation();
            engine.openInference();
        }
    }

    /**
     * Outside a training iteration nobody says whether a read belongs to a backward pass: a gradient must not land in a shared slot.
     * Another thread may ask, so that an iteration must not open in between.
     */
    private void gradientToHost(int unit) {
        if (!homes.isInSlot(unit)) {
            return;
        }
        synchronized (homes) {
            if (!isTraining()) {
                homes.toHost(unit);
            }
        }
    }

    /** A SameDiff layer builds its graph, which counts as being entered: its listener is not in the graph yet. */
    void graphBuilt(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        if (engine != null && (engine.phase() == Phase.FORWARD || engine.phase() == Phase.BACKWARD) && Thread.currentThread() == owner) {
            shadow.read(layer);
        }
    }

    /** A SameDiff graph is about to compute with the arrays of the layer's slot. */
    void graphReads(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        if (engine == null || engine.program().slotsOf(layer.index()).length == 0 && Thread.currentThread() != owner) {
            return;
        }
        if (Thread.currentThread() != owner) {
            throw new MemFerryException("layer " + layer.name() + " computes in SameDiff and is read by thread "
                    + Thread.currentThread().getName() + " while thread " + owner.getName() + " trains: its slot serves one thread only. "
                    + "Evaluate on the training thread, or fix the layer with place(\"" + layer.name() + "\", DIRECT).");
        }
        if (!isTraining(engine.phase())) {
            installation.heal();
        } else if (engine.isPastBackward(layer.index())) {
            backwardEnded.run();
        }
        lease(layer, engine, engine.phase(), true);
        int[] slots = engine.program().slotsOf(layer.index());
        if (slots.length > 0) {
            engine.restage(layer.index(), slots[0]);
        }
    }

    /** A pass begins: SameDiff graphs compute with the arrays of their slots. */
    void refreshGraphs() {
        for (int i = 0; i < graphs.size(); i++) {
            int[] slots = shadow.engine().program().slotsOf(graphLayers.get(i).index());
            graphs.get(i).refresh(slots.length == 0 ? Program.MASTER : slots[0]);
        }
    }

    /** The slots are given up: SameDiff graphs compute with the host master. */
    void releaseGraphs() {
        for (int i = 0; i < graphs.size(); i++) {
            graphs.get(i).release(graphLayers.get(i).arrays(Program.MASTER));
        }
    }

    /** SameDiff graphs of one layer compute with other arrays for good. */
    void releaseGraphs(int layer, INDArray[] arrays) {
        for (int i = 0; i < graphs.size(); i++) {
            if (graphLayers.get(i).index() == layer) {
                graphs.get(i).release(arrays);
            }
        }
    }

    /** A whole parameter table was walked: DL4J does so for the regularisation score, right after the backward pass. */
    void walked() {
        IterationEngine engine = shadow.engine();
        if (engine != null && engine.phase() == Phase.BACKWARD && Thread.currentThread() == owner) {
            backwardEnded.run();
        }
    }

    /** The parameters of a layer whose step may have been taken, as the score shall see them; null if it shall see them themselves. */
    Map<String, INDArray> standIns(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        boolean scored = engine != null && engine.phase() == Phase.UPDATE && Thread.currentThread() == owner;
        return scored ? steps.standIns(layer) : null;
    }
}
