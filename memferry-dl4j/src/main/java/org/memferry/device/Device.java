package org.memferry.device;

/**
 * One accelerator as MemFerry sees it: host memory that the accelerator can address, one slab of its own memory, asynchronous copies
 * between the two, and an order between copies and computations.
 *
 * <p>Two copy queues exist, one per direction; copies of one queue run in the order they were submitted. Computation has its own
 * queue, the <em>compute stream</em>; where the host computes (the CPU backend), the compute stream is the calling thread. A
 * {@link Ticket} marks a point in one of these queues, and a queue or the host can be told to wait for it.
 *
 * <p>Tickets are made once, when a plan becomes final, and recorded again in every iteration: after that a device allocates nothing.
 * All methods are called by the thread that trains, and {@link #metrics()} by any. Where the optimizer steps beside backward its thread
 * calls {@link #hostWaits} and {@link #copyToDevice} too; the caller sees to it that copies are submitted by one thread at a time.
 */
public interface Device extends AutoCloseable {

    /** In place of the index of a layer: what is read or written in place is none's. */
    int NO_LAYER = -1;

    /** What to call this device in plans and logs, for example {@code host} or {@code emulated 512 MB}. */
    String name();

    /** False where the accelerator computes in host memory itself (the CPU backend): then there is no slab and nothing is copied. */
    boolean hasOwnMemory();

    /** The device's memory in bytes, the budget where one was given; {@link Long#MAX_VALUE} without own memory. */
    long totalBytes();

    /** Bytes of {@link #totalBytes()} not taken by a slab. */
    long freeBytes();

    /**
     * Takes zeroed host memory that the accelerator can address.
     *
     * @param bytes   exact size, 0 allowed
     * @param purpose what it is for, named in errors and metrics
     * @throws org.memferry.base.OutOfMemoryException if the host does not have it
     */
    Region allocateHost(long bytes, String purpose);

    /**
     * Whether the computation can read and write a host region in place. False only for memory that a card cannot address, where a fall-back
     * had to do: then it can be copied from and to, and nothing else.
     */
    default boolean canUseInPlace(Region host) {
        return true;
    }

    /** True if host memory is pinned where the system lets it be: there may be less of that than of memory. */
    default boolean pinsHostMemory() {
        return false;
    }

    /**
     * Takes device memory; at most one slab is open at a time for one attachment.
     *
     * @throws org.memferry.base.OutOfMemoryException if {@link #freeBytes()} is less
     */
    Region allocateSlab(long bytes, String purpose);

    /** A new ticket, done until it is first recorded. */
    Ticket newTicket();

    /**
     * Submits a copy from the host to the slab.
     *
     * @param after tickets that must be done before the copy starts; may be empty
     * @param done  recorded right behind the copy
     */
    void copyToDevice(Region host, long hostOffset, Region slab, long slabOffset, long bytes, Ticket[] after, Ticket done);

    /** Submits a copy from the slab to the host; parameters as in {@link #copyToDevice}. */
    void copyToHost(Region slab, long slabOffset, Region host, long hostOffset, long bytes, Ticket[] after, Ticket done);

    /** Records the ticket behind all that was given to the compute stream so far. */
    void recordCompute(Ticket ticket);

    /** Lets later work of the compute stream wait for the ticket. */
    void computeWaits(Ticket ticket);

    /**
     * Blocks the calling thread until the ticket is done. Time that the training thread stands still counts as waited.
     *
     * @throws org.memferry.base.MemFerryException if the work behind the ticket failed
     */
    void hostWaits(Ticket ticket);

    /**
     * Tells the device that the compute stream enters a layer in one pass. A device that cannot see the computation's reads (emulated,
     * virtual) models from this what reading in place costs. A visit still open ends: nobody says when an inference pass does, and several
     * attachments may share a device.
     *
     * @param layer        index of the layer, or {@link #NO_LAYER}
     * @param backward     the pass
     * @param readBytes    bytes that this visit reads in place over the link, touches included; 0 if none
     * @param writtenBytes bytes that it writes in place, likewise
     */
    void visitStarted(int layer, boolean backward, long readBytes, long writtenBytes);

    /**
     * Tells the device that the compute stream left the layer entered last; does nothing if no visit is open.
     *
     * @return nanoseconds that the visit computed, without what it stood still for copies, and, on a device that can tell the two apart,
     *         without what reads and writes in place took beyond; 0 if no visit was open
     */
    long visitEnded();

    /**
     * True where the computation is queued behind the host that asks for it: what a clock of the host reads at both ends of a visit then says how
     * long it took to ask, unless visits are {@linkplain #timeVisits timed}.
     */
    default boolean computesBehindHost() {
        return false;
    }

    /**
     * Whether the host meets the computation at both ends of every visit and wherever one waits for a copy, so that {@link #visitEnded} tells what
     * was computed. It costs what the two overlap otherwise, and is for the iterations that are measured. Changes nothing where the host computes.
     */
    default void timeVisits(boolean exactly) {
    }

    /**
     * True if what reads and writes in place take is modelled from their bytes and touches, and no part of what {@link #visitEnded} tells; false if
     * a visit that reads in place computes for longer.
     */
    default boolean modelsInPlace() {
        return false;
    }

    /**
     * Tells the device that the content of a part of the slab must not be read any more. A device made for tests overwrites it with
     * NaN, so that a read through a stale array shows.
     */
    void released(Region slab, long offset, long bytes);

    /**
     * Lets somebody know of every copy once it is done, until told otherwise. A device whose copies leave no times behind does nothing.
     *
     * @param listener called by the threads that copy; {@link TimelineListener#NONE} to stop
     */
    default void watchCopies(TimelineListener listener) {
    }

    /** Counters of what this device holds and did. */
    DeviceMetrics metrics();

    /** Waits for all copies, then gives back the queues. Regions still open are closed and counted as leaked. */
    @Override
    void close();
}
