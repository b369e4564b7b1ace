package org.memferry.device;

import org.memferry.base.RefusedException;

/**
 * What a link carries, in bytes per second and direction, and what a copy loses to reads or writes in place that cross in its direction.
 * Immutable.
 */
public final class LinkRates {

    /** Nothing on the link takes time. */
    public static final LinkRates UNLIMITED = new LinkRates(Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY, 1, 1);

    private final double toDevice;
    private final double toHost;
    private final double readShare;
    private final double writeShare;

    private LinkRates(double toDevice, double toHost, double readShare, double writeShare) {
        this.toDevice = toDevice;
        this.toHost = toHost;
        this.readShare = readShare;
        this.writeShare = writeShare;
    }

    /**
     * Rates of a link that reads and writes in place share with copies.
     *
     * @param toDevice bytes per second from the host to the device, more than 0; {@link Double#POSITIVE_INFINITY} for no limit
     * @param toHost   bytes per second from the device to the host, likewise
     * @throws RefusedException if a rate is 0, negative or not a number
     */
    public static LinkRates of(double toDevice, double toHost) {
        return new LinkRates(checked(toDevice, Direction.TO_DEVICE), checked(toHost, Direction.TO_HOST), 1, 1);
    }

    /**
     * The same rates, with what copies lose.
     *
     * @param reads  time that a copy to the device loses per time that a read in place takes of the link: 0 where they do not touch each
     *               other, 1 where they share one link
     * @param writes the same of a copy to the host and a write in place
     * @throws RefusedException if a share is negative, infinite or not a number
     */
    public LinkRates shares(double reads, double writes) {
        return new LinkRates(toDevice, toHost, checkedShare(reads, "reads"), checkedShare(writes, "writes"));
    }

    private static double checkedShare(double share, String who) {
        if (!(share >= 0 && share < Double.POSITIVE_INFINITY)) {
            throw new RefusedException("share of the link that copies lose to " + who + " in place: " + share
                    + " (expected: a number of at least 0, 1 where they share one link)");
        }
        return share;
    }

    private static double checked(double rate, Direction direction) {
        if (!(rate > 0)) {
            throw new RefusedException("link rate " + direction + ": " + rate + " (expected: bytes per second, more than 0)");
        }
        return rate;
    }

    /** Bytes per second in one direction. */
    public double bytesPerSecond(Direction direction) {
        return direction == Direction.TO_DEVICE ? toDevice : toHost;
    }

    /** Time that a copy of a direction loses per time that reads or writes in place in that direction take of the link; at least 0. */
    public double share(Direction direction) {
        return direction == Direction.TO_DEVICE ? readShare : writeShare;
    }

    /** Nanoseconds that a number of bytes occupies one direction, rounded to the nearest; 0 without a limit. */
    public long nanos(Direction direction, long bytes) {
        return Math.round(bytes / bytesPerSecond(direction) * 1e9);
    }
}
