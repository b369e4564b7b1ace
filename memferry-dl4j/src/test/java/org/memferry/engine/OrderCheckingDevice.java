package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Map;

import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Region;
import org.memferry.device.Ticket;

/**
 * Passes everything on to another device and checks, with one vector clock per queue, that the order of copies and computations is
 * enforced by tickets and not by luck. It sees what no run on a fast or synchronous device shows: on an accelerator the compute stream,
 * the two copy queues and the host run at their own pace, and only tickets order them.
 *
 * <p>It also keeps, without looking at memory, what each slot holds: the layer and the stamp of its master at the time of the copy. A
 * master that is written while a copy may be under way makes the copy worthless.
 */
final class OrderCheckingDevice implements Device {

    /** What to leave out, to see that the checks notice. */
    enum Fault {
        /** Nothing is left out. */
        NONE,
        /** The compute stream never waits. */
        COMPUTE_WAITS,
        /** The host never waits. */
        HOST_WAITS,
        /** Copies start whatever was given to them to wait for. */
        COPY_WAITS,
        /** Tickets are never recorded on the compute stream. */
        COMPUTE_RECORDS,
        /** Steps beside backward do not wait for their gradients. */
        STEP_WAITS
    }

    private static final int COMPUTE = 0;
    private static final int TO_DEVICE = 1;
    private static final int TO_HOST = 2;

    private final Device inner;
    private final Fault fault;
    private Program program;

    /** What each queue, and the host, knows to be done of the three queues. */
    private final long[] host = new long[3];
    /** The same for the worker that takes steps beside backward. */
    private final long[] worker = new long[3];
    private final long[][] queues = new long[3][3];
    private final long[] submitted = new long[3];
    private final Map<Ticket, long[]> tickets = new IdentityHashMap<>();

    private int[] slotLayer;
    private long[] slotStamp;
    private long[] slotCopy;
    private long[] slotLastRead;
    private long[] slotLastGradient;
    private long[] slotGradientCopy;
    private long[] layerStamp;
    private long[] layerGradientCopy;

    OrderCheckingDevice(Device inner, Fault fault) {
        this.inner = inner;
        this.fault = fault;
    }

    /** Tells which slots and layers the addresses of copies mean. */
    void serve(Program served) {
        program = served;
        slotLayer = new int[served.slots()];
        Arrays.fill(slotLayer, -1);
        slotStamp = new long[served.slots()];
        slotCopy = new long[served.slots()];
        slotLastRead = new long[served.slots()];
        slotLastGradient = new long[served.slots()];
        slotGradientCopy = new long[served.slots()];
        layerStamp = new long[served.plan().layers().size()];
        layerGradientCopy = new long[served.plan().layers().size()];
    }

    // ------------------------------------------------------------------------------------------- what the test says it does

    /** The computation reads the slot, which must hold the layer's present master. */
    void reads(int layer, int slot) {
        compute();
        if (slot < 0) {
            return;
        }
        assertThat(slotLayer[slot]).as("layer in slot %d, read for layer %d", slot, layer).isEqualTo(layer);
        assertThat(slotStamp[slot]).as("stamp of layer %d in slot %d", layer, slot).isEqualTo(layerStamp[layer]);
        assertThat(queues[COMPUTE][TO_DEVICE]).as("copies known to be done, at the read of slot %d", slot)
                .isGreaterThanOrEqualTo(slotCopy[slot]);
        slotLastRead[slot] = submitted[COMPUTE];
    }

    /** The computation writes a layer's gradient into a gradient slot, or into the host gradients. */
    void writesGradient(int layer, int slot) {
        compute();
        if (slot >= 0) {
            assertThat(queues[COMPUTE][TO_HOST]).as("copies to the host known to be done, at a gradient write into %d", slot)
                    .isGreaterThanOrEqualTo(slotGradientCopy[slot]);
            slotLastGradient[slot] = submitted[COMPUTE];
        } else {
            assertThat(queues[COMPUTE][TO_HOST]).as("copies to the host known to be done, at a write of the gradient of layer %d", layer)
                    .isGreaterThanOrEqualTo(layerGradientCopy[layer]);
        }
    }

    /** The host writes a layer's master. */
    void masterChanged(int layer) {
        layerStamp[layer]++;
    }

    /** The host reads all gradients. */
    void readsGradients() {
        assertThat(host[TO_HOST]).as("copies to the host known to be done, at a read of the gradients").isEqualTo(submitted[TO_HOST]);
    }

    /** What a step is given to wait for. */
    Ticket ticketOfStep(Ticket arrived) {
        return fault == Fault.STEP_WAITS ? inner.newTicket() : arrived;
    }

    /** The worker takes a layer's step and tells the engine: it knows what its tickets told it, and nothing of what the host knows. */
    void onWorker(int layer, Ticket arrived, Runnable step) {
        long[] training = host.clone();
        if (fault != Fault.STEP_WAITS) {
            merge(worker, tickets.get(arrived));
        }
        assertThat(worker[TO_HOST]).as("copies to the host known to be done, at the step of layer %d", layer)
                .isGreaterThanOrEqualTo(layerGradientCopy[layer]);
        System.arraycopy(worker, 0, host, 0, host.length);
        step.run();
        System.arraycopy(host, 0, worker, 0, host.length);
        System.arraycopy(training, 0, host, 0, host.length);
    }

