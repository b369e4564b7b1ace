package org.memferry.device;

import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of one {@link Device}, all in bytes or counts, safe to read from any thread. Tests assert through them that attach and
 * detach leave nothing behind and that a steady state allocates nothing.
 */
public final class DeviceMetrics {

    private long hostBytes;
    private long peakHostBytes;
    private long slabBytes;
    private long peakSlabBytes;
    private int openRegions;
    private int leakedRegions;
    private final LongAdder tickets = new LongAdder();
    private final LongAdder bytesToDevice = new LongAdder();
    private final LongAdder bytesToHost = new LongAdder();
    private final LongAdder copies = new LongAdder();
    private final LongAdder directBytes = new LongAdder();
    private final LongAdder waitNanos = new LongAdder();
    private final LongAdder toDeviceNanos = new LongAdder();
    private final LongAdder toHostNanos = new LongAdder();
    private final LongAdder registeredRegions = new LongAdder();
    private final LongAdder pageableRegions = new LongAdder();

    /** Counts an allocation ({@code bytes > 0}) or a release ({@code bytes < 0}) of host memory. */
    public synchronized void hostChanged(long bytes) {
        hostBytes += bytes;
        peakHostBytes = Math.max(peakHostBytes, hostBytes);
    }

    /** Counts an allocation ({@code bytes > 0}) or a release ({@code bytes < 0}) of device memory. */
    public synchronized void slabChanged(long bytes) {
        slabBytes += bytes;
        peakSlabBytes = Math.max(peakSlabBytes, slabBytes);
    }

    /** Counts a region opened (+1) or closed (-1). */
    public synchronized void regionsChanged(int count) {
        openRegions += count;
    }

    /** Counts a region that was still open when its device was closed. */
    public synchronized void regionLeaked() {
        leakedRegions++;
    }

    /** Counts a ticket made. */
    public void ticketMade() {
        tickets.increment();
    }

    /** Counts a copy to the device. */
    public void copiedToDevice(long bytes) {
        copies.increment();
        bytesToDevice.add(bytes);
    }

    /** Counts a copy to the host. */
    public void copiedToHost(long bytes) {
        copies.increment();
        bytesToHost.add(bytes);
    }

    /** Counts the time that a copy took, on a device that can tell. */
    public void copyTook(Direction direction, long nanos) {
        (direction == Direction.TO_DEVICE ? toDeviceNanos : toHostNanos).add(nanos);
    }

    /** Counts bytes read or written in place over the link. */
    public void direct(long bytes) {
        directBytes.add(bytes);
    }

    /** Counts time the computing thread stood still for a copy. */
    public void waited(long nanos) {
        waitNanos.add(nanos);
    }

    /** What was counted up to now of copies, of bytes in place and of waits. */
    public Traffic traffic() {
        return new Traffic(this);
    }

    /**
     * Takes back what was counted since: traffic that a link was measured with is none of a network's. Nobody else uses the device meanwhile,
     * and all copies are done.
     */
    public void forgetSince(Traffic before) {
        Traffic now = traffic();
        bytesToDevice.add(before.bytesToDevice - now.bytesToDevice);
        bytesToHost.add(before.bytesToHost - now.bytesToHost);
        copies.add(before.copies - now.copies);
        directBytes.add(before.directBytes - now.directBytes);
        waitNanos.add(before.waitNanos - now.waitNanos);
        toDeviceNanos.add(before.toDeviceNanos - now.toDeviceNanos);
        toHostNanos.add(before.toHostNanos - now.toHostNanos);
    }

    /** The counts of one moment. */
    public static final class Traffic {

        private final long bytesToDevice;
        private final long bytesToHost;
        private final long copies;
        private final long directBytes;
        private final long waitNanos;
        private final long toDeviceNanos;
        private final long toHostNanos;

        private Traffic(DeviceMetrics metrics) {
            bytesToDevice = metrics.bytesToDevice();
            bytesToHost = metrics.bytesToHost();
            copies = metrics.copies();
            directBytes = metrics.directBytes();
            waitNanos = metrics.waitNanos();
            toDeviceNanos = metrics.copyNanos(Direction.TO_DEVICE);
            toHostNanos = metrics.copyNanos(Direction.TO_HOST);
        }
    }

    /** Counts a host region that had to be pinned by registering ordinary memory. */
    public void pinnedByRegistration() {
        registeredRegions.increment();
    }

    /** Counts a host region that could not be pinned at all. */
    public void pinningRefused() {
        pageableRegions.increment();
    }

    /** Host memory held now. */
    public synchronized long hostBytes() {
        return hostBytes;
    }

    /** Most host memory held at a time. */
    public synchronized long peakHostBytes() {
        return peakHostBytes;
    }

    /** Device memory held now. */
    public synchronized long slabBytes() {
        return slabBytes;
    }

    /** Most device memory held at a time. */
    public synchronized long peakSlabBytes() {
        return peakSlabBytes;
    }

    /** Regions open now, host and device. */
    public synchronized int openRegions() {
        return openRegions;
    }

    /** Regions that were still open when the device was closed. */
    public synchronized int leakedRegions() {
        return leakedRegions;
    }

    /** Tickets ever made. */
    public long tickets() {
        return tickets.sum();
    }

    /** Bytes ever copied to the device. */
    public long bytesToDevice() {
        return bytesToDevice.sum();
    }

    /** Bytes ever copied to the host. */
    public long bytesToHost() {
        return bytesToHost.sum();
    }

    /** Copies ever submitted, both ways. */
    public long copies() {
        return copies.sum();
    }

    /** Time that copies in a direction ever took, in nanoseconds; 0 on a device that cannot tell. */
    public long copyNanos(Direction direction) {
        return (direction == Direction.TO_DEVICE ? toDeviceNanos : toHostNanos).sum();
    }

    /** Bytes ever read or written in place over the link, touches included. */
    public long directBytes() {
        return directBytes.sum();
    }

    /** Time the computing thread ever stood still for a copy, in nanoseconds. */
    public long waitNanos() {
        return waitNanos.sum();
    }

    /** Host regions ever opened over ordinary memory that was registered with the device, the first fall-back. */
    public long registeredRegions() {
        return registeredRegions.sum();
    }

    /** Host regions ever opened over memory that is not pinned, the second fall-back. */
    public long pageableRegions() {
        return pageableRegions.sum();
    }
}
