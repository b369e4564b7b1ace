package org.memferry.device;

import org.memferry.base.RefusedException;

/** What a link carries, in bytes per second and direction. Immutable. */
public final class LinkRates {

    /** Nothing on the link takes time. */
    public static final LinkRates UNLIMITED = new LinkRates(Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY);

    private final double toDevice;
    private final double toHost;

    private LinkRates(double toDevice, double toHost) {
        this.toDevice = toDevice;
        this.toHost = toHost;
    }

    /**
     * Rates of a link.
     *
     * @param toDevice bytes per second from the host to the device, more than 0; {@link Double#POSITIVE_INFINITY} for no limit
     * @param toHost   bytes per second from the device to the host, likewise
     * @throws RefusedException if a rate is 0, negative or not a number
     */
    public static LinkRates of(double toDevice, double toHost) {
        return new LinkRates(checked(toDevice, Direction.TO_DEVICE), checked(toHost, Direction.TO_HOST));
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

    /** Nanoseconds that a number of bytes occupies one direction, rounded to the nearest; 0 without a limit. */
    public long nanos(Direction direction, long bytes) {
        return Math.round(bytes / bytesPerSecond(direction) * 1e9);
    }
}
