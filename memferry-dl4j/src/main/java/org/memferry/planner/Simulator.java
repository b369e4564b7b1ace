package org.memferry.planner;

import org.memferry.device.LinkRates;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.AccessTrace;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

import java.util.Arrays;

/**
 * Predicts what an iteration takes under a plan: the engine itself runs the plan on a {@link VirtualDevice}, driven by the events that a
 * training iteration raises, until iterations repeat themselves. Mostly each is like the one before; under some plans a few take turns,
 * and their mean is the step. There is no second model to keep in step.
 *
 * <p>What is beside the engine follows {@link UpdateTiming}. With {@code EAGER} a layer's step is given to the update worker when backward
 * has left it, that of {@linkplain LayerDescription#readAfterBackward() a layer read after backward} when backward is over.
 * {@code IN_CHUNKS} gives all steps to the worker, first layers first, once all gradients are on the host. {@code AFTER_BACKWARD} and
 * {@code WHOLE} let the training thread take one step that lasts the sum of all. The iteration ends when all steps are taken. What the
 * profile puts between iterations passes after that; copies go on beside it.
 *
 * <p>Equal input gives equal results.
 */
public final class Simulator {

    /** Most rounds simulated before they are taken as they are. */
    private static final int MAX_ROUNDS = 24;

    private Simulator() {
    }

    /**
     * Simulates iterations that read every layer of the network in its order.
     *
     * @param plan    what to do; of any strategy but {@link Strategy#NONE}
     * @param profile the times of the plan's network
     * @return an iteration in steady state
     * @throws IllegalArgumentException if the profile is of another number of layers, or the strategy is NONE
     */
    public static Simulation simulate(Plan plan, Profile profile) {
        try (SimulatedTraining training = open(plan, profile)) {
            Rounds rounds = new Rounds();
            while (rounds.isAnotherNeeded()) {
                training.iterate();
                rounds.ended(training);
            }
            return training.result().step(rounds.meanNanos()).steady(rounds.areSteady()).build();
        }
    }

    /**
     * Simulates what a network was seen to do, again and again until a run through the trace ends as an earlier one did.
     *
     * @param plan    what to do, as above; need not be the plan that was recorded
     * @param profile the times of the plan's network
     * @param trace   recorded on any device
     * @return the last training iteration of the trace
     * @throws IllegalArgumentException as above, or if the trace holds no training iteration that was closed
     */
    public static Simulation simulate(Plan plan, Profile profile, AccessTrace trace) {
        try (SimulatedTraining training = open(plan, profile)) {
            Rounds rounds = new Rounds();
            Simulation.Builder result = null;
            while (rounds.isAnotherNeeded()) {
                result = training.replay(trace);
                rounds.ended(training);
            }
            if (result == null) {
                throw new IllegalArgumentException("access trace of " + trace.reads() + " reads: no training iteration was closed in it"
                        + " (expected: at least one from T to C)");
            }
            return result.steady(rounds.areSteady()).build();
        }
    }

    /** Iterations, or runs through a trace, until one leaves as much under way as an earlier one did: from there on they repeat themselves. */
    private static final class Rounds {

        private final long[] endNanos = new long[MAX_ROUNDS];
        private final long[][] pending = new long[MAX_ROUNDS][];
        private int count;
        /** The latest round that ended as the last one did; -1 if none. */
        private int alike = -1;

        boolean isAnotherNeeded() {
            return alike < 0 && count < MAX_ROUNDS;
        }

        void ended(SimulatedTraining training) {
            pending[count] = training.pending();
            for (int i = 0; i < count; i++) {
                alike = Arrays.equals(pending[i], pending[count]) ? i : alike;
            }
            endNanos[count] = training.nowNanos();
            count++;
        }

        boolean areSteady() {
            return alike >= 0;
        }

        /** Of the rounds that take turns; of all but the first, which begins with nothing on the device, if none are known to. */
        long meanNanos() {
            int from = Math.max(0, alike);
            return Math.round((double) (endNanos[count - 1] - endNanos[from]) / (count - 1 - from));
        }
    }

    private static SimulatedTraining open(Plan plan, Profile profile) {
        if (plan.strategy() == Strategy.NONE) {
            throw new IllegalArgumentException("strategy NONE takes its step on the device (expected: Simulator.stock, with its time)");
        }
        checkLayers(plan.network(), profile);
        return new SimulatedTraining(plan, profile);
    }

    static void checkLayers(NetworkDescription network, Profile profile) {
        if (profile.layers().size() != network.layers().size()) {
            throw new IllegalArgumentException("profile " + profile.key() + " of " + profile.layers().size() + " layers for a network of "
                    + network.layers().size());
        }
    }

    /**
     * Simulates stock training ({@link Strategy#NONE}): everything on the device, the step there, nothing copied.
     *
     * @param network   what is trained
     * @param profile   its times; those of steps are the host's and not used
     * @param budget    says what the activations take
     * @param stepNanos the optimizer's step of all layers on the device: the bytes it reads and writes over the device's bandwidth
     * @throws IllegalArgumentException if the profile is of another number of layers
     */
    public static Simulation stock(NetworkDescription network, Profile profile, Budget budget, long stepNanos) {
        checkLayers(network, profile);
        SimulationLog log = new SimulationLog(network);
        VirtualDevice device = new VirtualDevice(1, LinkRates.UNLIMITED, (layer, backward) -> backward
                ? profile.layers().get(layer).backwardNanos() : profile.layers().get(layer).forwardNanos(), log);
        try (device) {
            for (int layer : network.forwardOrder()) {
                device.visitStarted(layer, false, 0, 0);
                device.visitEnded();
            }
            for (int layer : network.backwardOrder()) {
                device.visitStarted(layer, true, 0, 0);
                device.visitEnded();
            }
            device.hostBusy(Math.addExact(stepNanos, profile.betweenNanos()));
            long bytes = Math.addExact(Math.multiplyExact(2L, network.parameterBytes()), network.updaterStateBytes());
            return log.result(device.nowNanos(), device.metrics(), stepNanos)
                    .device(bytes, Math.addExact(bytes, activationBytes(budget, profile))).build();
        }
    }

    /** What the budget sets aside for activations; what the profile saw where no estimate could be made. */
    static long activationBytes(Budget budget, Profile profile) {
        return budget.activationsKnown() ? budget.activationBytes()
                : profile.layers().stream().mapToLong(LayerProfile::activationBytes).sum();
    }
}
