package org.memferry.device.host;

import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.NativeMemory;
import org.memferry.device.Region;
import org.memferry.device.Regions;
import org.memferry.device.Ticket;

/**
 * The device where the CPU computes: host memory is all there is, every layer is read in place, and nothing is copied. The compute
 * stream is the calling thread, so whatever a ticket could stand for has been done by the time it is recorded.
 */
public final class HostDevice implements Device {

    private static final String NAME = "host";
    private static final Ticket DONE = () -> true;

    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions = new Regions(NAME, 0, metrics);
    private boolean visiting;
    private long visitStart;

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public boolean hasOwnMemory() {
        return false;
    }

    @Override
    public long totalBytes() {
        return Long.MAX_VALUE;
    }

    @Override
    public long freeBytes() {
        return Long.MAX_VALUE;
    }

    @Override
    public Region allocateHost(long bytes, String purpose) {
        return regions.openHost(bytes, purpose, NativeMemory::zeroed);
    }

    /**
     * Refuses.
     *
     * @throws RefusedException always
     */
    @Override
    public Region allocateSlab(long bytes, String purpose) {
        throw new RefusedException("host: " + purpose + " of " + bytes + " bytes (expected: no slab, the host device has no memory of"
                + " its own; every placement is DIRECT)");
    }

    @Override
    public Ticket newTicket() {
        regions.requireOpen();
        metrics.ticketMade();
        return DONE;
    }

    /**
     * Refuses.
     *
     * @throws RefusedException always
     */
    @Override
    public void copyToDevice(Region host, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done) {
        throw refusedCopy(Direction.TO_DEVICE, bytes);
    }

    /**
     * Refuses.
     *
     * @throws RefusedException always
     */
    @Override
    public void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        throw refusedCopy(Direction.TO_HOST, bytes);
    }

    private static RefusedException refusedCopy(Direction direction, long bytes) {
        return new RefusedException("host: copy of " + bytes + " bytes " + direction + " (expected: no copies, the host device has no"
                + " memory of its own; every placement is DIRECT)");
    }

    @Override
    public void recordCompute(Ticket ticket) {
        regions.requireOpen();
    }

    @Override
    public void computeWaits(Ticket ticket) {
        regions.requireOpen();
    }

    @Override
    public void hostWaits(Ticket ticket) {
        regions.requireOpen();
    }

    /** Starts a clock: reading host memory in place crosses no link here, so its bytes are not counted. */
    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        regions.requireOpen();
        visiting = true;
        visitStart = System.nanoTime();
    }

    @Override
    public long visitEnded() {
        regions.requireOpen();
        if (!visiting) {
            return 0;
        }
        visiting = false;
        return System.nanoTime() - visitStart;
    }

    /**
     * Refuses, as there is no slab that a part could be released of.
     *
     * @throws RefusedException always
     */
    @Override
    public void released(Region slab, long offset, long bytes) {
        regions.checkSlab(slab, offset, bytes);
    }

    @Override
    public DeviceMetrics metrics() {
        return metrics;
    }

    @Override
    public void close() {
        regions.close();
    }
}
