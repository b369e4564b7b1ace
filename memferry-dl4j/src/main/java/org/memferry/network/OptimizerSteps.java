package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.memferry.base.MemFerryException;
import org.memferry.device.Device;
import org.memferry.engine.GradientListener;
import org.memferry.plan.GradientHome;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.UpdateTiming;
import org.memferry.shadow.ShadowLayer;
import org.memferry.shadow.ShadowModel;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.ref.WeakReference;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * The optimizer's steps of an attached network: which layers may take theirs while backward goes on, when the others do, and the barrier
 * behind which DL4J finds all of them taken.
 */
final class OptimizerSteps {

    private static final Logger LOG = LoggerFactory.getLogger(OptimizerSteps.class);
    /** In place of a unit: a step of many. */
    private static final int MANY = -1;

    private final NetworkAdapter adapter;
    private final Boolean eagerUpdate;
    private final Device device;
    private final Remains remains;
    private final ShadowModel shadow;
    private final List<NetworkUnit> units;
    private final GradientHomes homes;
    private final Recording recording;
    private final Map<Trainable, Integer> index = new IdentityHashMap<>();
    private final ScoreNorms norms = new ScoreNorms();
    private final Arguments arguments = new Arguments();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder waitNanos = new LongAdder();
    private TrainingListener ours;
    private Plan plan;
    private HostUpdate rules;
    /** Per unit whether its step may be taken while backward goes on. */
    private boolean[] early;
    /** Takes steps one by one; null where all are taken at once after backward. */
    private LayerSteps layerwise;
    /** Under a plan that is in force no more an iteration was given up after a step. */
    private boolean torn;
    private boolean slowListenerNamed;

    /**
     * @param adapter     the network
     * @param eagerUpdate what the user says of steps during backward; null if nothing
     * @param device      where gradients come from
     * @param remains     gives the thread back
     * @param shadow      the network's layers
     * @param units       the same as DL4J has them
     * @param homes       where their gradients are
     * @param recording   told of steps
     */
    OptimizerSteps(NetworkAdapter adapter, Boolean eagerUpdate, Device device, Remains remains, ShadowModel shadow, List<NetworkUnit> units,
            GradientHomes homes, Recording recording) {
        this.adapter = adapter;
        this.eagerUpdate = eagerUpdate;
        this.device = device;
        this.remains = remains;
        this.shadow = shadow;
        this.units = units;
        this.homes = homes;
        this.recording = recording;
        for (int i = 0; i < units.size(); i++) {
            index.put(units.get(i).trainable, i);
        }
    }

    /** Prepares for layers whose parameters the score reads after their step. */
    void prepareNorms(NetworkDescription network, DataType type) {
        for (int i = 0; i < units.size(); i++) {
            if (!network.layers().get(i).readAfterBackward()) {
                norms.add(units.get(i), shadow.layers().get(i), type);
            }
        }
    }

    /** Our own listener, which is no reader. */
    void ours(TrainingListener listener) {
        ours = listener;
    }

    /** Steps are taken by these rules from now on. A layer may take its own during backward if nobody reads its parameters afterwards. */
    void rules(HostUpdate update, NetworkDescription network) {
        rules = update;
        early = new boolean[units.size()];
        for (int i = 0; i < early.length; i++) {
            early[i] = !network.layers().get(i).readAfterBackward() && update.isSeparable(units.get(i).trainable);
        }
    }

    /**
     * A plan is in force.
     *
     * @return who is to be told of gradients
     */
    GradientListener start(Plan present) {
        plan = present;
        if (present.updateTiming().isLayerwise()) {
            // The thread must not keep the network alive: while a step is due the training thread does.
            WeakReference<OptimizerSteps> self = new WeakReference<>(this);
            layerwise = new LayerSteps(device, units.size(), unit -> self.get().mayStepEarly(unit), unit -> self.get().takeStep(unit));
            remains.steps(layerwise);
        }
        return layerwise == null ? GradientListener.NONE : layerwise;
    }

    /** The plan is in force no more. */
    void end() {
        if (layerwise != null) {
            layerwise.close();
            torn |= layerwise.isTorn();
            layerwise = null;
            remains.steps(null);
        }
    }

    /** Waits for steps of an iteration that was given up: what follows must not run beside them. */
    void drain() {
        if (layerwise != null) {
            layerwise.drain();
        }
    }

    /** An iteration opens: the arguments of its steps are read from the model. */
    void open() {
        if (torn) {
            throw givenUp();
        }
        if (layerwise == null) {
            return;
        }
        arguments.iteration = adapter.iteration();
        arguments.epoch = adapter.epoch();
        arguments.batch = adapter.network().batchSize();
        arguments.writeUpdate = updateIsRead();
        boolean beside = plan.updateTiming() == UpdateTiming.EAGER && (eagerUpdate == Boolean.TRUE || !isReadBeforeStep());
        if (!layerwise.open(beside)) {
            throw givenUp();
        }
    }

    private static MemFerryException givenUp() {
        return new MemFerryException("an earlier iteration was given up in the middle of backward. " + LayerSteps.advice());
    }

    /**
     * Backward has left a unit: whether its step may be taken while backward goes on. The norms that the score will ask for are taken here,
     * on the training thread, where ND4J takes them as it does in stock training.
     */
    private boolean mayStepEarly(int unit) {
        Trainable layer = units.get(unit).trainable;
        if (!early[unit] || !rules.isReady(layer) || !rules.isFreeOfNorms(layer)) {
            return false;
        }
        norms.take(shadow.layers().get(unit));
        return true;
    }

