package org.memferry.device.emulated;

import org.memferry.device.Direction;
import org.memferry.device.LinkRates;

/**
 * One direction of the emulated link: says until when bytes are on their way. One copy crosses at a time. Reads in place go first:
 * a copy that is crossing, or crosses next, is late by the link's {@linkplain LinkRates#share share} of the time they take. Times are {@link System#nanoTime()} and compared by
 * difference.
 */
final class Link {

    private final LinkRates rates;
    private final Direction direction;
    private long freeAt = System.nanoTime();
    private long copyEnd = freeAt;

    Link(LinkRates rates, Direction direction) {
        this.rates = rates;
        this.direction = direction;
    }

    /** Nanoseconds that a number of bytes occupies this direction. */
    long nanos(long bytes) {
        return rates.nanos(direction, bytes);
    }

    /**
     * Puts a copy on the link.
     *
     * @param ready when the copy could start; the link serves it from then on or from when it is free
     */
    synchronized void startCopy(long ready, long bytes) {
        freeAt = later(ready, freeAt) + nanos(bytes);
        copyEnd = freeAt;
    }

    /** Reserves the link for reads in place that begin now. */
    synchronized void reserve(long now, long bytes) {
        long taken = Math.round(rates.share(direction) * nanos(bytes));
        if (copyEnd - now > 0) {
            copyEnd += taken;
        }
        freeAt = later(now, freeAt) + taken;
    }

    /** Sleeps until the copy put on the link last has crossed, reservations that come in meanwhile included. */
    void finishCopy() {
        long end = copyEnd();
        while (end - System.nanoTime() > 0) {
            Pause.until(end);
            end = copyEnd();
        }
    }

    private synchronized long copyEnd() {
        return copyEnd;
    }

    private static long later(long a, long b) {
        return a - b > 0 ? a : b;
    }
}
