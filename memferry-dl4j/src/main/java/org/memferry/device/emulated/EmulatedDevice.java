package org.memferry.device.emulated;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.Function;

import org.bytedeco.javacpp.Pointer;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Address;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.NativeMemory;
import org.memferry.device.Region;
import org.memferry.device.Regions;
import org.memferry.device.Ticket;
import org.memferry.device.TimelineListener;
import org.memferry.plan.Profile;

/**
 * An accelerator made of the host's own memory: a slab within a hard budget, real copies by one thread per direction, and, where asked
 * for, a link that takes time. The host computes, so the compute stream is the calling thread.
 *
 * <p>The device cannot see reads in place, so their cost is a model: the direct bytes of a visit occupy the link to the device from
 * the moment the layer is entered, ahead of copies, which are late by that time (by the link's {@linkplain LinkRates#share share} of it), and
 * leaving the layer sleeps until they have crossed. With a compute dilation {@code k} a visit that computed for {@code op}, of these for {@code cpu} on a processor, and stood still for copies for {@code wait} lasts
 * {@code max(wait + op + (k - 1) * cpu, link)}: time for which other programs had the processor is not stretched. With a {@link Pace} it
 * lasts {@code max(wait + max(op, pace), link)}: as long every time, whatever else the processor does, as on an accelerator.
 *
 * <p>After a copy failed no later copy is carried out, and every wait throws with the first cause.
 */
public final class EmulatedDevice implements Device {

    private static final int POISON = 0xFF;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final String name;
    private final long budget;
    private final double dilation;
    private final Pace pace;
    private final boolean poison;
    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions;
    private final Failure failure;
    private final Link linkToDevice;
    private final Link linkToHost;
    private final CopyQueue toDevice;
    private final CopyQueue toHost;
    private final Address filled = new Address();

    private boolean visiting;
    private int visitLayer;
    private boolean visitBackward;
    /** The thread that trains: only its standing still counts as waited. */
    private volatile Thread visitor;
    private long visitStart;
    private long visitCpuStart;
    private long visitLinkNanos;
    private long visitBlockedNanos;

    private EmulatedDevice(Builder builder) {
        name = "emulated " + Sizes.format(builder.bytes);
        budget = builder.bytes;
        dilation = builder.dilation;
        pace = builder.pace;
        poison = builder.poison;
        regions = new Regions(name, budget, metrics);
        failure = new Failure(name);
        linkToDevice = new Link(builder.rates, Direction.TO_DEVICE);
        toDevice = builder.queue(Direction.TO_DEVICE, linkToDevice, failure, metrics);
        linkToHost = new Link(builder.rates, Direction.TO_HOST);
        toHost = builder.queue(Direction.TO_HOST, linkToHost, failure, metrics);
    }

    /**
     * Starts a device: unlimited link, no dilation, no test features unless set.
     *
     * @param bytes the budget of device memory, more than 0
     */
    public static Builder builder(long bytes) {
        return new Builder(bytes);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public boolean hasOwnMemory() {
        return true;
    }

    @Override
    public long totalBytes() {
        return budget;
    }

    @Override
    public long freeBytes() {
        return regions.freeBytes();
    }

    @Override
    public Region allocateHost(long bytes, String purpose) {
        return regions.openHost(bytes, purpose, this::take);
    }

    @Override
    public Region allocateSlab(long bytes, String purpose) {
        Region slab = regions.openSlab(bytes, purpose, this::take);
        released(slab, 0, bytes);
        return slab;
    }

    private Regions.Memory take(long bytes, String purpose) {
        NativeMemory memory = NativeMemory.zeroed(bytes, purpose);
        return new Regions.Memory() {
            @Override
            public long address() {
                return memory.address();
            }

            @Override
            public long allocatedBytes(long asked) {
                return memory.allocatedBytes(asked);
            }

            @Override
            public void free() {
                // A copy still under way may use it.
                drain();
                memory.free();
            }
        };
    }

    private void drain() {
        toDevice.drain();
        toHost.drain();
    }

    @Override
    public Ticket newTicket() {
        regions.requireOpen();
        metrics.ticketMade();
        return new EmulatedTicket(this);
    }

    @Override
    public void copyToDevice(Region host, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkHost(host, hostOffset, bytes);
        regions.checkSlab(slab, slabOffset, bytes);
        checkAll(after);
        toDevice.submit(host, hostOffset, slab, slabOffset, bytes, after, checked(done));
        metrics.copiedToDevice(bytes);
    }

    @Override
    public void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkSlab(slab, slabOffset, bytes);
        regions.checkHost(host, hostOffset, bytes);
        checkAll(after);
        toHost.submit(slab, slabOffset, host, hostOffset, bytes, after, checked(done));
        metrics.copiedToHost(bytes);
    }

    private void checkAll(Ticket[] tickets) {
        for (Ticket ticket : tickets) {
            checked(ticket);
        }
    }

    private EmulatedTicket checked(Ticket ticket) {
        if (ticket instanceof EmulatedTicket && ((EmulatedTicket) ticket).isOf(this)) {
            return (EmulatedTicket) ticket;
        }
        throw new RefusedException(name + ": ticket " + ticket + " (expected: a ticket made by this device)");
    }

    /** Marks the ticket done: the host computes, so all that was given to the compute stream is done when this is called. */
    @Override
    public void recordCompute(Ticket ticket) {
        regions.requireOpen();
        checked(ticket).recordDone();
    }

    /** Blocks like {@link #hostWaits}: the host computes. */
    @Override
    public void computeWaits(Ticket ticket) {
        hostWaits(ticket);
    }

