package org.memferry.device.virtual;

import org.memferry.device.Ticket;

/** A number of a copy on the timeline, or a time of the compute stream. */
final class VirtualTicket implements Ticket {

    /** In place of the number of a copy: the ticket stands for a time. */
    static final long NO_COPY = -1;

    private final VirtualDevice device;
    private long copy = NO_COPY;
    private long nanos;

    VirtualTicket(VirtualDevice device) {
        this.device = device;
    }

    boolean isOf(VirtualDevice other) {
        return device == other;
    }

    void recordCopy(long number) {
        copy = number;
    }

    void recordTime(long atNanos) {
        copy = NO_COPY;
        nanos = atNanos;
    }

    long copy() {
        return copy;
    }

    /** The time it stands for, where it stands for no copy. */
    long nanos() {
        return nanos;
    }

    @Override
    public boolean isDone() {
        return device.isPast(this);
    }
}
