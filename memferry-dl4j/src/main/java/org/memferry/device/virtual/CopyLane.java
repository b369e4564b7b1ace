package org.memferry.device.virtual;

import java.util.Arrays;

import org.memferry.device.Direction;
import org.memferry.device.TimelineListener;

/**
 * One direction of the link of a {@link VirtualDevice}: its copies run one after the other in the order of submission, each from when
 * the copies of the other direction that it names are done. Reads or writes in place go first: while they have the lane, a copy under
 * way stands still.
 *
 * <p>Copies are numbered from 0 in order of submission and live in a ring until they are done, which grows only when full.
 */
final class CopyLane {

    /** Nothing will happen. */
    static final long NEVER = Long.MAX_VALUE;
    /** In place of a start: copies before it or of the other lane are not done. */
    private static final long WAITING = -1;
    /** In place of a start: nothing but reads or writes in place keeps it from moving. */
    private static final long READY = -2;

    private final Direction direction;
    private final TimelineListener listener;
    private long done;
    private long submitted;
    /** Reads or writes in place have the lane until then. */
    private long freeAt;
    private long pendingNanos;

    // Rings, by number: what is left of the copy; when it started; how many copies of the other lane must be done; what it carries.
    private long[] left = new long[64];
    private long[] start = new long[64];
    private long[] afterOther = new long[64];
    private long[] hostOffset = new long[64];
    private long[] bytes = new long[64];

    CopyLane(Direction direction, TimelineListener listener) {
        this.direction = direction;
        this.listener = listener;
    }

    /**
     * Puts a copy behind those submitted before; returns its number.
     *
     * @param nanos      how long it has the lane
     * @param othersDone how many copies of the other lane must be done before it starts
     * @param offset     first byte in the host region
     * @param length     in bytes
     */
    long submit(long nanos, long othersDone, long offset, long length) {
        if (submitted - done == left.length) {
            grow();
        }
        int at = at(submitted);
        left[at] = nanos;
        start[at] = WAITING;
        afterOther[at] = othersDone;
        hostOffset[at] = offset;
        bytes[at] = length;
        pendingNanos += nanos;
        return submitted++;
    }

    /** Gives the lane to reads or writes in place, from now or from the end of those that have it. */
    void reserve(long now, long nanos) {
        freeAt = Math.max(freeAt, now) + nanos;
    }

    boolean isDone(long number) {
        return number < done;
    }

    /** Number of copies done. */
    long done() {
        return done;
    }

    /** What the copies not done still need of the lane. */
    long pendingNanos() {
        return pendingNanos;
    }

    /** True if a copy moves now. */
    boolean isRunning(long now) {
        return isUnderWay() && freeAt <= now;
    }

    private boolean isUnderWay() {
        return done < submitted && start[at(done)] != WAITING;
    }

    /** When a copy stops or goes on, if nothing new comes in; {@link #NEVER} if none is under way. */
    long nextChange(long now) {
        if (!isUnderWay()) {
            return NEVER;
        }
        return freeAt > now ? freeAt : now + left[at(done)];
    }

    /** Lets time pass, no further than to {@link #nextChange}. */
    void pass(long now, long until) {
        if (isRunning(now)) {
            int head = at(done);
            start[head] = start[head] == READY ? now : start[head];
            left[head] -= until - now;
            pendingNanos -= until - now;
        }
    }

    /** Ends what is carried and starts what can start, as of now. */
    void settle(long now, CopyLane other) {
        while (done < submitted) {
            int head = at(done);
            if (afterOther[head] > other.done) {
                return;
            }
            start[head] = start[head] == WAITING ? READY : start[head];
            if (left[head] > 0) {
                return;
            }
            done++;
            listener.copied(direction, hostOffset[head], bytes[head], start[head] == READY ? now : start[head], now);
        }
    }

    private int at(long number) {
        return (int) (number & left.length - 1);
    }

    private void grow() {
        left = doubled(left);
        start = doubled(start);
        afterOther = doubled(afterOther);
        hostOffset = doubled(hostOffset);
        bytes = doubled(bytes);
    }

    /** A full ring keeps its order when a copy of itself is put behind it: a number finds its place in one half or the other. */
    private static long[] doubled(long[] ring) {
        long[] larger = Arrays.copyOf(ring, 2 * ring.length);
        System.arraycopy(ring, 0, larger, ring.length, ring.length);
        return larger;
    }
}
