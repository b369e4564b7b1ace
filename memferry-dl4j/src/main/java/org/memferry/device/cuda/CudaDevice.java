package org.memferry.device.cuda;

import java.io.IOException;
import java.nio.channels.Pipe;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.cudaHostFn_t;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Address;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.Region;
import org.memferry.device.Regions;
import org.memferry.device.Ticket;

/**
 * A card with CUDA: pinned host memory, slabs in the card's memory, one stream per direction of copying, and events as tickets.
 *
 * <p>The two streams do not wait for the legacy default stream, in which ND4J copies. Order comes from events alone: a copy's stream waits for
 * the events of the tickets the copy comes after, the compute stream for those that the computation needs. Where the host computes (ND4J's
 * CPU backend, which can do so only if it can read the device's memory) the host itself waits, and what it computed is done when recorded.
 *
 * <p>The compute stream is that of the thread that computes: the thread that entered a layer or waited last. Another thread, such as the one
 * that takes the optimizer's steps, that records a ticket records it there and not behind what it would compute itself.
 *
 * <p>Only functions of the runtime are called that CUDA 11.2, 11.6 and 13.1 have with the same signature, and no structure is read, since
 * their layouts differ.
 */
public final class CudaDevice implements Device {

    private static final int POISON = 0xFF;

    private final int index;
    private final String name;
    private final CudaCalls calls;
    private final long budget;
    private final ComputeStream compute;
    private final boolean poison;
    private final DeviceMetrics metrics = new DeviceMetrics();
    private final Regions regions;
    private final PinnedMemory hostMemory;
    private final CudaEvents events;
    private final int computeCapability;
    private final CUstream_st toDevice;
    private final CUstream_st toHost;
    private final CopyDelays delays;
    /** Pointed at what a call is about. Copies are submitted, and parts released, by one thread at a time. */
    private final Address target = new Address();
    private final Address source = new Address();

    /** Of the thread that computed last. */
    private volatile CUstream_st computing = new CUstream_st();
    private boolean visiting;
    /** The thread that trains: only its standing still counts as waited. */
    private volatile Thread visitor;
    private long visitStart;
    private long visitBlockedNanos;
    private boolean exactVisits;

    private CudaDevice(Builder builder) {
        index = builder.index;
        calls = new CudaCalls("cuda:" + index);
        compute = builder.compute;
        poison = builder.poison;
        delays = builder.maxDelayMicros > 0 ? new CopyDelays(builder.seed, builder.maxDelayMicros) : null;
        calls.check(cudart.cudaSetDevice(index), "cudaSetDevice(" + index + ")");
        requireUnifiedAddresses();
        computeCapability = attribute(cudart.cudaDevAttrComputeCapabilityMajor, "compute capability, major") * 10
                + attribute(cudart.cudaDevAttrComputeCapabilityMinor, "compute capability, minor");
        budget = builder.bytes > 0 ? builder.bytes : memory(false);
        name = "cuda:" + index + " sm_" + computeCapability + " " + Sizes.format(budget);
        regions = new Regions(name, budget, metrics);
        boolean sameAddresses = attribute(cudart.cudaDevAttrCanUseHostPointerForRegisteredMem, "host pointers for registered memory") == 1;
        hostMemory = new PinnedMemory(calls, name, metrics, sameAddresses || hostComputes(), this::drain);
        events = new CudaEvents(calls);
        if (hostComputes()) {
            requireReadableMemory();
        }
        toDevice = stream(Direction.TO_DEVICE);
        toHost = secondStream();
    }

    /**
     * Starts a device: all of the card's memory, the host computes, no test features unless set.
     *
     * @param index of the card as CUDA numbers them
     */
    public static Builder builder(int index) {
        return new Builder(index);
    }

    private boolean hostComputes() {
        return compute == ComputeStream.HOST;
    }

    private int attribute(int which, String what) {
        int[] value = new int[1];
        calls.check(cudart.cudaDeviceGetAttribute(value, which, index), "cudaDeviceGetAttribute(" + what + ")");
        return value[0];
    }

