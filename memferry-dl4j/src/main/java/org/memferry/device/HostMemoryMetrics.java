package org.memferry.device;

/**
 * What all host regions of this program take, of all devices together: read-only, live. A program that attaches and closes again and again
 * finds these numbers back where they were.
 */
public final class HostMemoryMetrics {

    private static long asked;
    private static long allocated;
    private static long pinned;
    private static long peakAllocated;
    private static int live;
    private static int leaked;

    private HostMemoryMetrics() {
    }

    /** Bytes that open regions were asked for. */
    public static synchronized long askedBytes() {
        return asked;
    }

    /** Bytes that open regions take of the system: what was asked for and what aligns and staggers it. */
    public static synchronized long allocatedBytes() {
        return allocated;
    }

    /** Of these, bytes that the system may not move or swap, since an accelerator addresses them. */
    public static synchronized long pinnedBytes() {
        return pinned;
    }

    /** Most bytes taken of the system at a time. */
    public static synchronized long peakAllocatedBytes() {
        return peakAllocated;
    }

    /** Regions that are open. */
    public static synchronized int liveRegions() {
        return live;
    }

    /** Regions ever that were still open when their device was closed, or that became unreachable open. */
    public static synchronized int leakedRegions() {
        return leaked;
    }

    static synchronized void changed(int sign, long askedBytes, Regions.Memory memory) {
        long taken = memory.allocatedBytes(askedBytes);
        live += sign;
        asked += sign * askedBytes;
        allocated += sign * taken;
        pinned += memory.isPinned() ? sign * taken : 0;
        peakAllocated = Math.max(peakAllocated, allocated);
    }

    static synchronized void leaked() {
        leaked++;
    }
}
