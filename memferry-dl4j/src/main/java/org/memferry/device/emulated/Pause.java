package org.memferry.device.emulated;

import java.util.concurrent.locks.LockSupport;

/**
 * Sleeping to a point of {@link System#nanoTime()}: never early; late by the system's timer slack and by what a busy machine adds.
 */
final class Pause {

    private Pause() {
    }

    /** Sleeps until the clock reads at least {@code deadline}. An interrupt does not shorten it; the thread's flag is kept. */
    static void until(long deadline) {
        boolean interrupted = false;
        long left = deadline - System.nanoTime();
        while (left > 0) {
            LockSupport.parkNanos(left);
            // Parking returns at once while the flag is set: it is put back at the end.
            interrupted |= Thread.interrupted();
            left = deadline - System.nanoTime();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
