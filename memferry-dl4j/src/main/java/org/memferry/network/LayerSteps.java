package org.memferry.network;

import org.memferry.base.MemFerryException;
import org.memferry.device.Device;
import org.memferry.device.Ticket;
import org.memferry.engine.GradientListener;

import java.util.Arrays;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;

/**
 * Takes the optimizer's steps layer by layer on a thread of its own: each as soon as the layer's gradient is in host memory, in the order
 * in which backward leaves the layers, while backward goes on. Nothing is allocated per iteration.
 *
 * <p>A step once begun cannot be taken back. An iteration that is given up after one leaves the network {@link #isTorn() torn}: some layers
 * are a step ahead of the others.
 */
final class LayerSteps implements GradientListener, AutoCloseable {

    private final Device device;
    private final IntConsumer step;
    private final IntPredicate early;
    private final Thread thread;

    // All below is guarded by this object's monitor.
    private final int[] queue;
    /** Per layer: done once its gradient of this iteration is in host memory; null if backward has not left it. */
    private final Ticket[] arrived;
    private final boolean[] claimed;
    private int submitted;
    private int taken;
    private boolean beside;
    private boolean open;
    private boolean torn;
    private boolean stopping;
    private Throwable failure;
    private final long[] nanos;

    /**
     * Starts the thread.
     *
     * @param device where tickets are waited for
     * @param layers number of layers
     * @param early  whether a layer's step may be taken while backward goes on
     * @param step   takes the step of a layer, called on the thread
     */
    LayerSteps(Device device, int layers, IntPredicate early, IntConsumer step) {
        this.device = device;
        this.early = early;
        this.step = step;
        this.queue = new int[layers];
        this.arrived = new Ticket[layers];
        this.claimed = new boolean[layers];
        this.nanos = new long[layers];
        this.thread = new Thread(this::serve, "memferry-steps");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * An iteration begins.
     *
     * @param whileBackward whether steps may be taken before the gradients of all layers are there
     * @return false if the iteration before was given up after a step, now or earlier
     */
    synchronized boolean open(boolean whileBackward) {
        drain();
        torn = isTorn();
        submitted = 0;
        taken = 0;
        failure = null;
        Arrays.fill(claimed, false);
        Arrays.fill(arrived, null);
        beside = whileBackward;
        open = true;
        return !torn;
    }

    @Override
    public boolean coming(int layer, Ticket gradient) {
        // Asked without the monitor, since the answer may take a norm.
        boolean now = isBeside() && early.test(layer);
        synchronized (this) {
            arrived[layer] = gradient;
            if (now) {
                submit(layer);
            }
        }
        return now;
    }

    private synchronized boolean isBeside() {
        return open && beside;
    }

    /** Queues the step of a layer that backward has left, if it is not queued yet: nobody reads its parameters in this iteration any more. */
    synchronized void submit(int layer) {
        if (arrived[layer] != null && !claimed[layer]) {
            claimed[layer] = true;
            queue[submitted++] = layer;
            notifyAll();
        }
    }

    /** True if the step of a layer was queued in this iteration. */
    synchronized boolean isClaimed(int layer) {
        return claimed[layer];
    }

    /** True if the steps of all these layers were queued in this iteration. */
    synchronized boolean areAllClaimed(int[] layers) {
        for (int layer : layers) {
            if (!claimed[layer]) {
                return false;
            }
        }
        return true;
    }

    /**
     * Blocks until every queued step is taken.
     *
     * @throws MemFerryException if one failed: the network is torn
     */
    synchronized void await() {
        drain();
        if (failure != null) {
            throw new MemFerryException("the optimizer's step failed while backward was going on: " + failure + ". " + advice(), failure);
        }
    }

    /** The iteration is complete: nothing of it can be given up any more. */
    synchronized void complete() {
        open = false;
    }

    /** How long the last step of a layer took, in nanoseconds; right after {@link #await}. */
    synchronized long nanos(int layer) {
        return nanos[layer];
    }

    /** True if a step of this iteration was taken or will be. */
    synchronized boolean hasBegun() {
        return submitted > 0;
    }

    /** True if some layers are a step ahead of others, for good; asked between two iterations. */
    synchronized boolean isTorn() {
        return torn || open && submitted > 0;
    }

    /** What to do with a torn network. */
    static String advice() {
        return "Some layers have taken the step of that iteration and others have not, so its parameters are of no single iteration. Close "
                + "the ferry and go on from your last checkpoint (MemFerry.restoreMultiLayerNetwork or restoreComputationGraph), or attach "
                + "with eagerUpdate(false), where an iteration that is given up changes nothing.";
    }

    /** Blocks until the steps that were queued are taken or have failed. */
    synchronized void drain() {
        boolean interrupted = false;
        while (taken < submitted) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve() {
        int layer = next();
        while (layer >= 0) {
            try {
                awaitGradient();
                long start = System.nanoTime();
                step.accept(layer);
                nanos[layer] = System.nanoTime() - start;
            } catch (Throwable e) {
                // Kept for the training thread, which throws it at the barrier.
                failed(e);
            }
            done();
            layer = next();
        }
    }

    private synchronized int next() {
        while (taken == submitted && !stopping) {
            try {
                wait();
            } catch (InterruptedException e) {
                // Nobody but close() ends this thread.
            }
        }
        return taken == submitted ? -1 : queue[taken];
    }

    private void awaitGradient() {
        Ticket gradient;
        synchronized (this) {
            gradient = arrived[queue[taken]];
        }
        device.hostWaits(gradient);
    }

    private synchronized void failed(Throwable e) {
        torn = true;
        if (failure == null) {
            failure = e;
        }
    }

    private synchronized void done() {
        taken++;
        notifyAll();
    }

    /** Ends the thread once the steps that were queued are taken. */
    @Override
    public void close() {
        synchronized (this) {
            stopping = true;
            notifyAll();
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
