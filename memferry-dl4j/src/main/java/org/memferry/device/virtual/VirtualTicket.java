package org.memferry.device.virtual;

import org.memferry.device.Ticket;

/** A number of a copy in one direction; of none where the ticket was last recorded behind a computation, which is over when it is recorded. */
final class VirtualTicket implements Ticket {

    private final VirtualDevice device;
    private CopyLane lane;
    private long copy;

    VirtualTicket(VirtualDevice device) {
        this.device = device;
    }

    boolean isOf(VirtualDevice other) {
        return device == other;
    }

    /** Records the ticket behind a copy. */
    void record(CopyLane in, long number) {
        lane = in;
        copy = number;
    }

    /** Records the ticket behind what is over already. */
    void recordDone() {
        lane = null;
    }

    /** The direction whose copy the ticket stands behind, null if it is done anyway. */
    CopyLane lane() {
        return lane;
    }

    /** Number of the copy in {@link #lane()}. */
    long copy() {
        return copy;
    }

    @Override
    public boolean isDone() {
        return lane == null || lane.isDone(copy);
    }
}
