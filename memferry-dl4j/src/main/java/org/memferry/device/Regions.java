package org.memferry.device;

import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The regions of one device from birth to release: keeps the slab budget, counts in the device's metrics, frees every region exactly
 * once, and knows which ones are still open when the device closes. A region that was forgotten open and became unreachable is freed
 * by a cleaner, which logs one warning with its purpose and size.
 */
public final class Regions {

    private static final Logger LOG = LoggerFactory.getLogger(Regions.class);
    private static final Cleaner CLEANER = Cleaner.create();
    private static final AtomicLong IDS = new AtomicLong();

    /** Memory that backs one region. */
    public interface Memory {

        /** Address of the first byte, a multiple of {@link NativeMemory#ALIGNMENT}. */
        long address();

        /** Gives it back. Called exactly once, by whichever thread closes the region. */
        void free();

        /**
         * Bytes taken of the system.
         *
         * @param asked bytes that were asked for
         */
        default long allocatedBytes(long asked) {
            return asked;
        }

        /** True if the system may not move or swap it. */
        default boolean isPinned() {
            return false;
        }
    }

    /** Where a kind of memory comes from. */
    public interface Source {

        /**
         * Takes memory.
         *
         * @param bytes   at least 0
         * @param purpose what it is for, named in errors
         * @throws OutOfMemoryException if there is not enough; nothing was taken then
         */
        Memory take(long bytes, String purpose);
    }

    private enum Kind { HOST, SLAB }

    private final String device;
    private final long slabBudget;
    private final DeviceMetrics metrics;
    // Holds what must be freed, never the regions themselves: a forgotten region has to become unreachable.
    private final Set<Holding> open = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /**
     * An empty set of regions.
     *
     * @param device     name of the device, for messages
     * @param slabBudget most bytes of device memory held at a time
     * @param metrics    where the regions are counted
     */
    public Regions(String device, long slabBudget, DeviceMetrics metrics) {
        this.device = device;
        this.slabBudget = slabBudget;
        this.metrics = metrics;
    }

    /** Bytes of the slab budget that no open slab holds. */
    public long freeBytes() {
        return slabBudget - metrics.slabBytes();
    }

    /**
     * Opens a host region.
     *
     * @param bytes   exact size, 0 allowed
     * @param purpose what it is for
     * @param source  where the memory comes from
     * @throws RefusedException     if the size is negative
     * @throws OutOfMemoryException if the source does not have it
     */
    public Region openHost(long bytes, String purpose, Source source) {
        return open(Kind.HOST, bytes, purpose, source);
    }

    /**
     * Opens a slab within the budget.
     *
     * @param bytes   exact size, 0 allowed
     * @param purpose what it is for
     * @param source  where the memory comes from
     * @throws RefusedException     if the size is negative
     * @throws OutOfMemoryException if the budget or the source does not have it
     */
    public Region openSlab(long bytes, String purpose, Source source) {
        if (bytes > freeBytes()) {
            throw new OutOfMemoryException(device + ": " + purpose + " needs " + Sizes.exact(bytes) + " of device memory, "
                    + Sizes.exact(freeBytes()) + " are available of a budget of " + Sizes.exact(slabBudget)
                    + " (raise deviceMemory, or choose a strategy that keeps less on the device)", bytes, freeBytes());
        }
        return open(Kind.SLAB, bytes, purpose, source);
    }

    private Region open(Kind kind, long bytes, String purpose, Source source) {
        requireOpen();
        if (bytes < 0) {
            throw new RefusedException(device + ": " + purpose + ": " + bytes + " bytes (expected: an exact size of at least 0)");
        }
        return new OwnedRegion(new Holding(this, kind, source.take(bytes, purpose), bytes, purpose));
    }

    /**
     * Checks a part of a host region before it is used.
     *
     * @return the region
     * @throws RefusedException if it is no open host region of this device, or the part is not within it
     */
    public Region checkHost(Region region, long offset, long bytes) {
        return check(Kind.HOST, region, offset, bytes);
    }

    /**
     * Checks a part of a slab before it is used.
     *
     * @return the slab
     * @throws RefusedException if it is no open slab of this device, or the part is not within it
     */
    public Region checkSlab(Region region, long offset, long bytes) {
        return check(Kind.SLAB, region, offset, bytes);
    }