    private void requireUnifiedAddresses() {
        if (attribute(cudart.cudaDevAttrUnifiedAddressing, "unified addressing") != 1
                || attribute(cudart.cudaDevAttrCanMapHostMemory, "mapped host memory") != 1) {
            throw new RefusedException("device 'cuda:" + index + "': the card does not address host memory as the host does (expected: unified addressing"
                    + " and mapped host memory, which cards since 2010 have under 64-bit Linux; use host or emulated:<size> without such a card)");
        }
    }

    /** A card's own memory cannot be read by the CPU: the system is asked, as the CPU's answer would be the end of the process. */
    private void requireReadableMemory() {
        BytePointer probe = new BytePointer();
        calls.check(cudart.cudaMalloc(probe, 1), "cudaMalloc(1 byte to see who can read it)");
        try {
            if (!isReadable(probe.capacity(1))) {
                throw new RefusedException("device 'cuda:" + index + "': nd4j-native computes on the CPU and cannot compute in the memory of a card"
                        + " (expected: ND4J's CUDA backend on the class path in place of nd4j-native; use host or emulated:<size> with nd4j-native)");
            }
        } finally {
            calls.giveBack("cudaFree", () -> cudart.cudaFree(probe));
        }
    }

    private static boolean isReadable(BytePointer memory) {
        Pipe pipe = null;
        try {
            pipe = Pipe.open();
            return pipe.sink().write(memory.asByteBuffer()) == 1;
        } catch (IOException e) {
            return false;
        } finally {
            close(pipe);
        }
    }

    private static void close(Pipe pipe) {
        try {
            if (pipe != null) {
                pipe.sink().close();
                pipe.source().close();
            }
        } catch (IOException e) {
            // Nothing was lost: the pipe held one byte that nobody wants.
        }
    }

    private CUstream_st stream(Direction direction) {
        CUstream_st stream = new CUstream_st();
        calls.check(cudart.cudaStreamCreateWithFlags(stream, cudart.cudaStreamNonBlocking), "cudaStreamCreateWithFlags(for copies " + direction
                + ", non-blocking)");
        return stream;
    }

    private CUstream_st secondStream() {
        try {
            return stream(Direction.TO_HOST);
        } catch (RuntimeException e) {
            calls.giveBack("cudaStreamDestroy", () -> cudart.cudaStreamDestroy(toDevice));
            throw e;
        }
    }

    /** The card's number, as CUDA numbers them. */
    public int index() {
        return index;
    }

