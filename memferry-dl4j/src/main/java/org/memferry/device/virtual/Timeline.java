package org.memferry.device.virtual;

import java.util.Arrays;

import org.memferry.device.Direction;

/**
 * When the copies of a {@link VirtualDevice} start and end, in nanoseconds of virtual time. Copies of one direction run one after the
 * other in the order of submission. Reads in place occupy the direction to the device and go first: a copy is carried only in the
 * time they leave, so a reservation made later moves the end of copies that have been planned across it, and what depends on them.
 *
 * <p>Copies are numbered from 0 in order of submission. One whose end the host has passed needs no memory any more; the rest live in a
 * ring that grows only when full.
 */
final class Timeline {

    private static final long NOT_PLANNED = Long.MAX_VALUE;

    private Copy[] ring = new Copy[64];
    private long first;
    private long next;

    // The link's occupation by reads in place: disjoint, ascending.
    private long[] busyStart = new long[64];
    private long[] busyEnd = new long[64];
    private int busyCount;

    Timeline() {
        Arrays.setAll(ring, i -> new Copy());
    }

    /**
     * Starts the description of a copy, completed by {@link #after} and {@link #submit}.
     *
     * @param earliest when the host submits it
     * @param nanos    how long it occupies its direction
     */
    void begin(Direction direction, long earliest, long nanos) {
        if (next - first == ring.length) {
            grow();
        }
        at(next).set(direction, earliest, nanos);
    }

    /** Lets the copy just begun start no earlier than a ticket's latest record. */
    void after(VirtualTicket ticket) {
        Copy copy = at(next);
        if (ticket.copy() == VirtualTicket.NO_COPY) {
            copy.start = Math.max(copy.start, ticket.nanos());
        } else if (ticket.copy() >= first) {
            copy.addAfter(ticket.copy());
        }
    }

    /** Puts the copy just begun behind those of its direction; returns its number. */
    long submit() {
        next++;
        plan(NOT_PLANNED - 1);
        return next - 1;
    }

    /**
     * Reserves the direction to the device for reads in place.
     *
     * @param start no earlier than the start of any reservation before, and no earlier than the end of the last one
     * @param nanos how long they take
     */
    void reserve(long start, long nanos) {
        if (nanos == 0) {
            return;
        }
        if (busyCount == busyStart.length) {
            busyStart = Arrays.copyOf(busyStart, busyCount * 2);
            busyEnd = Arrays.copyOf(busyEnd, busyCount * 2);
        }
        busyStart[busyCount] = start;
        busyEnd[busyCount] = start + nanos;
        busyCount++;
        plan(start);
    }

    /** When a ticket's latest record is done; 0 if the host has passed it long since. */
    long timeOf(VirtualTicket ticket) {
        if (ticket.copy() == VirtualTicket.NO_COPY) {
            return ticket.nanos();
        }
        return ticket.copy() < first ? 0 : at(ticket.copy()).end;
    }

    /** Forgets what ended by a time that the host has reached: no copy submitted from now on can start before it. */
    void forget(long hostNanos) {
        while (first < next && at(first).end <= hostNanos) {
            first++;
        }
        long needed = hostNanos;
        for (long i = first; i < next; i++) {
            needed = Math.min(needed, at(i).start);
        }
        int past = 0;
        while (past < busyCount && busyEnd[past] <= needed) {
            past++;
        }
        System.arraycopy(busyStart, past, busyStart, 0, busyCount - past);
        System.arraycopy(busyEnd, past, busyEnd, 0, busyCount - past);
        busyCount -= past;
    }

    /**
     * Plans the copies that do not end by a time; the others stay as they are. A reservation can only make a copy later, and never one
     * that the host or the compute stream has waited for; so a start once planned is a lower bound for good, and stands for all that has
     * been forgotten.
     */
    private void plan(long unchangedUntil) {
        long lastToDevice = 0;
        long lastToHost = 0;
        for (long i = first; i < next; i++) {
            Copy copy = at(i);
            boolean toDevice = copy.direction == Direction.TO_DEVICE;
            if (copy.end > unchangedUntil) {
                copy.start = Math.max(Math.max(copy.start, toDevice ? lastToDevice : lastToHost), endOfAfter(copy));
                copy.end = toDevice ? endBesideReads(copy.start, copy.nanos) : copy.start + copy.nanos;
            }
            if (toDevice) {
                lastToDevice = copy.end;
            } else {
                lastToHost = copy.end;
            }
        }
    }

    private long endOfAfter(Copy copy) {
        long end = 0;
        for (int i = 0; i < copy.afterCount; i++) {
            end = Math.max(end, copy.after[i] < first ? 0 : at(copy.after[i]).end);
        }
        return end;
    }

    /** When a copy that starts at a time has got its share of the link, in the gaps that reads in place leave. */
    private long endBesideReads(long start, long nanos) {
        long time = start;
        long left = nanos;
        for (int i = 0; i < busyCount && left > 0; i++) {
            if (busyEnd[i] > time) {
                long gap = Math.max(0, busyStart[i] - time);
                if (gap >= left) {
                    break;
                }
                left -= gap;
                time = busyEnd[i];
            }
        }
        return time + left;
    }

    private Copy at(long number) {
        return ring[(int) (number % ring.length)];
    }

    private void grow() {
        Copy[] larger = new Copy[ring.length * 2];
        for (long i = first; i < next; i++) {
            larger[(int) (i % larger.length)] = at(i);
        }
        for (int i = 0; i < larger.length; i++) {
            larger[i] = larger[i] == null ? new Copy() : larger[i];
        }
        ring = larger;
    }

    private static final class Copy {

        private Direction direction;
        private long nanos;
        private long start;
        private long end;
        private long[] after = new long[4];
        private int afterCount;

        private void set(Direction in, long earliest, long duration) {
            direction = in;
            start = earliest;
            end = NOT_PLANNED;
            nanos = duration;
            afterCount = 0;
        }

        private void addAfter(long number) {
            if (afterCount == after.length) {
                after = Arrays.copyOf(after, afterCount * 2);
            }
            after[afterCount++] = number;
        }
    }
}
