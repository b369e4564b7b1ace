package org.memferry.network;

import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.memferry.plan.NetworkDescription;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * What of ours DL4J holds and may drop: updater, gradients accumulator and listener. Puts them back, with what DL4J put in their place, and
 * lays the updater's blocks out anew where rules were changed.
 */
final class Installation {

    private static final Logger LOG = LoggerFactory.getLogger(Installation.class);

    private final Ferry ferry;
    private final NetworkAdapter adapter;
    private final FerryMemory memory;
    private final List<NetworkUnit> units;
    private final NetworkDescription network;
    private final UpdateEngine updateEngine;
    private final UpdateUnits updateUnits;
    private final OptimizerSteps steps;
    private BaseMultiLayerUpdater<?> updater;
    private HostBlocks blocks;
    /** Whether rules in the configuration were changed since the blocks were made. */
    private boolean rulesChanged;
    private FerryAccumulator accumulator;
    private TrainingListener listener;
    private boolean installing;

    /**
     * @param ferry        what is installed leads to
     * @param adapter      where it is installed
     * @param memory       of parameters, gradients, updater state
     * @param units        the network's
     * @param network      their description
     * @param updateEngine who computes steps
     * @param updateUnits  the units as steps see them
     * @param steps        told of new rules
     */
    Installation(Ferry ferry, NetworkAdapter adapter, FerryMemory memory, List<NetworkUnit> units, NetworkDescription network,
            UpdateEngine updateEngine, UpdateUnits updateUnits, OptimizerSteps steps) {
        this.ferry = ferry;
        this.adapter = adapter;
        this.memory = memory;
        this.units = units;
        this.network = network;
        this.updateEngine = updateEngine;
        this.updateUnits = updateUnits;
        this.steps = steps;
    }

    /**
     * Installs an updater over the network's arrays for the first time.
     *
     * @param present the network's own; null if there is none
     * @param keep    whether its state is of the network's rules
     * @return true if there was no state that fits, so that it begins anew
     */
    boolean begin(BaseMultiLayerUpdater<?> present, boolean keep) {
        INDArray old = present == null ? null : present.getStateViewArray();
        INDArray state = memory.stateArray();
        boolean fresh = !keep || old == null || state == null || old.length() != state.length();
        HostBlocks made = makeBlocks();
        if (!fresh) {
            adoptState(HostBlocks.layoutOf(present), old, made.layout());
        }
        install(made, fresh);
        return fresh;
    }

    /** Rules that were changed in the configuration alone have moved the limits of blocks. */
    private void adoptState(BlockLayout from, INDArray fromState, BlockLayout to) {
        INDArray state = memory.stateArray();
        if (from.equals(to)) {
            state.assign(fromState.reshape(state.shape()));
        } else {
            UpdaterState.relayout(from, fromState, to, state);
        }
    }

    private HostBlocks makeBlocks() {
        // Every parameter table is read for them: these reads must not start healing.
        installing = true;
        try {
            return HostBlocks.over(units, adapter.flattenedParams(), memory.gradientArray(), memory.stateArray());
        } finally {
            installing = false;
        }
    }

    private void install(HostBlocks newBlocks, boolean fresh) {
        blocks = newBlocks;
        rulesChanged = false;
        updater = adapter.ferryUpdater(ferry, newBlocks, memory.stateArray());
        if (fresh) {
            UpdaterState.initialise(updater);
        }
        steps.rules(new HostUpdate(updater, blocks, updateEngine, new Region[] {memory.parameters(), memory.gradients(), memory.state()},
                ElementType.of(memory.type()), adapter.defaultConfiguration().isMiniBatch(), updateUnits), network);
        accumulator = new FerryAccumulator(ferry);
        adapter.setUpdater(updater);
        adapter.setAccumulator(accumulator);
        ferry.rulesReplaced();
    }

    /** Adds our listener to the network's. */
    void listen(TrainingListener ours) {
        listener = ours;
        steps.ours(ours);
        if (!adapter.listeners().contains(ours)) {
            adapter.addListener(ours);
        }
    }

    /** Puts our listener back, in front: those behind it then see gradients where they stay. Not to be called by a listener. */
    void listenFirst() {
        Collection<TrainingListener> present = adapter.listeners();
        if (!present.isEmpty() && present.iterator().next() == listener) {
            return;
        }
        List<TrainingListener> all = new ArrayList<>();
        all.add(listener);
        for (TrainingListener other : present) {
            if (other != listener) {
                all.add(other);
            }
        }
        adapter.setListeners(all);
    }