    @Override
    public void hostWaits(Ticket ticket) {
        regions.requireOpen();
        long blocked = checked(ticket).await();
        if (blocked > 0 && (visitor == null || visitor == Thread.currentThread())) {
            metrics.waited(blocked);
            visitBlockedNanos += blocked;
        }
        failure.check();
    }

    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        regions.requireOpen();
        visitEnded();
        visitStart = System.nanoTime();
        visitLinkNanos = Math.max(linkToDevice.nanos(readBytes), linkToHost.nanos(writtenBytes));
        linkToDevice.reserve(visitStart, readBytes);
        linkToHost.reserve(visitStart, writtenBytes);
        metrics.direct(Math.addExact(readBytes, writtenBytes));
        visitBlockedNanos = 0;
        visiting = true;
        visitLayer = layer;
        visitBackward = backward;
        visitor = Thread.currentThread();
        visitCpuStart = cpuNanos();
    }

    /** Processor time of this thread, which takes part in all that ND4J computes; where it is not to be had, time without standing still. */
    private long cpuNanos() {
        return dilation > 1 && THREADS.isCurrentThreadCpuTimeSupported() ? THREADS.getCurrentThreadCpuTime()
                : System.nanoTime() - visitBlockedNanos;
    }

    @Override
    public boolean modelsInPlace() {
        return true;
    }

    @Override
    public long visitEnded() {
        if (!visiting) {
            return 0;
        }
        visiting = false;
        // Standing still for a copy is no computation, and neither is standing back for another program: both are not stretched.
        long computed = System.nanoTime() - visitStart - visitBlockedNanos + Math.round((dilation - 1) * (cpuNanos() - visitCpuStart));
        computed = visitLayer == NO_LAYER ? computed : pace.lasts(visitLayer, visitBackward, computed);
        Pause.until(visitStart + Math.max(visitBlockedNanos + computed, visitLinkNanos));
        return computed;
    }

    /** With {@code poison} fills the part with 0xFF bytes, which read as NaN in FLOAT and DOUBLE; otherwise only checks it. */
    @Override
    public void released(Region slab, long offset, long bytes) {
        regions.checkSlab(slab, offset, bytes);
        if (poison && bytes > 0) {
            Pointer.memset(filled.at(slab.address() + offset), POISON, bytes);
        }
    }

    @Override
    public void watchCopies(TimelineListener listener) {
        toDevice.watch(listener);
        toHost.watch(listener);
    }

    @Override
    public DeviceMetrics metrics() {
        return metrics;
    }

    @Override
    public void close() {
        if (regions.isClosed()) {
            return;
        }
        drain();
        toDevice.stop();
        toHost.stop();
        regions.close();
        failure.logUnreported();
    }

    /** Settings of an emulated device. Only the budget is required. */
    public static final class Builder {

        private final long bytes;
        private LinkRates rates = LinkRates.UNLIMITED;
        private double dilation = 1;
        private Pace pace = Pace.NONE;
        private boolean poison;
        private long seed;
        private long maxDelayMicros;
        private Function<Direction, Copier> copiers = direction -> Copier.memcpy();

        private Builder(long bytes) {
            this.bytes = bytes;
        }

        /** Limits the link; each direction serves at most its rate. */
        public Builder linkRates(LinkRates value) {
            rates = value;
            return this;
        }

        /** Pads every visit to this many times its computation's processor time by sleeping; at least 1. */
        public Builder computeDilation(double factor) {
            dilation = factor;
            return this;
        }

        /**
         * Pads every visit to the time that a profile has for its layer and pass by sleeping; a visit that takes longer is left as it is.
         *
         * @param profile one entry per layer of the network that is trained
         */
        public Builder pace(Profile profile) {
            pace = Pace.of(profile);
            return this;
        }

        /** Fills a fresh slab and every released part of it with NaN, so that a read of stale memory shows. */
        public Builder poison() {
            poison = true;
            return this;
        }

        /**
         * Lets every copy sleep a random time before it starts, so that a missing wait shows.
         *
         * @param randomSeed equal seeds give equal delays per direction
         * @param maxMicros  longest delay in microseconds, at least 1
         */
        public Builder randomDelays(long randomSeed, long maxMicros) {
            if (maxMicros < 1) {
                throw new RefusedException("longest random delay: " + maxMicros + " (expected: at least 1 microsecond; leave it out for"
                        + " no delay)");
            }
            seed = randomSeed;
            maxDelayMicros = maxMicros;
            return this;
        }

        /** Replaces the memcpy of a direction, so that a test can hold a copy back or let it fail. */
        Builder copiers(Function<Direction, Copier> value) {
            copiers = value;
            return this;
        }

        private CopyQueue queue(Direction direction, Link link, Failure failure, DeviceMetrics metrics) {
            return new CopyQueue(direction, link, copiers.apply(direction), failure, metrics, seed, maxDelayMicros);
        }

        /**
         * Starts the device and its two copy threads.
         *
         * @throws RefusedException if a setting is out of range; names it
         */
        public EmulatedDevice build() {
            if (bytes <= 0) {
                throw new RefusedException("emulated device memory: " + bytes + " (expected: more than 0 bytes, such as emulated:512MB)");
            }
            if (!(dilation >= 1 && dilation < Double.POSITIVE_INFINITY)) {
                throw new RefusedException("compute dilation: " + dilation + " (expected: a number of at least 1; 1 leaves visits as"
                        + " they are)");
            }
            if (dilation > 1 && pace != Pace.NONE) {
                throw new RefusedException("compute dilation " + dilation + " with a pace (expected: one of them; a pace says itself how"
                        + " long layers last)");
            }
            return new EmulatedDevice(this);
        }
    }
}