    /** Major and minor number of what the card can do, for example 86 or 90; which of ND4J's builds run depends on it. */
    public int computeCapability() {
        return computeCapability;
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

    /** Bytes that no slab holds, of the budget where one was given; never more than the card has free, as others use it too. */
    @Override
    public long freeBytes() {
        return Math.min(regions.freeBytes(), memory(true));
    }

    private long memory(boolean onlyFree) {
        try (SizeTPointer free = new SizeTPointer(1); SizeTPointer total = new SizeTPointer(1)) {
            calls.check(cudart.cudaSetDevice(index), "cudaSetDevice(" + index + ")");
            calls.check(cudart.cudaMemGetInfo(free, total), "cudaMemGetInfo()");
            return onlyFree ? free.get() : total.get();
        }
    }

    @Override
    public Region allocateHost(long bytes, String purpose) {
        return regions.openHost(bytes, purpose, hostMemory::take);
    }

    /** False for memory that could not be pinned, unless the host computes. */
    @Override
    public boolean canUseInPlace(Region host) {
        return hostComputes() || hostMemory.isAddressable(host.address());
    }

    @Override
    public Region allocateSlab(long bytes, String purpose) {
        Region slab = regions.openSlab(bytes, purpose, this::takeSlab);
        try {
            released(slab, 0, bytes);
            if (poison && !hostComputes()) {
                // The first copy has no ticket to wait for.
                meetComputation();
            }
        } catch (RuntimeException e) {
            slab.close();
            throw e;
        }
        return slab;
    }

    private Regions.Memory takeSlab(long bytes, String purpose) {
        calls.check(cudart.cudaSetDevice(index), "cudaSetDevice(" + index + ")");
        Address block = new Address();
        int code = cudart.cudaMalloc(block, Math.max(1, bytes));
        if (code == cudart.cudaErrorMemoryAllocation) {
            CudaCalls.name(code);
            throw new OutOfMemoryException(name + ": " + purpose + " needs " + Sizes.exact(bytes) + " of device memory: cudaMalloc refused it; "
                    + CudaCalls.memory() + " (close what else uses the card, lower the batch, or choose a strategy that keeps less on the device)",
                    bytes, freeBytes());
        }
        calls.check(code, "cudaMalloc(" + bytes + " bytes for " + purpose + ")");
        return new Regions.Memory() {
            @Override
            public long address() {
                return block.address();
            }

            @Override
            public void free() {
                drain();
                calls.giveBack("cudaFree", () -> cudart.cudaFree(block));
            }
        };
    }

    /** Waits until no copy of ours, and no computation on the card, uses any memory any more. */
    private void drain() {
        if (hostComputes()) {
            calls.giveBack("cudaStreamSynchronize", () -> cudart.cudaStreamSynchronize(toDevice));
            calls.giveBack("cudaStreamSynchronize", () -> cudart.cudaStreamSynchronize(toHost));
        } else {
            calls.giveBack("cudaDeviceSynchronize", cudart::cudaDeviceSynchronize);
        }
    }

    @Override
    public Ticket newTicket() {
        regions.requireOpen();
        CudaTicket ticket = events.ticketOf(this);
        metrics.ticketMade();
        return ticket;
    }

    @Override
    public void copyToDevice(Region host, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkHost(host, hostOffset, bytes);
        regions.checkSlab(slab, slabOffset, bytes);
        copy(host, hostOffset, slab, slabOffset, bytes, after, done, Direction.TO_DEVICE);
        metrics.copiedToDevice(bytes);
    }

    @Override
    public void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done) {
        regions.checkSlab(slab, slabOffset, bytes);
        regions.checkHost(host, hostOffset, bytes);
        copy(slab, slabOffset, host, hostOffset, bytes, after, done, Direction.TO_HOST);
        metrics.copiedToHost(bytes);
    }

    private void copy(Region from, long fromOffset, Region to, long toOffset, long bytes, Ticket[] after, Ticket done, Direction direction) {
        CudaTicket last = checked(done);
        for (Ticket ticket : after) {
            checked(ticket);
        }
        CUstream_st stream = direction == Direction.TO_DEVICE ? toDevice : toHost;
        for (Ticket ticket : after) {
            streamWaits(stream, (CudaTicket) ticket);
        }
        if (bytes > 0) {
            if (delays != null) {
                delays.submitTo(stream, calls);
            }
            int kind = direction == Direction.TO_DEVICE ? cudart.cudaMemcpyHostToDevice : cudart.cudaMemcpyDeviceToHost;
            int code = cudart.cudaMemcpyAsync(target.at(to.address() + toOffset), source.at(from.address() + fromOffset), bytes, kind, stream);
            if (code != cudart.cudaSuccess) {
                throw calls.failed(code, "cudaMemcpyAsync(" + bytes + " bytes " + direction + ", from '" + from.purpose() + "' at " + fromOffset
                        + " to '" + to.purpose() + "' at " + toOffset + ")");
            }
        }
        try {
            record(last, stream);
        } catch (RuntimeException e) {
            // Nobody can wait for the copy then, so that it must not be under way any more.
            calls.giveBack("cudaStreamSynchronize", () -> cudart.cudaStreamSynchronize(stream));
            throw e;
        }
    }

