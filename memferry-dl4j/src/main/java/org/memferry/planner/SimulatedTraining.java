package org.memferry.planner;

import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.AccessTrace;
import org.memferry.engine.GradientListener;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.Program;
import org.memferry.engine.ReplayListener;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.UpdateTiming;

import java.util.Arrays;

/** Stands in for the network and the optimizer around an engine on a virtual device: raises the events and lets the steps take time. */
final class SimulatedTraining implements GradientListener, ReplayListener, AutoCloseable {

    private final Plan plan;
    private final NetworkDescription network;
    private final Profile profile;
    private final SimulationLog log;
    private final VirtualDevice device;
    private final Region master;
    private final Region gradients;
    private final Region slab;
    private final IterationEngine engine;
    private final int[] forwardOrder;
    private final int[] backwardOrder;
    /** Per layer of the present iteration: done once its gradient is on the host; null if it has none. */
    private final Ticket[] arrived;
    /** Per layer of the present iteration: the worker takes its step. */
    private final boolean[] given;
    private long updateWaitNanos;
    private Simulation.Builder replayed;

    SimulatedTraining(Plan plan, Profile profile) {
        this.plan = plan;
        this.network = plan.network();
        this.profile = profile;
        this.log = new SimulationLog(network);
        LinkRates rates = LinkRates.of(profile.bytesPerSecondToDevice(), profile.bytesPerSecondToHost())
                .shares(profile.readShare(), profile.writeShare());
        this.device = new VirtualDevice(Math.max(1, plan.slabBytes()), rates, new ProfileCosts(plan, profile), log);
        this.master = device.allocateHost(network.parameterBytes(), "parameters");
        this.gradients = device.allocateHost(network.parameterBytes(), "gradients");
        this.slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
        this.engine = new IterationEngine(Program.compile(plan), device, master, gradients, slab, (layer, slot) -> { }, this);
        this.forwardOrder = network.forwardOrder();
        this.backwardOrder = network.backwardOrder();
        this.arrived = new Ticket[network.layers().size()];
        this.given = new boolean[network.layers().size()];
    }

    /** One iteration in the network's order, and what lies between it and the next. */
    void iterate() {
        passBegins();
        engine.openTraining();
        for (int layer : forwardOrder) {
            engine.read(layer);
        }
        engine.forwardEnded();
        for (int layer : backwardOrder) {
            engine.read(layer);
        }
        stepsBegin();
        for (int layer = 0; layer < arrived.length; layer++) {
            if (arrived[layer] != null) {
                engine.stepTaken(layer);
            }
        }
        engine.closeTraining();
        device.hostBusy(profile.betweenNanos());
    }

    /** All events of a trace, once. Returns its last training iteration that was closed, null if it has none. */
    Simulation.Builder replay(AccessTrace trace) {
        replayed = null;
        trace.replay(engine, this);
        return replayed;
    }

    /**
     * The copies under way, in order, with what each still takes. Equal at the ends of two iterations they say that what follows is the
     * same: copies of gradients and steps are done by then, and slots hold the same layers. Their sum would not do: a link that is never
     * idle owes the same in another order.
     */
    long[] pending() {
        return device.pending(Direction.TO_DEVICE);
    }

    /** Virtual time. */
    long nowNanos() {
        return device.nowNanos();
    }

    /** The iteration run last. */
    Simulation.Builder result() {
        long activations = Simulator.activationBytes(plan.budget(), profile);
        long slabBytes = device.metrics().peakSlabBytes();
        return log.result(device.nowNanos(), device.metrics(), updateWaitNanos).device(slabBytes, Math.addExact(slabBytes, activations));
    }

    // ------------------------------------------------------------------------------------------------------------------ steps

    /** A step that is still under way belongs to the pass before. */
    @Override
    public void passBegins() {
        device.awaitUpdates();
        Arrays.fill(arrived, null);
        Arrays.fill(given, false);
        updateWaitNanos = 0;
        log.begin(device.nowNanos(), device.metrics());
    }

    @Override
    public boolean coming(int layer, Ticket ticket) {
        if (network.layers().get(layer).gradientCount() == 0) {
            return false;
        }
        arrived[layer] = ticket;
        boolean early = plan.updateTiming() == UpdateTiming.EAGER && !network.layers().get(layer).readAfterBackward();
        if (early) {
            giveToWorker(layer);
        }
        return early;
    }

    private void giveToWorker(int layer) {
        given[layer] = true;
        device.update(layer, profile.layers().get(layer).updateNanos(), arrived[layer], engine::updated);
    }

    /** All steps of the iteration are done when this returns. */
    @Override
    public void stepsBegin() {
        engine.backwardEnded();
        if (plan.updateTiming() == UpdateTiming.EAGER) {
            for (int layer : backwardOrder) {
                giveRest(layer);
            }
        }
        engine.awaitGradients();
        if (plan.updateTiming() == UpdateTiming.IN_CHUNKS) {
            // The next forward needs the first layers first.
            for (int i = backwardOrder.length - 1; i >= 0; i--) {
                giveRest(backwardOrder[i]);
            }
        }
        updateWaitNanos += device.awaitUpdates();
        stepRestAtOnce();
    }

    private void giveRest(int layer) {
        if (arrived[layer] != null && !given[layer]) {
            giveToWorker(layer);
        }
    }

    private void stepRestAtOnce() {
        long nanos = 0;
        for (int layer = 0; layer < arrived.length; layer++) {
            nanos = Math.addExact(nanos, arrived[layer] == null || given[layer] ? 0 : profile.layers().get(layer).updateNanos());
        }
        device.hostBusy(nanos);
        updateWaitNanos += nanos;
    }

    @Override
    public void closed() {
        device.hostBusy(profile.betweenNanos());
        replayed = result();
    }

    @Override
    public void close() {
        engine.close();
        if (slab != null) {
            slab.close();
        }
        gradients.close();
        master.close();
        device.close();
    }
}