    private Region check(Kind kind, Region region, long offset, long bytes) {
        requireOpen();
        Holding holding = region instanceof OwnedRegion ? ((OwnedRegion) region).holding : null;
        if (holding == null || holding.regions != this || holding.kind != kind) {
            throw new RefusedException(device + ": region '" + (region == null ? null : region.purpose())
                    + "' (expected: a " + (kind == Kind.HOST ? "host region" : "slab") + " of this device)");
        }
        if (holding.isReleased()) {
            throw new RefusedException(device + ": region '" + holding.purpose + "' is closed (expected: an open region)");
        }
        if (offset < 0 || bytes < 0 || offset > holding.bytes - bytes) {
            throw new RefusedException(device + ": offset " + offset + ", length " + bytes + " in region '" + holding.purpose
                    + "' (expected: a part of its " + holding.bytes + " bytes)");
        }
        return region;
    }

    /**
     * Refuses further use of a closed device.
     *
     * @throws MemFerryException if {@link #close()} was called
     */
    public void requireOpen() {
        if (closed) {
            throw new MemFerryException(device + " is closed (expected: use before close)");
        }
    }

    /** True once {@link #close()} was called. */
    public boolean isClosed() {
        return closed;
    }

    /** Closes the regions still open, each counted as leaked and warned about; opens none after that. A second call does nothing. */
    public void close() {
        closed = true;
        for (Holding holding : open) {
            if (holding.release()) {
                metrics.regionLeaked();
                HostMemoryMetrics.leaked();
                LOG.warn("{} was closed with region {} '{}' of {} bytes still open; its memory is given back", device, holding.id,
                        holding.purpose, holding.bytes);
            }
        }
    }

    /** What is to be given back for one region. Refers to everything but the region, as its cleaner must. */
    private static final class Holding {

        private final long id = IDS.incrementAndGet();
        private final Regions regions;
        private final Kind kind;
        private final Memory memory;
        private final long address;
        private final long bytes;
        private final String purpose;
        private final AtomicBoolean released = new AtomicBoolean();

        Holding(Regions regions, Kind kind, Memory memory, long bytes, String purpose) {
            this.regions = regions;
            this.kind = kind;
            this.memory = memory;
            this.address = memory.address();
            this.bytes = bytes;
            this.purpose = purpose;
            regions.open.add(this);
            count(1);
        }

        private void count(int sign) {
            regions.metrics.regionsChanged(sign);
            if (kind == Kind.HOST) {
                regions.metrics.hostChanged(sign * bytes);
                HostMemoryMetrics.changed(sign, bytes, memory);
            } else {
                regions.metrics.slabChanged(sign * bytes);
            }
        }

        boolean isReleased() {
            return released.get();
        }

        /** Returns whether this call released it. */
        boolean release() {
            if (!released.compareAndSet(false, true)) {
                return false;
            }
            regions.open.remove(this);
            memory.free();
            count(-1);
            return true;
        }

        void forgotten() {
            if (release()) {
                HostMemoryMetrics.leaked();
                LOG.warn("{}: region {} '{}' of {} bytes was never closed and became unreachable; its memory is given back",
                        regions.device, id, purpose, bytes);
            }
        }
    }

    private static final class OwnedRegion implements Region {

        private final Holding holding;
        private final Cleaner.Cleanable cleanable;

        OwnedRegion(Holding holding) {
            this.holding = holding;
            this.cleanable = CLEANER.register(this, holding::forgotten);
        }

        @Override
        public long address() {
            return holding.address;
        }

        @Override
        public long bytes() {
            return holding.bytes;
        }

        @Override
        public String purpose() {
            return holding.purpose;
        }

        @Override
        public boolean isSlab() {
            return holding.kind == Kind.SLAB;
        }

        @Override
        public boolean isOpen() {
            return !holding.isReleased();
        }

        @Override
        public void close() {
            holding.release();
            // Takes the cleaner's entry away; its action finds nothing left to do.
            cleanable.clean();
        }

        @Override
        public String toString() {
            return holding.purpose + " (" + Sizes.format(holding.bytes) + ")";
        }
    }
}