    private void streamWaits(CUstream_st stream, CudaTicket ticket) {
        if (ticket.isRecorded()) {
            int code = cudart.cudaStreamWaitEvent(stream, ticket.event(), 0);
            if (code != cudart.cudaSuccess) {
                throw calls.failed(code, "cudaStreamWaitEvent()");
            }
        }
    }

    private void record(CudaTicket ticket, CUstream_st stream) {
        int code = cudart.cudaEventRecord(ticket.event(), stream);
        if (code != cudart.cudaSuccess) {
            throw calls.failed(code, "cudaEventRecord()");
        }
        ticket.recorded();
    }

    private CudaTicket checked(Ticket ticket) {
        if (ticket instanceof CudaTicket && ((CudaTicket) ticket).isOf(this)) {
            return (CudaTicket) ticket;
        }
        throw new RefusedException(name + ": ticket " + ticket + " (expected: a ticket made by this device)");
    }

    /** On the stream of the thread that computed last, whoever calls; marks the ticket done where the host computes. */
    @Override
    public void recordCompute(Ticket ticket) {
        regions.requireOpen();
        CudaTicket point = checked(ticket);
        if (hostComputes()) {
            point.recordedDone();
        } else {
            record(point, computing);
        }
    }

    /** Lets the calling thread's stream wait, which computes from now on; blocks like {@link #hostWaits} where the host computes. */
    @Override
    public void computeWaits(Ticket ticket) {
        if (hostComputes()) {
            hostWaits(ticket);
            return;
        }
        regions.requireOpen();
        CudaTicket point = checked(ticket);
        CUstream_st stream = presentStream();
        if (exactVisits && visiting) {
            meetComputation();
            hostWaits(ticket);
        }
        streamWaits(stream, point);
    }

    @Override
    public boolean pinsHostMemory() {
        return true;
    }

    @Override
    public boolean computesBehindHost() {
        return !hostComputes();
    }

    @Override
    public void timeVisits(boolean exactly) {
        exactVisits = exactly && !hostComputes();
    }

    private void meetComputation() {
        calls.check(cudart.cudaStreamSynchronize(computing), "cudaStreamSynchronize(compute stream)");
    }

    /** The calling thread's compute stream, from now on the one that tickets are recorded on. */
    private CUstream_st presentStream() {
        long handle = compute.handle();
        CUstream_st present = computing;
        if (present.address() != handle) {
            present = new CUstream_st(new Address().at(handle));
            computing = present;
        }
        return present;
    }

    @Override
    public void hostWaits(Ticket ticket) {
        regions.requireOpen();
        CudaTicket point = checked(ticket);
        if (point.isDone()) {
            return;
        }
        long start = System.nanoTime();
        int code = cudart.cudaEventSynchronize(point.event());
        if (code != cudart.cudaSuccess) {
            throw calls.failed(code, "cudaEventSynchronize()");
        }
        if (visitor == null || visitor == Thread.currentThread()) {
            long blocked = System.nanoTime() - start;
            metrics.waited(blocked);
            visitBlockedNanos += blocked;
        }
    }

    /** Whether an event's latest record has been reached. */
    boolean isReached(CUevent_st event) {
        int code = cudart.cudaEventQuery(event);
        if (code == cudart.cudaSuccess) {
            return true;
        }
        if (code == cudart.cudaErrorNotReady) {
            // An answer and no failure, but the runtime keeps it as one.
            cudart.cudaGetLastError();
            return false;
        }
        throw calls.failed(code, "cudaEventQuery()");
    }