    /**
     * Puts updater, accumulator and listener back where DL4J dropped them ({@code net.clear()}, {@code setUpdater},
     * {@code setLearningRate}), with what DL4J put in their place: a new updater's state is adopted, no updater means a new state, as
     * it does in DL4J. Done when a pass begins and not before: in between DL4J may be half way through exchanging its updater.
     *
     * @throws RefusedException if the user has set a gradients accumulator
     */
    void heal() {
        GradientsAccumulator foreign = foreignAccumulator();
        if (foreign != null && ferry.isOpen()) {
            throw new RefusedException("the attached network was given a gradients accumulator (" + foreign.getClass().getName()
                    + "): gradient accumulation and gradient sharing between workers are not served. Call "
                    + "setGradientsAccumulator(null), or close the ferry first and train with plain DL4J.");
        }
        reinstall();
    }

    /** A user's own accumulator; null if there is none. */
    GradientsAccumulator foreignAccumulator() {
        GradientsAccumulator present = adapter.solver() == null ? null : adapter.solver().getOptimizer().getGradientsAccumulator();
        return present instanceof FerryAccumulator ? null : present;
    }

    /** Whether there is nothing to put back. */
    boolean isComplete() {
        return installing || !ferry.isOpen() || updater != null && adapter.updater() == updater && !rulesChanged
                && adapter.solver().getOptimizer().getGradientsAccumulator() == accumulator;
    }

    /** As {@link #heal()}, whatever accumulator the user has set. */
    void reinstall() {
        if (isComplete()) {
            return;
        }
        BaseMultiLayerUpdater<?> present = adapter.updater();
        if (present == updater && rulesChanged) {
            layOutAnew();
            return;
        }
        if (present == null) {
            LOG.warn("the network's updater was dropped (clear() or setUpdater(null)): as in DL4J its state starts anew at iteration {}",
                    adapter.iteration());
        } else if (present != updater) {
            LOG.debug("the network's updater was replaced: its state is adopted");
        }
        INDArray newState = present == null || present == updater ? null : present.getStateViewArray();
        memory.resizeState(UpdaterState.count(units));
        INDArray state = memory.stateArray();
        if (newState != null && state != null) {
            state.assign(newState.reshape(state.shape()));
        }
        // The array that was adopted from may be a user's: it is not closed.
        install(makeBlocks(), newState == null && present != updater);
    }

    /** See {@link Ferry#setLearningRate}. */
    void setLearningRate(double learningRate) {
        heal();
        for (NetworkUnit unit : units) {
            Object conf = unit.layer == null ? null : unit.layer.conf().getLayer();
            IUpdater rule = conf instanceof BaseLayer ? ((BaseLayer) conf).getIUpdater() : null;
            if (rule != null && rule.hasLearningRate()) {
                rule.setLrAndSchedule(learningRate, null);
            }
        }
        rulesChanged = true;
        layOutAnew();
    }

    /** Makes the updater's blocks anew, as the configuration has them now; the moments of a parameter stay with it. */
    private void layOutAnew() {
        HostBlocks now = makeBlocks();
        BlockLayout before = blocks.layout();
        if (memory.stateArray() == null || before.equals(now.layout())) {
            install(now, false);
            return;
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray copy = memory.stateArray().dup();
            install(now, false);
            UpdaterState.relayout(before, copy, now.layout(), memory.stateArray());
            FerryMemory.closeOrdinary(copy);
        }
    }

    /**
     * DL4J reads the updater's state.
     *
     * @throws RefusedException if it is about to put an updater of its own in place of one that is too large for it; our updater stays
     */
    void stateIsRead() {
        if (ferry.isOpen() && !blocks.layout().fitsDl4j() && CallerCheck.updaterIsReplaced()) {
            rulesChanged = true;
            Support.refuseToReplace(blocks.layout());
        }
    }

    /** Takes our listener out of the network. */
    void stopListening() {
        List<TrainingListener> rest = new ArrayList<>(adapter.listeners());
        if (rest.removeIf(l -> l instanceof PhaseListener && l == listener)) {
            adapter.setListeners(rest);
        }
    }

    BaseMultiLayerUpdater<?> updater() {
        return updater;
    }

    HostBlocks blocks() {
        return blocks;
    }

    TrainingListener listener() {
        return listener;
    }
}