    /** The host waits until the worker has nothing to do. */
    void awaitsWorker() {
        merge(host, worker);
    }

    private void compute() {
        merge(queues[COMPUTE], host);
        submitted[COMPUTE]++;
        queues[COMPUTE][COMPUTE] = submitted[COMPUTE];
    }

    private static void merge(long[] into, long[] from) {
        for (int i = 0; i < into.length; i++) {
            into[i] = Math.max(into[i], from[i]);
        }
    }

    // ------------------------------------------------------------------------------------------------- what the engine does

    @Override
    public void copyToDevice(Region from, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done) {
        int slot = slot(slabOffset);
        long[] clock = submit(TO_DEVICE, after, done);
        assertThat(clock[COMPUTE]).as("computations known to be done, at the start of a copy into slot %d", slot)
                .isGreaterThanOrEqualTo(slotLastRead[slot]);
        slotLayer[slot] = layer(hostOffset);
        slotStamp[slot] = layerStamp[slotLayer[slot]];
        slotCopy[slot] = submitted[TO_DEVICE];
        inner.copyToDevice(from, hostOffset, slab, slabOffset, bytes, fault == Fault.COPY_WAITS ? new Ticket[0] : after, done);
    }

    @Override
    public void copyToHost(Region slab, long slabOffset, Region to, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        int slot = slot(slabOffset);
        long[] clock = submit(TO_HOST, after, done);
        assertThat(clock[COMPUTE]).as("computations known to be done, at the start of the copy out of gradient slot %d", slot)
                .isGreaterThanOrEqualTo(slotLastGradient[slot]);
        slotGradientCopy[slot] = submitted[TO_HOST];
        layerGradientCopy[layer(hostOffset)] = submitted[TO_HOST];
        inner.copyToHost(slab, slabOffset, to, hostOffset, bytes, fault == Fault.COPY_WAITS ? new Ticket[0] : after, done);
    }

    private long[] submit(int queue, Ticket[] after, Ticket done) {
        long[] clock = queues[queue];
        merge(clock, host);
        if (fault != Fault.COPY_WAITS) {
            for (Ticket ticket : after) {
                merge(clock, tickets.get(ticket));
            }
        }
        long[] before = clock.clone();
        submitted[queue]++;
        clock[queue] = submitted[queue];
        System.arraycopy(clock, 0, tickets.get(done), 0, clock.length);
        return before;
    }

    @Override
    public void recordCompute(Ticket ticket) {
        merge(queues[COMPUTE], host);
        if (fault != Fault.COMPUTE_RECORDS) {
            System.arraycopy(queues[COMPUTE], 0, tickets.get(ticket), 0, 3);
            inner.recordCompute(ticket);
        }
    }

    @Override
    public void computeWaits(Ticket ticket) {
        if (fault != Fault.COMPUTE_WAITS) {
            merge(queues[COMPUTE], tickets.get(ticket));
            inner.computeWaits(ticket);
        }
    }

    @Override
    public void hostWaits(Ticket ticket) {
        if (fault != Fault.HOST_WAITS) {
            merge(host, tickets.get(ticket));
            inner.hostWaits(ticket);
        }
    }

    @Override
    public void released(Region slab, long offset, long bytes) {
        int slot = slot(offset);
        merge(queues[COMPUTE], host);
        assertThat(queues[COMPUTE][TO_DEVICE]).as("copies known to be done, at the release of slot %d", slot)
                .isGreaterThanOrEqualTo(slotCopy[slot]);
        assertThat(queues[COMPUTE][TO_HOST]).as("copies known to be done, at the release of slot %d", slot)
                .isGreaterThanOrEqualTo(slotGradientCopy[slot]);
        slotLayer[slot] = -1;
        inner.released(slab, offset, bytes);
    }

    private int slot(long offset) {
        for (int slot = 0; slot < program.slots(); slot++) {
            if (program.slotOffset(slot) == offset) {
                return slot;
            }
        }
        throw new AssertionError("no slot starts at byte " + offset);
    }

    private int layer(long hostOffset) {
        for (int layer = 0; layer < program.plan().layers().size(); layer++) {
            if (program.plan().network().layers().get(layer).offset() * 4 == hostOffset) {
                return layer;
            }
        }
        throw new AssertionError("no layer starts at byte " + hostOffset);
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public boolean hasOwnMemory() {
        return inner.hasOwnMemory();
    }

    @Override
    public long totalBytes() {
        return inner.totalBytes();
    }

    @Override
    public long freeBytes() {
        return inner.freeBytes();
    }

    @Override
    public Region allocateHost(long bytes, String purpose) {
        return inner.allocateHost(bytes, purpose);
    }

    @Override
    public Region allocateSlab(long bytes, String purpose) {
        return inner.allocateSlab(bytes, purpose);
    }

    @Override
    public Ticket newTicket() {
        Ticket ticket = inner.newTicket();
        tickets.put(ticket, new long[3]);
        return ticket;
    }

    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        inner.visitStarted(layer, backward, readBytes, writtenBytes);
    }

    @Override
    public long visitEnded() {
        return inner.visitEnded();
    }

    @Override
    public DeviceMetrics metrics() {
        return inner.metrics();
    }

    @Override
    public void close() {
        inner.close();
    }
}
