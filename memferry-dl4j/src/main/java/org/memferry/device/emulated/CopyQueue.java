package org.memferry.device.emulated;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.TimelineListener;

/**
 * The copies of one direction, carried out one after the other by a daemon thread. Positions count from 1; the queue is done with a
 * position once that many copies are complete. Commands live in a ring that is made ahead and grows only when full, so that a steady
 * state allocates nothing.
 *
 * <p>A command waits only for positions that were submitted before it, in either queue: the two threads cannot wait for each other in
 * a circle.
 */
final class CopyQueue {

    private static final int FIRST_CAPACITY = 64;

    private final Direction direction;
    private final Link link;
    private final Copier copier;
    private final Failure failure;
    private final DeviceMetrics metrics;
    private final SplittableRandom random;
    private final long maxDelayNanos;
    private final Thread thread;
    private volatile TimelineListener listener = TimelineListener.NONE;

    // All below is guarded by this queue's monitor; completed is also read without it.
    private Command[] ring = new Command[FIRST_CAPACITY];
    private long submitted;
    private volatile long completed;
    private boolean stopping;

    /**
     * A queue with its thread running.
     *
     * @param metrics        count how long copies took
     * @param seed           of the random delays
     * @param maxDelayMicros longest random delay before a copy, in microseconds; 0 for none
     */
    CopyQueue(Direction direction, Link link, Copier copier, Failure failure, DeviceMetrics metrics, long seed,
            long maxDelayMicros) {
        this.direction = direction;
        this.link = link;
        this.copier = copier;
        this.failure = failure;
        this.metrics = metrics;
        this.random = new SplittableRandom(seed + direction.ordinal());
        this.maxDelayNanos = TimeUnit.MICROSECONDS.toNanos(maxDelayMicros);
        Arrays.setAll(ring, i -> new Command());
        this.thread = new Thread(this::carryOutAll, "memferry copies " + direction);
        thread.setDaemon(true);
        thread.start();
    }

    /** Queues a copy of checked parts and records the ticket behind it. */
    synchronized void submit(Region from, long fromOffset, Region to, long toOffset, long bytes, Ticket[] after, EmulatedTicket done) {
        if (submitted - completed == ring.length) {
            grow();
        }
        Command command = ring[(int) (submitted % ring.length)];
        command.set(from, fromOffset, to, toOffset, bytes);
        for (Ticket ticket : after) {
            ((EmulatedTicket) ticket).addTo(command);
        }
        submitted++;
        done.record(this, submitted);
        notifyAll();
    }

    private void grow() {
        Command[] larger = new Command[ring.length * 2];
        // A full ring holds as many consecutive positions as it is long: each keeps its place modulo the new length.
        for (long i = completed; i < submitted; i++) {
            larger[(int) (i % larger.length)] = ring[(int) (i % ring.length)];
        }
        for (int i = 0; i < larger.length; i++) {
            larger[i] = larger[i] == null ? new Command() : larger[i];
        }
        ring = larger;
    }

    /** Lets somebody know of every copy once it is done. */
    void watch(TimelineListener told) {
        listener = told;
    }

    boolean isDone(long position) {
        return completed >= position;
    }

    /** Blocks until a position is done; returns the nanoseconds it blocked, 0 if it did not. An interrupt is kept for later. */
    long await(long position) {
        if (isDone(position)) {
            return 0;
        }
        long start = System.nanoTime();
        boolean interrupted = false;
        synchronized (this) {
            while (!isDone(position)) {
                interrupted |= interruptedWait();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return System.nanoTime() - start;
    }

    /** Blocks until all that was submitted so far is done. */
    void drain() {
        long last;
        synchronized (this) {
            last = submitted;
        }
        await(last);
    }

    /** Ends the thread once all copies are done, and waits for that. */
    void stop() {
        synchronized (this) {
            stopping = true;
            notifyAll();
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean interruptedWait() {
        try {
            wait();
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    private void carryOutAll() {
        Command command = next();
        while (command != null) {
            try {
                carryOut(command);
            } catch (Throwable e) {
                failure.keep(e);
            }
            complete(command);
            command = next();
        }
    }

    /** The next command, or null when the queue is stopped and empty. */
    private synchronized Command next() {
        while (completed == submitted && !stopping) {
            interruptedWait();
        }
        return completed == submitted ? null : ring[(int) (completed % ring.length)];
    }

    private void carryOut(Command command) {
        long ready = command.awaitAfter();
        if (maxDelayNanos > 0) {
            ready = System.nanoTime() + random.nextLong(maxDelayNanos + 1);
            Pause.until(ready);
        }
        if (failure.happened()) {
            return;
        }
        long start = System.nanoTime();
        link.startCopy(ready, command.bytes);
        if (command.bytes > 0) {
            copier.copy(command.from.address() + command.fromOffset, command.to.address() + command.toOffset, command.bytes);
        }
        link.finishCopy();
        long end = System.nanoTime();
        metrics.copyTook(direction, end - start);
        listener.copied(direction, direction == Direction.TO_DEVICE ? command.fromOffset : command.toOffset, command.bytes, start, end);
    }

    private synchronized void complete(Command command) {
        command.clear();
        completed++;
        notifyAll();
    }

    /** One copy. Holds on to its regions, so that a region forgotten by its owner outlives the copy. */
    static final class Command {

        private Region from;
        private long fromOffset;
        private Region to;
        private long toOffset;
        private long bytes;
        private long submittedAt;
        private CopyQueue[] afterQueue = new CopyQueue[4];
        private long[] afterPosition = new long[4];
        private int afterCount;

        private void set(Region source, long sourceOffset, Region target, long targetOffset, long length) {
            from = source;
            fromOffset = sourceOffset;
            to = target;
            toOffset = targetOffset;
            bytes = length;
            submittedAt = System.nanoTime();
        }

        void addAfter(CopyQueue queue, long position) {
            if (afterCount == afterQueue.length) {
                afterQueue = Arrays.copyOf(afterQueue, afterCount * 2);
                afterPosition = Arrays.copyOf(afterPosition, afterCount * 2);
            }
            afterQueue[afterCount] = queue;
            afterPosition[afterCount] = position;
            afterCount++;
        }

        /**
         * Blocks for what comes first; returns when the copy could have started. Without blocking that is the time of submission, so that
         * back-to-back copies do not lose to a late wake-up what the link had served them by then.
         */
        private long awaitAfter() {
            long blocked = 0;
            for (int i = 0; i < afterCount; i++) {
                blocked += afterQueue[i].await(afterPosition[i]);
            }
            return blocked > 0 ? System.nanoTime() : submittedAt;
        }

        private void clear() {
            from = null;
            to = null;
            Arrays.fill(afterQueue, 0, afterCount, null);
            afterCount = 0;
        }
    }
}
