package org.memferry.device;

/**
 * A point in a queue of a {@link Device}, made by {@link Device#newTicket()} and recorded again and again. Waiting for a ticket means
 * waiting for its latest record at the time of the call, as with a CUDA event.
 */
public interface Ticket {

    /** True when the work before the latest record is done; never blocks. */
    boolean isDone();
}