    /** Takes the step of a unit whose gradient is in host memory; on the thread of the steps. */
    private void takeStep(int unit) {
        long start = System.nanoTime();
        rules.step(units.get(unit).trainable, arguments.iteration, arguments.epoch, arguments.batch, arguments.writeUpdate);
        took(unit, start);
        shadow.engine().updated(unit);
    }

    private void took(int unit, long start) {
        long end = System.nanoTime();
        nanos.add(end - start);
        recording.updated(unit, start, end);
    }

    /** Whether a listener may read gradients or parameters between backward and the step, where DL4J's are those before the step. */
    private boolean isReadBeforeStep() {
        for (TrainingListener l : adapter.listeners()) {
            if (l != ours && ListenerHabits.mayReadBeforeStep(l)) {
                if (!slowListenerNamed) {
                    slowListenerNamed = true;
                    LOG.info("{} reads the network between backward and the optimizer's step: no step is taken while backward goes on. Tell "
                            + "eagerUpdate(true) if it reads neither gradients nor parameters there.", l.getClass().getName());
                }
                return true;
            }
        }
        return false;
    }

    /** Whether a listener may read the update where DL4J leaves it, in the gradient. */
    private boolean updateIsRead() {
        for (TrainingListener l : adapter.listeners()) {
            if (l != ours && ListenerHabits.mayReadUpdate(l)) {
                return true;
            }
        }
        return false;
    }

    /** The barrier: whatever DL4J reads after this, all steps are taken. */
    void finish(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
        refuseLostGradients(gradient);
        if (layerwise == null) {
            shadow.engine().awaitGradients();
            homes.showHost(gradient);
            long start = System.nanoTime();
            rules.run(gradient, iteration, epoch, batch, workspaces, updateIsRead(), unit -> false);
            took(MANY, start);
            waitNanos.add(System.nanoTime() - start);
        } else {
            finishLayerwise(gradient, iteration, epoch, batch, workspaces);
        }
    }

    private void finishLayerwise(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
        if (arguments.iteration != iteration || arguments.epoch != epoch || arguments.batch != batch) {
            throw new MemFerryException("the updater is called for iteration " + iteration + ", epoch " + epoch + ", " + batch
                    + " examples, but the iteration was opened for iteration " + arguments.iteration + ", epoch " + arguments.epoch + ", "
                    + arguments.batch + " examples. " + advice());
        }
        int[] order = plan.network().backwardOrder();
        if (plan.updateTiming() == UpdateTiming.EAGER) {
            for (int unit : order) {
                submit(unit);
            }
        }
        shadow.engine().awaitGradients();
        homes.showHost(gradient);
        if (plan.updateTiming() == UpdateTiming.IN_CHUNKS) {
            // The next forward needs the first layers first.
            for (int i = order.length - 1; i >= 0; i--) {
                submit(order[i]);
            }
        }
        long waitsFrom = System.nanoTime();
        layerwise.await();
        long start = System.nanoTime();
        rules.run(gradient, iteration, epoch, batch, workspaces, arguments.writeUpdate, layer -> layerwise.isClaimed(index.get(layer)));
        if (!layerwise.areAllClaimed(order)) {
            took(MANY, start);
        }
        waitNanos.add(System.nanoTime() - waitsFrom);
        layerwise.complete();
    }

    private void submit(int unit) {
        Trainable layer = units.get(unit).trainable;
        if (rules.isSeparable(layer) && rules.isReady(layer)) {
            layerwise.submit(unit);
        }
    }

    private void refuseLostGradients(Gradient gradient) {
        for (String key : gradient.gradientForVariable().keySet()) {
            Integer unit = homes.unitOf(key);
            if (unit != null && plan.layers().get(unit).gradientHome() == GradientHome.SLOT && !shadow.engine().gradientTaken(unit)) {
                throw new MemFerryException("layer " + plan.network().layers().get(unit) + " wrote a gradient without reading a parameter"
                        + " in backward, so its gradient slot may hold another layer's by now. " + advice() + " Fix its home with "
                        + "placeGradient(\"" + units.get(unit).name + "\", DIRECT).");
            }
        }
    }

    private String advice() {
        return layerwise != null && layerwise.hasBegun() ? LayerSteps.advice() : "Nothing was updated.";
    }

    /** Takes no step any more: those that were queued are taken. */
    void close() {
        if (layerwise != null) {
            layerwise.close();
        }
    }

    /** The thread that takes steps one by one; null where all are taken at once. */
    LayerSteps layerwise() {
        return layerwise;
    }

    /** The parameters of a layer whose step may have been taken, as the score shall see them; null if it shall see them themselves. */
    Map<String, INDArray> standIns(ShadowLayer layer) {
        return layerwise != null && layerwise.isClaimed(layer.index()) ? norms.table(layer) : null;
    }

    /** Time that steps took so far, in nanoseconds, wherever they were taken. */
    long nanos() {
        return nanos.sum();
    }

    /** Time that the training thread was in steps or waited for them so far, in nanoseconds. */
    long waitNanos() {
        return waitNanos.sum();
    }

    /** The arguments of the steps of one iteration, read by their thread. */
    private static final class Arguments {

        private volatile int iteration;
        private volatile int epoch;
        private volatile int batch;
        private volatile boolean writeUpdate;
    }
}
