package org.memferry.device.emulated;

import org.memferry.device.Ticket;

/** A position in one of the two copy queues; no queue at all once recorded on the compute stream, which is the calling thread. */
final class EmulatedTicket implements Ticket {

    private final EmulatedDevice device;
    private CopyQueue queue;
    private long position;

    EmulatedTicket(EmulatedDevice device) {
        this.device = device;
    }

    boolean isOf(EmulatedDevice other) {
        return device == other;
    }

    synchronized void record(CopyQueue inQueue, long atPosition) {
        queue = inQueue;
        position = atPosition;
    }

    synchronized void recordDone() {
        queue = null;
    }

    /** Makes a command wait for the latest record as of now, whatever is recorded later. */
    synchronized void addTo(CopyQueue.Command command) {
        if (queue != null) {
            command.addAfter(queue, position);
        }
    }

    @Override
    public synchronized boolean isDone() {
        return queue == null || queue.isDone(position);
    }

    /** Blocks until the latest record as of now is done; returns the nanoseconds it blocked, 0 if it did not. */
    long await() {
        CopyQueue inQueue;
        long atPosition;
        synchronized (this) {
            inQueue = queue;
            atPosition = position;
        }
        return inQueue == null ? 0 : inQueue.await(atPosition);
    }
}
