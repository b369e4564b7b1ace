package org.memferry.engine;

import org.memferry.base.MemFerryException;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.TimelineListener;
import org.memferry.plan.LayerDescription;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a {@link Program} on a {@link Device}, driven by access events: iteration opened, layer read, layer computed, forward ended,
 * backward ended, gradients awaited, iteration closed. Between these calls it starts copies as early as the slots allow, lets the computation wait for
 * the one it needs, and brings each gradient to the host when its layer has been left.
 *
 * <p>What a slot holds is tagged with the version of the master it was copied from. A visit only ever sees a slot of its own layer with
 * the present version: anything else is copied again first. Nothing is allocated after construction.
 *
 * <p>All methods are called by the thread that opened the iteration, with two exceptions: {@link #masterWritten()} by any thread, and
 * {@link #updated(int)} by the thread that takes the optimizer's steps while backward goes on. One lock orders these; it is given back
 * wherever the training thread stands still, so that copies behind a step start at once.
 */
public final class IterationEngine implements AutoCloseable {

    /** What the network is doing, as far as the engine was told. */
    public enum Phase {
        /** Nothing of ours is running. */
        IDLE,
        /** An inference pass; nobody says when it ends. */
        INFERENCE,
        /** Forward pass of training. */
        FORWARD,
        /** Backward pass of training. */
        BACKWARD,
        /** Between the backward pass and the end of the iteration: score, listeners, update. */
        UPDATE
    }

    private static final Logger LOG = LoggerFactory.getLogger(IterationEngine.class);

    private final Program program;
    private final Device device;
    private final Region master;
    private final Region gradients;
    private final Region slab;
    private final VisitListener listener;
    private final GradientListener gradientListener;
    private final ReentrantLock lock = new ReentrantLock();
    private EngineMetrics metrics = new EngineMetrics();

    private final int[] slotLayer;
    private final long[] slotVersion;
    private final int[] slotLeases;
    private final boolean[] slotRestaged;
    /** Read outside of a visit since it was filled: nothing has been recorded behind these reads yet. */
    private final boolean[] slotReadOutside;
    private final Ticket[] slotReady;
    private final Ticket[] slotLeft;
    private final Ticket[][] afterLeft;
    /** Per gradient slot: the copy that took the last gradient away; the ticket of the layer it was of. */
    private final Ticket[] gradientGone;
    /** Per layer: its gradient of the iteration is in the host gradients. */
    private final Ticket[] gradientArrived;

    private final AtomicLong networkVersion = new AtomicLong();
    private final AtomicLongArray layerVersion;

    private Phase phase = Phase.IDLE;
    private Pass pass;
    private int current = -1;
    private boolean inside;
    /** The visit's computation is over and its slots are given back, but nobody has entered the next layer yet. */
    private boolean trailing;
    /** Computed in the present visit before its slots were given back. */
    private long computedNanos;
    /** The present visit holds a lease of its slot. */
    private boolean leased;
    /** The computation of the present visit has been let wait for its slot: it may have been read. */
    private boolean served;
    private int nextCopy;
    private boolean gradientsPending;
    private final boolean[] gradientTaken;
    /** Per layer: the optimizer's step of this iteration has been taken and said so. */
    private final boolean[] stepped;
    /** Per layer: its step is taken by itself, so that its parameters may change at any time. */
    private final boolean[] stepClaimed;
    private volatile AccessTrace trace = AccessTrace.OFF;
    private VisitClock clock = VisitClock.OFF;
    private volatile TimelineListener timeline = TimelineListener.NONE;
    private long visitStart;

    /**
     * @param program   what to do
     * @param device    where
     * @param master    host parameters
     * @param gradients host gradients, same layout
     * @param slab      device memory of at least the program's slots; null if it has none
     * @param listener  told when a layer has been left
     */
    public IterationEngine(Program program, Device device, Region master, Region gradients, Region slab, VisitListener listener) {
        this(program, device, master, gradients, slab, listener, GradientListener.NONE);
    }

    /**
     * As above, with somebody who takes steps as gradients arrive.
     *
     * @param gradientListener told when a gradient is on its way to the host
     */
    public IterationEngine(Program program, Device device, Region master, Region gradients, Region slab, VisitListener listener,
            GradientListener gradientListener) {
        this.program = program;
        this.device = device;
        this.master = master;
        this.gradients = gradients;
        this.slab = slab;
        this.listener = listener;
        this.gradientListener = gradientListener;
        int slots = program.slots();
        this.slotLayer = new int[slots];
        Arrays.fill(slotLayer, -1);
        this.slotVersion = new long[slots];
        this.slotLeases = new int[slots];
        this.slotRestaged = new boolean[slots];
        this.slotReadOutside = new boolean[slots];
        this.slotReady = new Ticket[slots];
        this.slotLeft = new Ticket[slots];
        this.afterLeft = new Ticket[slots][];
        this.gradientGone = new Ticket[slots];
        for (int i = 0; i < slots; i++) {
            slotReady[i] = device.newTicket();
            slotLeft[i] = device.newTicket();
            afterLeft[i] = new Ticket[] {slotLeft[i]};
            gradientGone[i] = device.newTicket();
        }
        this.layerVersion = new AtomicLongArray(program.plan().layers().size());
        int layers = program.plan().layers().size();
        this.gradientTaken = new boolean[layers];
        this.stepped = new boolean[layers];
        this.stepClaimed = new boolean[layers];
        this.gradientArrived = new Ticket[layers];
        for (int i = 0; i < layers; i++) {
            gradientArrived[i] = device.newTicket();
        }
        this.pass = program.training();
    }

    /** What the network is doing. */
    public Phase phase() {
        return phase;
    }

    /** Counters. */
    public EngineMetrics metrics() {
        return metrics;
    }

    /** Goes on with the counters of another engine, which this one takes the place of. */
    public void goOnFrom(EngineMetrics counters) {
        metrics = counters;
    }

    /** The program this engine runs. */
    public Program program() {
        return program;
    }

    /**
     * Records the access events from the next opened pass on.
     *
     * @param recorder an empty trace of as many layers as the plan has; {@link AccessTrace#OFF} to stop
     */
    public void record(AccessTrace recorder) {
        trace = recorder;
    }

    /** Measures visits from now on, in the way that the clock wants now; {@link VisitClock#OFF} to stop. */
    public void measure(VisitClock visits) {
        clock = visits;
        device.timeVisits(visits.isExact());
    }

    /** Lets somebody know of every training visit once it is over; {@link TimelineListener#NONE} to stop. */
    public void watchVisits(TimelineListener listener) {
        timeline = listener;
    }

    /** A training iteration begins: copies for its first layers start. */
    public void openTraining() {
        lock.lock();
        try {
            begin(Phase.FORWARD, program.training());
            trace.training();
        } finally {
            lock.unlock();
        }
    }

    /** An inference pass begins. */
    public void openInference() {
        lock.lock();
        try {
            begin(Phase.INFERENCE, program.inference());
            metrics.inferencePasses++;
            trace.inference();
        } finally {
            lock.unlock();
        }
    }

    /** Whatever was running is over, completed or not; nothing of ours is running any more. */
    public void abort() {
        lock.lock();
        try {
            if (phase != Phase.IDLE) {
                trace.aborted();
            }
            giveUp();
        } finally {
            lock.unlock();
        }
    }

    private void giveUp() {
        if (phase == Phase.IDLE) {
            return;
        }
        if (phase != Phase.INFERENCE) {
            metrics.abortedPasses++;
        }
        leave(false);
        releaseRestaged();
        current = -1;
        // A gradient on its way must not run over what somebody writes to the host gradients next.
        awaitCopiesToHost();
        phase = Phase.IDLE;
    }

    private void begin(Phase next, Pass what) {
        giveUp();
        phase = next;
        pass = what;
        current = -1;
        nextCopy = 0;
        Arrays.fill(gradientTaken, false);
        Arrays.fill(stepped, false);
        Arrays.fill(stepClaimed, false);
        issueCopies();
    }

    /**
     * The computation reads parameters of a layer: enters it if it is not there yet.
     *
     * @param layer index of the layer
     * @return the slot to read from, ready for the compute stream, or {@link Program#MASTER}
     * @throws IllegalStateException if no pass was opened
     */
    public int read(int layer) {
        lock.lock();
        try {
            trace.read(layer);
            return serve(layer);
        } finally {
            lock.unlock();
        }
    }

    private int serve(int layer) {
        if (current >= 0 && inside && pass.visits[current].layer == layer) {
            return refreshed(pass.visits[current]);
        }
        if (trailing && pass.visits[current].layer == layer && !pass.visits[current].backward) {
            return goneBack(pass.visits[current]);
        }
        if (phase == Phase.IDLE) {
            throw new IllegalStateException("layer " + name(layer) + " is read outside of a pass (expected: openTraining or openInference"
                    + " before the first read)");
        }
        int next = phase == Phase.UPDATE ? -1 : pass.next(layer, current + 1, lastReadable());
        if (next < 0) {
            return unplanned(layer);
        }
        enter(next);
        return refreshed(pass.visits[current]);
    }

    /**
     * A forward visit whose slot was given back goes on all the same: somebody reads behind the end that was told. What has been copied to the
     * slot since is copied again when it is its turn. A backward visit does not: its gradient is on its way, and its step may be.
     */
    private int goneBack(Visit v) {
        inside = true;
        trailing = false;
        lease(v);
        return refreshed(v);
    }

    /** Backward visits are out of reach until forward has ended: a pass that never gets there must not take gradients. */
    private int lastReadable() {
        return phase == Phase.FORWARD ? pass.firstBackward : pass.visits.length;
    }

    private int unplanned(int layer) {
        boolean earlier = (phase == Phase.INFERENCE || phase == Phase.FORWARD) && pass.next(layer, 0, lastReadable()) >= 0;
        if (earlier) {
            // A forward pass begins anew without having said that the last one ended.
            begin(phase, pass);
            return serve(layer);
        }
        if (phase != Phase.UPDATE) {
            metrics.unplannedReads++;
        }
        if (stepClaimed[layer]) {
            throw new MemFerryException("layer " + name(layer) + " is read again after backward has left it, but its step of this iteration is "
                    + "being taken: the reader would see the next iteration's parameters. Attach with eagerUpdate(false).");
        }
        int resident = program.residentSlot(layer);
        if (resident != Program.MASTER && holds(resident, layer)) {
            computeWaits(slotReady[resident]);
            slotReadOutside[resident] = true;
            return resident;
        }
        return Program.MASTER;
    }

    private void enter(int next) {
        leave(true);
        visitStart = clock == VisitClock.OFF && timeline == TimelineListener.NONE ? 0 : System.nanoTime();
        // Visits in between ran without reading a parameter: what they need done is done now.
        for (int i = current + 1; i < next; i++) {
            passOver(pass.visits[i]);
        }
        current = next;
        inside = true;
        issueCopies();
        Visit v = pass.visits[current];
        lease(v);
        if (v.gradientSlot >= 0) {
            computeWaits(gradientGone[v.gradientSlot]);
            device.released(slab, program.slotOffset(v.gradientSlot), program.slotBytes(v.gradientSlot));
        }
        device.visitStarted(v.layer, v.backward, v.readBytes, v.writtenBytes);
    }

    private void lease(Visit v) {
        if (v.slot >= 0) {
            slotLeases[v.slot]++;
            leased = true;
            served = false;
        }
    }

    /** Gives the lease back, if there is one. What overwrites the slot does so on the compute stream, and the next copy comes after both. */
    private void release(Visit v, boolean forGood) {
        if (!leased) {
            return;
        }
        leased = false;
        slotLeases[v.slot]--;
        if (forGood) {
            slotLayer[v.slot] = -1;
        }
        try {
            if (forGood && served) {
                device.released(slab, program.slotOffset(v.slot), program.slotBytes(v.slot));
            }
        } finally {
            device.recordCompute(slotLeft[v.slot]);
        }
    }

    /** A visit that was never entered: its slot is free; a gradient in a slot it would have shared cannot have been written. */
    private void passOver(Visit v) {
        if (v.slot >= 0 && v.lastUse && !program.isResident(v.slot)) {
            device.recordCompute(slotLeft[v.slot]);
        }
    }

    /**
     * The computation of the present layer has ended: its slots are given back, so that the copies that wait for them start, and in backward
     * its gradient is complete, although nobody has entered another layer yet. Does nothing if that is known already, or between passes.
     *
     * <p>What is computed until another layer is entered (layers without parameters) still counts as time of this layer. A profile has times
     * for layers with parameters alone: elsewhere that time would fall between two iterations, where nothing waits for it, and a simulated
     * step would let all copies run beside it at once. As it is, a simulated slot is free only when those layers are done, later than here:
     * the simulation has the right sum, and promises no overlap that is not there.
     *
     * <p>Not part of an {@link AccessTrace}: a replay computes nothing between two reads, and learns the same from the next one.
     */
    public void computed() {
        lock.lock();
        try {
            if (inside && phase != Phase.IDLE && phase != Phase.UPDATE) {
                Visit v = pass.visits[current];
                metrics.endsTold++;
                computedNanos += visitEnded();
                giveBack(v, true);
                trailing = true;
                device.visitStarted(v.layer, v.backward, 0, 0);
                issueCopies();
            }
        } finally {
            lock.unlock();
        }
    }

    private void leave(boolean takeGradient) {
        if (!inside && !trailing) {
            return;
        }
        endVisit();
        if (inside) {
            giveBack(pass.visits[current], takeGradient);
        }
        trailing = false;
    }

    private void giveBack(Visit v, boolean takeGradient) {
        inside = false;
        listener.left(v.layer, v.slot);
        release(v, v.lastUse && v.slot >= 0 && !program.isResident(v.slot));
        boolean taken = v.backward && v.gradientSlot != Program.NONE && takeGradient;
        if (taken) {
            takeGradient(v);
        }
        if (taken) {
            // Last, since the step may be over before this returns, and start a copy to the slot.
            stepClaimed[v.layer] = tell(v.layer, gradientArrived[v.layer]);
        }
    }

    private void takeGradient(Visit v) {
        Ticket arrived = gradientArrived[v.layer];
        if (v.gradientSlot == Program.MASTER) {
            device.recordCompute(arrived);
        } else {
            copyGradient(v, arrived);
        }
        gradientTaken[v.layer] = true;
        gradientsPending = true;
    }

    private void copyGradient(Visit v, Ticket arrived) {
        LayerDescription layer = program.plan().network().layers().get(v.layer);
        device.recordCompute(slotLeft[v.gradientSlot]);
        if (layer.gradientCount() > 0) {
            device.copyToHost(slab, program.slotOffset(v.gradientSlot), gradients, byteOffset(layer), layer.gradientBytes(),
                    afterLeft[v.gradientSlot], arrived);
            gradientGone[v.gradientSlot] = arrived;
        } else {
            device.recordCompute(arrived);
        }
    }

    /** Starts every copy whose slot is free by now, in the order of need. */
    private void issueCopies() {
        int left = inside ? current - 1 : current;
        while (nextCopy < pass.copies.length && pass.copies[nextCopy].afterVisit <= left) {
            Copy c = pass.copies[nextCopy++];
            if (c.visit >= current && !holds(c.slot, c.layer)) {
                copyParameters(c.layer, c.slot);
            }
        }
    }

    private boolean holds(int slot, int layer) {
        return slotLayer[slot] == layer && slotVersion[slot] == version(layer);
    }

    private void copyParameters(int layer, int slot) {
        if (slotLeases[slot] != 0) {
            throw new IllegalStateException("slot " + slot + " is still leased (" + slotLeases[slot] + ") by layer "
                    + name(slotLayer[slot]) + " and cannot take layer " + name(layer));
        }
        if (slotReadOutside[slot]) {
            // The loss or a listener read the slot after its visit had been left: the copy must not overtake them.
            slotReadOutside[slot] = false;
            device.recordCompute(slotLeft[slot]);
        }
        slotRestaged[slot] = false;
        LayerDescription d = program.plan().network().layers().get(layer);
        long version = version(layer);
        // Should the device refuse the copy, the slot holds nothing.
        slotLayer[slot] = -1;
        device.copyToDevice(master, byteOffset(d), slab, program.slotOffset(slot), d.parameterBytes(), afterLeft[slot],
                slotReady[slot]);
        slotLayer[slot] = layer;
        slotVersion[slot] = version;
        metrics.parameterCopies++;
    }

    /** The slot of the present visit, holding the present version. */
    private int refreshed(Visit v) {
        if (v.slot < 0) {
            return Program.MASTER;
        }
        if (!holds(v.slot, v.layer)) {
            metrics.repeatedCopies++;
            release(v, false);
            copyParameters(v.layer, v.slot);
            lease(v);
        }
        computeWaits(slotReady[v.slot]);
        served = true;
        return v.slot;
    }

    /** True while the computation stays in this layer, so that a read of it is nothing new. */
    public boolean isIn(int layer) {
        return current >= 0 && inside && pass.visits[current].layer == layer;
    }

    /** True if a read of this layer tells that the backward pass is over: its last visit was entered, and is another layer's. */
    public boolean isPastBackward(int layer) {
        return phase == Phase.BACKWARD && current == pass.visits.length - 1 && current >= pass.firstBackward
                && pass.visits[current].layer != layer;
    }

    /**
     * Makes sure that a slot holds a layer's present parameters, outside the layer's visits: a SameDiff graph keeps reading its slot even
     * where DL4J computes a score after the backward pass.
     */
    public void restage(int layer, int slot) {
        lock.lock();
        try {
            trace.restaged(layer, slot);
            if (!holds(slot, layer)) {
                copyParameters(layer, slot);
                slotRestaged[slot] = !program.isResident(slot);
            }
            computeWaits(slotReady[slot]);
            slotReadOutside[slot] = true;
        } finally {
            lock.unlock();
        }
    }

    /** What was restaged has been read by now. */
    private void releaseRestaged() {
        for (int slot = 0; slot < slotRestaged.length; slot++) {
            if (slotRestaged[slot]) {
                slotRestaged[slot] = false;
                slotLayer[slot] = -1;
                device.released(slab, program.slotOffset(slot), program.slotBytes(slot));
                device.recordCompute(slotLeft[slot]);
            }
        }
    }

    /** The forward pass of training is over. */
    public void forwardEnded() {
        lock.lock();
        try {
            if (phase == Phase.FORWARD) {
                trace.forwardEnded();
                leave(false);
                current = Math.max(current, pass.firstBackward - 1);
                phase = Phase.BACKWARD;
                issueCopies();
            }
        } finally {
            lock.unlock();
        }
    }

    /** The backward pass of training is over: the last layer is left. */
    public void backwardEnded() {
        lock.lock();
        try {
            endBackward();
        } finally {
            lock.unlock();
        }
    }

    private void endBackward() {
        if (phase == Phase.FORWARD || phase == Phase.BACKWARD) {
            trace.backwardEnded();
            leave(true);
            phase = Phase.UPDATE;
        }
    }

    /** True if the layer was left by the backward pass of this iteration, so that its gradient is in the host gradients or on its way. */
    public boolean gradientTaken(int layer) {
        return gradientTaken[layer];
    }

    /** Blocks until every gradient of the iteration is in the host gradients. */
    public void awaitGradients() {
        lock.lock();
        try {
            endBackward();
            if (gradientsPending) {
                trace.gradientsAwaited();
            }
            awaitCopiesToHost();
        } finally {
            lock.unlock();
        }
    }

    private void awaitCopiesToHost() {
        if (gradientsPending) {
            for (int layer = 0; layer < gradientArrived.length; layer++) {
                if (gradientTaken[layer]) {
                    hostWaits(gradientArrived[layer]);
                }
            }
            gradientsPending = false;
        }
    }

    /**
     * The optimizer's step of a layer has been taken, while the iteration goes on: the copy that the next iteration begins with starts if
     * its slot has been read for the last time. Called by the thread that takes the steps.
     */
    public void updated(int layer) {
        lock.lock();
        try {
            layerVersion.incrementAndGet(layer);
            stepped[layer] = true;
            int slot = program.firstCopySlot(layer);
            if (slot != Program.MASTER && isReadForTheLastTime(slot)) {
                refresh(layer, slot);
            }
        } finally {
            lock.unlock();
        }
    }

    /** True if no visit of this iteration reads a slot any more. */
    private boolean isReadForTheLastTime(int slot) {
        int last = program.lastVisitOfSlot(slot);
        return (phase == Phase.BACKWARD || phase == Phase.UPDATE) && (last < current || last == current && !inside)
                && slotLeases[slot] == 0 && !slotRestaged[slot];
    }

    /**
     * Starts a copy that the next iteration begins with. If the device refuses it, it is left out: the step is taken, so that the iteration
     * must not fail, and the next one copies what it finds missing, or fails before it has begun.
     */
    private void refresh(int layer, int slot) {
        if (program.plan().network().layers().get(layer).writtenAfterUpdate() || holds(slot, layer)) {
            return;
        }
        try {
            copyParameters(layer, slot);
        } catch (MemFerryException e) {
            leftOut(e);
        }
    }

    private void leftOut(MemFerryException cause) {
        if (metrics.copiesLeftOut++ == 0) {
            LOG.warn("a copy to the device ahead of the next iteration failed and is left out, as will be others that fail: that iteration makes it",
                    cause);
        }
    }

    /** The optimizer's step of a layer was taken in this iteration, whether {@link #updated} has said so or not. */
    public void stepTaken(int layer) {
        lock.lock();
        try {
            trace.stepTaken(layer);
            if (!stepped[layer]) {
                layerVersion.incrementAndGet(layer);
            }
        } finally {
            lock.unlock();
        }
    }

    /** The iteration is over and the master holds its result: device copies that are kept are refreshed. */
    public void closeTraining() {
        lock.lock();
        try {
            endBackward();
            awaitCopiesToHost();
            releaseRestaged();
            trace.closed();
            metrics.iterations++;
            phase = Phase.IDLE;
            pass = program.training();
            current = -1;
            for (Copy c : pass.copies) {
                if (c.afterVisit < 0) {
                    refresh(c.layer, c.slot);
                }
            }
            if (program.plan().updateTiming().waitsForCopies()) {
                awaitRefreshes();
            }
        } finally {
            lock.unlock();
        }
    }

    private void awaitRefreshes() {
        try {
            awaitCopiesToDevice();
        } catch (MemFerryException e) {
            // The step is taken: the next iteration waits for what it reads.
            leftOut(e);
        }
    }

    private void awaitCopiesToDevice() {
        for (Ticket ready : slotReady) {
            hostWaits(ready);
        }
    }

    // Standing still without the lock.

    private void computeWaits(Ticket ticket) {
        lock.unlock();
        try {
            device.computeWaits(ticket);
        } finally {
            lock.lock();
        }
    }

    private void hostWaits(Ticket ticket) {
        lock.unlock();
        try {
            device.hostWaits(ticket);
        } finally {
            lock.lock();
        }
    }

    private boolean tell(int layer, Ticket arrived) {
        lock.unlock();
        try {
            return gradientListener.coming(layer, arrived);
        } finally {
            lock.lock();
        }
    }

    private void endVisit() {
        long computed = visitEnded() + computedNanos;
        computedNanos = 0;
        metrics.computeNanos += phase == Phase.INFERENCE ? 0 : computed;
        if (visitStart != 0) {
            tellOfVisit(computed, System.nanoTime());
        }
    }

    private long visitEnded() {
        lock.unlock();
        try {
            return device.visitEnded();
        } finally {
            lock.lock();
        }
    }

    private void tellOfVisit(long computed, long end) {
        if (phase == Phase.INFERENCE) {
            return;
        }
        Visit v = pass.visits[current];
        clock.visited(v.layer, v.backward, computed, end - visitStart);
        timeline.visited(v.layer, v.backward, visitStart, end, Math.max(0, end - visitStart - computed));
    }

    /** The parameters of a layer were written on the host: copies of it are stale. */
    public void masterWritten(int layer) {
        layerVersion.incrementAndGet(layer);
        trace.written(layer);
    }

    /** Somebody may have written any parameter on the host: all copies are stale. Called from any thread. */
    public void masterWritten() {
        networkVersion.incrementAndGet();
        trace.written();
    }

    /** Version of a layer's parameters in the master. */
    public long version(int layer) {
        return networkVersion.get() + layerVersion.get(layer);
    }

    private static long byteOffset(LayerDescription layer) {
        return Math.multiplyExact(layer.offset(), (long) layer.elementBytes());
    }

    private String name(int layer) {
        return layer < 0 ? "none" : program.plan().network().layers().get(layer).toString();
    }

    /** Waits until no copy of ours is running. The device and the regions stay open. */
    @Override
    public void close() {
        lock.lock();
        try {
            giveUp();
            awaitCopiesToDevice();
            for (Ticket arrived : gradientArrived) {
                hostWaits(arrived);
            }
        } finally {
            lock.unlock();
        }
    }
}
