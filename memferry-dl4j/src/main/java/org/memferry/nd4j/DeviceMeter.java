package org.memferry.nd4j;

import org.memferry.base.Sizes;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LocationPolicy;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.factory.Nd4j;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * Measures the device bytes that a training run takes, by the same counters whether MemFerry is attached or not. Three things count:
 * <ul>
 *   <li>ordinary arrays, by libnd4j's own counter for device 0: parameters, gradients and updater state of a plain network, data sets,
 *       whatever an operation allocates, and arrays that nobody uses any more but the garbage collector has not found yet;
 *   <li>DL4J's workspaces of the training thread: activations and working memory. A workspace that is still learning its size counts
 *       with what it handed out; with MemFerry's ND4J managers in place every workspace counts with the blocks it has on the device. One
 *       that is in host memory by its own configuration (mirrored {@code HOST_ONLY}, or a mapped file) does not count;
 *   <li>MemFerry's slab, as its device counts it.
 * </ul>
 * Arrays over host regions are none of these: they are external buffers, which libnd4j does not count. Its temporary memory within an
 * operation and data sets that another thread prefetches are not seen either, on both sides.
 *
 * <p>A thread looks every millisecond, and {@link #sample()} looks in between, so that only a peak of less than that is missed.
 */
public final class DeviceMeter implements AutoCloseable {

    private static final long SAMPLE_MILLIS = 1;
    private static final long SETTLE_MILLIS = 3000;
    private static final long QUIET_MILLIS = 150;

    private final LongSupplier slab;
    private final Thread sampler;
    private volatile List<MemoryWorkspace> workspaces;
    private volatile boolean open = true;
    private Usage peak = new Usage(0, 0, 0);

    /** Device bytes at one moment. */
    public static final class Usage {

        private final long arrays;
        private final long workspaces;
        private final long slab;

        private Usage(long arrays, long workspaces, long slab) {
            this.arrays = arrays;
            this.workspaces = workspaces;
            this.slab = slab;
        }

        /** Bytes of ordinary arrays. */
        public long arrayBytes() {
            return arrays;
        }

        /** Bytes of the training thread's workspaces. */
        public long workspaceBytes() {
            return workspaces;
        }

        /** Bytes of MemFerry's slab. */
        public long slabBytes() {
            return slab;
        }

        /** All of them. */
        public long totalBytes() {
            return arrays + workspaces + slab;
        }

        @Override
        public String toString() {
            return Sizes.format(totalBytes()) + " (arrays " + Sizes.format(arrays) + ", workspaces " + Sizes.format(workspaces) + ", slab "
                    + Sizes.format(slab) + ")";
        }
    }

    private DeviceMeter(LongSupplier slab) {
        this.slab = slab;
        this.workspaces = Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread();
        this.sampler = new Thread(this::watch, "memferry-device-meter");
        this.sampler.setDaemon(true);
        update();
    }

    /**
     * Starts to measure; the calling thread is the one that trains.
     *
     * @param slabBytes the slab bytes of the device, such as {@code device.metrics()::slabBytes}; {@code () -> 0} for plain DL4J
     */
    public static DeviceMeter start(LongSupplier slabBytes) {
        DeviceMeter meter = new DeviceMeter(slabBytes);
        meter.sampler.start();
        return meter;
    }

    /**
     * Gives back what the past left on the device: unreachable arrays, and the calling thread's workspaces. Two runs that are compared
     * both start with this. Waits until the counter stands still, 3 seconds at most.
     */
    public static void settle() {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        collect();
    }

    /**
     * Gives back arrays that nobody uses any more, and leaves workspaces alone. Waits until the counter stands still, 3 seconds at most.
     */
    public static void collect() {
        long end = System.currentTimeMillis() + SETTLE_MILLIS;
        long before;
        do {
            before = arrayBytes();
            System.gc();
            pause(QUIET_MILLIS);
        } while (arrayBytes() != before && System.currentTimeMillis() < end);
    }

    /** Looks now, and takes note of new workspaces; to be called by the thread that trains, between and within iterations. */
    public void sample() {
        workspaces = Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread();
        update();
    }

    /** What is in use now. */
    public Usage current() {
        long held = 0;
        for (MemoryWorkspace workspace : workspaces) {
            long counted = ArrayFactory.Loaded.INSTANCE.countedBytes(workspace);
            if (counted >= 0) {
                held += counted;
            } else if (!(workspace instanceof RegionWorkspace) && onDevice(workspace.getWorkspaceConfiguration())) {
                // A workspace that is too small spills: what it handed out since it was entered is then more than its size.
                long handedOut = workspace.isScopeActive() ? workspace.getThisCycleAllocations() : 0;
                held += Math.max(workspace.getCurrentSize(), handedOut);
            }
        }
        return new Usage(arrayBytes(), held, slab.getAsLong());
    }

    /** The largest use since the start, or since {@link #restart()}. */
    public synchronized Usage peak() {
        return peak;
    }

    /** Forgets the peak, and measures on. */
    public void restart() {
        synchronized (this) {
            peak = new Usage(0, 0, 0);
        }
        sample();
    }

    @Override
    public void close() {
        open = false;
        sampler.interrupt();
        try {
            sampler.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void watch() {
        while (open) {
            update();
            pause(SAMPLE_MILLIS);
        }
    }

    private void update() {
        Usage now = current();
        synchronized (this) {
            if (now.totalBytes() > peak.totalBytes()) {
                peak = now;
            }
        }
    }

    private static boolean onDevice(WorkspaceConfiguration configuration) {
        return configuration.getPolicyMirroring() != MirroringPolicy.HOST_ONLY
                && configuration.getPolicyLocation() != LocationPolicy.MMAP;
    }

    /** Bytes of ordinary arrays on device 0 now, garbage included, by libnd4j's own counter. */
    public static long arrayBytes() {
        return Nd4j.getEnvironment().getDeviceCouner(0);
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
