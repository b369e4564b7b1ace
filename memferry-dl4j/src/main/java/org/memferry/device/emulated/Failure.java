package org.memferry.device.emulated;

import org.memferry.base.MemFerryException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The first failure of a device's copies. Once there is one, no later copy is carried out and every wait reports it. */
final class Failure {

    private static final Logger LOG = LoggerFactory.getLogger(Failure.class);

    private final String device;
    private volatile Throwable first;
    private volatile boolean reported;

    Failure(String device) {
        this.device = device;
    }

    /** Keeps a failure unless there is an earlier one. */
    synchronized void keep(Throwable cause) {
        if (first == null) {
            first = cause;
        }
    }

    boolean happened() {
        return first != null;
    }

    /** Throws if a copy failed, with the first cause. */
    void check() {
        if (first != null) {
            reported = true;
            throw new MemFerryException(device + ": a copy failed and those after it were dropped: " + first
                    + " (the content of slab and host regions is undefined: close the device)", first);
        }
    }

    /** Logs a failure that nobody waited for, so that it does not pass in silence. */
    void logUnreported() {
        if (first != null && !reported) {
            LOG.warn("{}: a copy failed that nobody waited for", device, first);
        }
    }
}
