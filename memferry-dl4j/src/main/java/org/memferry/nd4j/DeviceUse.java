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
 * What is in use of one device's memory besides what MemFerry plans: the workspace blocks of the threads that train on it and of those that
 * fetch data sets for them, and ordinary arrays. With MemFerry's ND4J managers in place every block is admitted here first, so that the budget holds for DL4J's activations and
 * working memory too.
 *
 * <p>Use is slab + workspace blocks + libnd4j's own counter of ordinary arrays. That counter includes arrays which nobody uses any more:
 * nothing is turned away before one garbage collection.
 */
public final class DeviceUse {

    private static final Logger LOG = LoggerFactory.getLogger(DeviceUse.class);
    private static final Map<Device, DeviceUse> ALL = new WeakHashMap<>();
    private static final String WAYS_OUT = "raise deviceMemory, let go of plain networks and other arrays of this program, which count too, leave more "
            + "beside the slots with headroom, train smaller batches";
    private static final long SETTLE_MILLIS = 1000;
    private static final long QUIET_MILLIS = 20;

    private final String name;
    private final long budget;
    private final DeviceMetrics metrics;
    private long blockBytes;
    /** Of the blocks, those of threads that fetch data sets. */
    private long prefetchedBytes;
    /** So much of these was found to have room. */
    private long checkedBytes;
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
        if (hasRoom(bytes)) {
            changed(bytes, 0);
            return true;
        }
        if (!spill) {
            throw outOfMemory(bytes, workspace);
        }
        spilled(bytes, workspace);
        return false;
    }

    /**
     * As above, for a workspace of a thread that fetches data sets: what has no room and may not be placed elsewhere is counted all the same.
     */
    synchronized boolean admitPrefetched(long bytes, String workspace, boolean spill) {
        if (spill && !hasRoom(bytes)) {
            spilled(bytes, workspace);
            return false;
        }
        changed(bytes, bytes);
        return true;
    }

    /**
     * To be called by the thread that trains, before it computes.
     *
     * @throws OutOfMemoryException if data sets were fetched ahead since the last call that the device had no room for
     */
    public synchronized void checkPrefetched() {
        long fetched = prefetchedBytes();
        if (fetched > checkedBytes && !hasRoom(0)) {
            long over = bytes() - budget;
            throw new OutOfMemoryException(name + ": data sets that are fetched ahead hold " + Sizes.exact(fetched) + " of device memory, "
                    + Sizes.exact(over) + " more than are available: in use are " + this + " (" + WAYS_OUT + ", let the "
                    + "iterator fetch fewer ahead, or allow spillToHost(true), which places what fit itself fetches in host memory)", fetched, Math.max(0, fetched - over));
        }
        checkedBytes = fetched;
    }

    private void spilled(long bytes, String workspace) {
        if (spilledBlocks == 0) {
            LOG.warn("{}: {} of workspace {} are placed in host memory, since {} are in use; this and later blocks are counted in the metrics",
                    name, Sizes.format(bytes), workspace, this);
        }
        spilledBlocks++;
        spilledBytes += bytes;
    }

    /** True if there is room, after a collection if that is what it takes. */
    private boolean hasRoom(long bytes) {
        if (!fits(bytes) && couldCollect(bytes)) {
            collect();
        }
        return fits(bytes);
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
                + Sizes.exact(Math.max(0, budget - bytes())) + " are available: in use are " + this + " (" + WAYS_OUT + ", or allow "
                + "spillToHost(true), which places such blocks in host memory)",
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

    /**
     * Blocks were taken (bytes above 0) or given back.
     *
     * @param fetched how much of it threads that fetch data sets took or gave back
     */
    synchronized void changed(long bytes, long fetched) {
        blockBytes += bytes;
        prefetchedBytes += fetched;
        peakBlockBytes = Math.max(peakBlockBytes, workspaceBytes());
        peakBytes = Math.max(peakBytes, bytes());
    }

    /** Blocks in host memory were given back. */
    synchronized void spilledBack(long bytes) {
        spilledBytes -= bytes;
    }

    /** Bytes in use now: slab, workspace blocks, ordinary arrays. */
    public synchronized long bytes() {
        return Math.addExact(metrics.slabBytes(), Math.addExact(workspaceBytes(), arrayBytes()));
    }

    /** Most bytes in use when a workspace block was taken. */
    public synchronized long peakBytes() {
        return peakBytes;
    }

    /** Bytes of workspace blocks on the device now. */
    public synchronized long workspaceBytes() {
        return Math.addExact(blockBytes, TrainingThreads.prefetchedFor(this));
    }

    /**
     * Of the workspace blocks on the device, those of DL4J's threads that fetch data sets ahead: of threads that a training thread started,
     * and, as long as nothing is trained on another device, of all others too.
     */
    public synchronized long prefetchedBytes() {
        return Math.addExact(prefetchedBytes, TrainingThreads.prefetchedFor(this));
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
        long fetched = prefetchedBytes();
        return "slab " + Sizes.format(metrics.slabBytes()) + ", workspaces " + Sizes.format(workspaceBytes())
                + (fetched == 0 ? "" : " (" + Sizes.format(fetched) + " of them data sets fetched ahead)") + ", arrays "
                + Sizes.format(arrayBytes()) + " of " + Sizes.format(budget);
    }
}
