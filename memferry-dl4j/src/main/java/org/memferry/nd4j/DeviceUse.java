package org.memferry.nd4j;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;
import java.util.WeakHashMap;

/**
 * What is in use of one device's memory besides what MemFerry plans: the workspace blocks of the threads that train on it, and ordinary
 * arrays. With MemFerry's ND4J managers in place every block is admitted here first, so that the budget holds for DL4J's activations and
 * working memory too.
 *
 * <p>Use is slab + workspace blocks + libnd4j's own counter of ordinary arrays. That counter includes arrays which nobody uses any more:
 * nothing is turned away before one garbage collection.
 */
public final class DeviceUse {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceUse.class);
    private static final Map<Device, DeviceUse> ALL = new WeakHashMap<>();
    private static final long SETTLE_MILLIS = 1000;
    private static final long QUIET_MILLIS = 20;

    private final String name;
    private final long budget;
    private final DeviceMetrics metrics;
    private long blockBytes;
    private long peakBlockBytes;
    private long peakBytes;
    private long spilledBlocks;
    private long spilledBytes;
    private long collections;
    private long arraysAfterCollection;

    private DeviceUse(Device device) {
        // Not the device itself: it is the weak key of this value.
        this.name = device.name();
        this.budget = device.totalBytes();
        this.metrics = device.metrics();
    }

    /** The use of a device; the same object as long as the device lives. */
    public static DeviceUse of(Device device) {
        synchronized (ALL) {
            return ALL.computeIfAbsent(device, DeviceUse::new);
        }
    }

    /**
     * A workspace is about to take a block.
     *
     * @param bytes     its size
     * @param workspace whose block it is, named in the error
     * @param spill     whether it may be placed in host memory where the device has no room
     * @return true if the block is on the device, false if it is to be placed in host memory; it is counted
     * @throws OutOfMemoryException if there is no room and it may not be placed elsewhere; nothing is counted then
     */
    synchronized boolean admit(long bytes, String workspace, boolean spill) {
        if (!fits(bytes) && couldCollect(bytes)) {
            collect();
        }
        if (fits(bytes)) {
            changed(bytes);
            return true;
        }
        if (!spill) {
            throw outOfMemory(bytes, workspace);
        }
        if (spilledBlocks == 0) {
            LOG.warn("{}: {} of workspace {} are placed in host memory, since {} are in use; this and later blocks are counted in the metrics",
                    name, Sizes.format(bytes), workspace, this);
        }
        spilledBlocks++;
        spilledBytes += bytes;
        return false;
    }

    private boolean fits(long bytes) {
        return bytes <= budget - bytes() || budget == Long.MAX_VALUE;
    }

    /** Arrays made since the last collection are all the garbage there can be. */
    private boolean couldCollect(long bytes) {
        long garbage = Math.max(0, arrayBytes() - (collections == 0 ? 0 : arraysAfterCollection));
        return bytes - garbage <= budget - bytes();
    }

    private OutOfMemoryException outOfMemory(long bytes, String workspace) {
        return new OutOfMemoryException(name + ": workspace " + workspace + " needs " + Sizes.exact(bytes) + " of device memory, "
                + Sizes.exact(Math.max(0, budget - bytes())) + " are available: in use are " + this + " (raise deviceMemory, leave more beside the "
                + "slots with headroom, train smaller batches, or allow spillToHost(true), which places such blocks in host memory)",
                bytes, Math.max(0, budget - bytes()));
    }

    /** One collection, and a wait until ND4J has given back what it found. */
    private void collect() {
        collections++;
        long end = System.currentTimeMillis() + SETTLE_MILLIS;
        System.gc();
        long before;
        do {
            before = arrayBytes();
            try {
                Thread.sleep(QUIET_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        } while (arrayBytes() != before && System.currentTimeMillis() < end);
        arraysAfterCollection = arrayBytes();
    }

    /** Blocks were taken (bytes above 0) or given back. */
    synchronized void changed(long bytes) {
        blockBytes += bytes;
        peakBlockBytes = Math.max(peakBlockBytes, blockBytes);
        peakBytes = Math.max(peakBytes, bytes());
    }

    /** Blocks in host memory were given back. */
    synchronized void spilledBack(long bytes) {
        spilledBytes -= bytes;
    }

    /** Bytes in use now: slab, workspace blocks, ordinary arrays. */
    public synchronized long bytes() {
        return Math.addExact(metrics.slabBytes(), Math.addExact(blockBytes, arrayBytes()));
    }

    /** Most bytes in use when a workspace block was taken. */
    public synchronized long peakBytes() {
        return peakBytes;
    }

    /** Bytes of workspace blocks on the device now. */
    public synchronized long workspaceBytes() {
        return blockBytes;
    }

    /** Most bytes of workspace blocks on the device at a time. */
    public synchronized long peakWorkspaceBytes() {
        return peakBlockBytes;
    }

    /** Workspace blocks ever placed in host memory since the device had no room. */
    public synchronized long spilledBlocks() {
        return spilledBlocks;
    }

    /** Bytes of workspace blocks that are in host memory now since the device had no room. */
    public synchronized long spilledBytes() {
        return spilledBytes;
    }

    /** Garbage collections asked for since a block did not fit. */
    public synchronized long collections() {
        return collections;
    }

    private static long arrayBytes() {
        return Nd4j.getEnvironment().getDeviceCouner(0);
    }

    @Override
    public synchronized String toString() {
        return "slab " + Sizes.format(metrics.slabBytes()) + ", workspaces " + Sizes.format(blockBytes) + ", arrays "
                + Sizes.format(arrayBytes()) + " of " + Sizes.format(budget);
    }
}
