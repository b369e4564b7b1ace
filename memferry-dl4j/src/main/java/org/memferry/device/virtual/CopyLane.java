package org.memferry.device.virtual;

import java.util.Arrays;

import org.memferry.device.Direction;
import org.memferry.device.TimelineListener;

/**
 * One direction of the link of a {@link VirtualDevice}: its copies run one after the other in the order of submission, each from when
 * the copies of the other direction that it names are done. Reads or writes in place go first: while they have the lane, a copy under
 * way loses the lane's share of their time. With a share of 1 it stands still, with one between 0 and 1 it moves slower, and with more than
 * 1 it is behind by more than they took.
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
    /** What a copy loses per nanosecond of reads or writes in place. */
    private final double share;
    private long done;
    private long submitted;
    /** Reads or writes in place have the lane from and until then. */
    private long takenFrom;
    private long freeAt;

    // Rings, by number: what is left of the copy; when it started; how many copies of the other lane must be done; what it carries.
    private long[] left = new long[64];
    private long[] start = new long[64];
    private long[] afterOther = new long[64];
    private long[] hostOffset = new long[64];
    private long[] bytes = new long[64];

    CopyLane(Direction direction, double share, TimelineListener listener) {
        this.direction = direction;
        this.share = share;
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
        return submitted++;
    }

    /** Gives the lane to reads or writes in place, from now or from the end of those that have it. */
    void reserve(long now, long nanos) {
        takenFrom = freeAt > now ? takenFrom : now;
        freeAt = Math.max(freeAt, now) + nanos;
    }

    boolean isDone(long number) {
        return number < done;
    }

    /** Number of copies done. */
    long done() {
        return done;
    }

    /** The copies not done, in order: of each the first byte in the host region and what it still needs of the lane. */
    long[] pending() {
        long[] pending = new long[2 * (int) (submitted - done)];
        for (int i = 0; i < pending.length; i += 2) {
            int at = at(done + i / 2);
            pending[i] = hostOffset[at];
            pending[i + 1] = left[at];
        }
        return pending;
    }

    /** The part of its own pace at which a copy moves now; 0 if none does. */
    double pace(long now) {
        return !isUnderWay() ? 0 : freeAt <= now ? 1 : Math.max(0, 1 - share);
    }

    private boolean isUnderWay() {
        return done < submitted && start[at(done)] != WAITING;
    }

    /** When a copy ends or changes its pace, if nothing new comes in; {@link #NEVER} if none is under way. */
    long nextChange(long now) {
        if (!isUnderWay()) {
            return NEVER;
        }
        return freeAt > now ? Math.min(freeAt, endBesideOthers(now)) : now + left[at(done)];
    }

    /** When the copy under way ends if the lane stays taken. */
    private long endBesideOthers(long now) {
        if (share >= 1) {
            return NEVER;
        }
        long needed = left[at(done)];
        // Off by the rounding of what is lost: no more than a few nanoseconds to either side.
        long end = now + (long) Math.min(freeAt - now, needed / (1 - share));
        while (end < freeAt && moved(now, end) < needed) {
            end++;
        }
        while (end > now && moved(now, end - 1) >= needed) {
            end--;
        }
        return end;
    }

    /** By how much a copy gets on in a time in which the lane is taken all along or not at all. */
    private long moved(long from, long until) {
        return until - from - (freeAt > from ? lost(until) - lost(from) : 0);
    }

    /** What a copy has lost by a time to those that have the lane, if it was under way since they took it: rounded once, at any time. */
    private long lost(long time) {
        return Math.round(share * (time - takenFrom));
    }

    /** Lets time pass, no further than to {@link #nextChange}. */
    void pass(long now, long until) {
        if (isUnderWay()) {
            int head = at(done);
            start[head] = start[head] == READY && pace(now) > 0 ? now : start[head];
            left[head] -= moved(now, until);
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