    /** Starts a clock of the host. What is read in place crosses the link on the card, as part of what it computes; its bytes are counted. */
    @Override
    public void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes) {
        regions.requireOpen();
        if (!hostComputes()) {
            presentStream();
        }
        if (exactVisits) {
            meetComputation();
        }
        metrics.direct(Math.addExact(readBytes, writtenBytes));
        visitBlockedNanos = 0;
        visiting = true;
        visitor = Thread.currentThread();
        visitStart = System.nanoTime();
    }

    @Override
    public long visitEnded() {
        if (!visiting) {
            return 0;
        }
        visiting = false;
        if (exactVisits) {
            meetComputation();
        }
        return System.nanoTime() - visitStart - visitBlockedNanos;
    }

    /** With {@code poison} fills the part with 0xFF bytes, which read as NaN, behind what was computed so far; otherwise only checks it. */
    @Override
    public void released(Region slab, long offset, long bytes) {
        regions.checkSlab(slab, offset, bytes);
        if (!poison || bytes == 0) {
            return;
        }
        target.at(slab.address() + offset);
        if (hostComputes()) {
            calls.check(cudart.cudaMemset(target, POISON, bytes), "cudaMemset()");
            calls.check(cudart.cudaStreamSynchronize(null), "cudaStreamSynchronize(default stream)");
        } else {
            calls.check(cudart.cudaMemsetAsync(target, POISON, bytes, presentStream()), "cudaMemsetAsync()");
        }
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
        calls.giveBack("cudaSetDevice", () -> cudart.cudaSetDevice(index));
        drain();
        regions.close();
        events.close();
        calls.giveBack("cudaStreamDestroy", () -> cudart.cudaStreamDestroy(toDevice));
        calls.giveBack("cudaStreamDestroy", () -> cudart.cudaStreamDestroy(toHost));
    }

    /** Settings of a card. */
    public static final class Builder {

        private final int index;
        private long bytes;
        private ComputeStream compute = ComputeStream.HOST;
        private boolean poison;
        private long seed;
        private long maxDelayMicros;

        private Builder(int index) {
            this.index = index;
        }

        /** Limits what slabs may hold; without, the card's memory does. */
        public Builder memory(long budget) {
            if (budget <= 0) {
                throw new RefusedException("cuda:" + index + " memory: " + budget + " (expected: more than 0 bytes, such as cuda:0,memory=6GB; leave it"
                        + " out for all of the card's)");
            }
            bytes = budget;
            return this;
        }

        /** Where the computation runs. */
        public Builder compute(ComputeStream stream) {
            compute = stream;
            return this;
        }

        /** Fills a fresh slab and every released part of it with NaN, so that a read of stale memory shows. */
        public Builder poison() {
            poison = true;
            return this;
        }

        /**
         * Lets every copy start late by a random time, so that a missing wait shows.
         *
         * @param randomSeed equal seeds give equal delays
         * @param maxMicros  longest delay in microseconds, at least 1
         */
        public Builder randomDelays(long randomSeed, long maxMicros) {
            if (maxMicros < 1) {
                throw new RefusedException("cuda:" + index + " longest random delay: " + maxMicros + " (expected: at least 1 microsecond; leave it out for"
                        + " no delay)");
            }
            seed = randomSeed;
            maxDelayMicros = maxMicros;
            return this;
        }

        /**
         * Opens the card.
         *
         * @throws RefusedException if there is no CUDA runtime, no driver for it, no such card, or one that cannot serve; says which
         */
        public CudaDevice build() {
            CudaLibraries.require("cuda:" + index);
            CudaCards.require(index);
            return new CudaDevice(this);
        }
    }

    /** Random sleeps in front of copies, carried out by the streams. */
    private static final class CopyDelays {

        /** One for all: JavaCPP has few callbacks of a type. The argument's address is the time, in microseconds. */
        private static final Sleep SLEEP = new Sleep();

        private final SplittableRandom random;
        private final long maxMicros;
        private final Address micros = new Address();

        CopyDelays(long seed, long maxMicros) {
            this.random = new SplittableRandom(seed);
            this.maxMicros = maxMicros;
        }

        void submitTo(CUstream_st stream, CudaCalls calls) {
            calls.check(cudart.cudaLaunchHostFunc(stream, SLEEP, micros.at(random.nextLong(maxMicros + 1))), "cudaLaunchHostFunc(delay of a copy)");
        }

        private static final class Sleep extends cudaHostFn_t {

            @Override
            public void call(Pointer argument) {
                if (argument != null) {
                    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(argument.address()));
                }
            }
        }
    }
}
