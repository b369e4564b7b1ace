package org.memferry.examples.gpucheck;

/** How long the check may take, as a whole and for one figure. */
final class Pace {

    private static final int MOST_REPEATS = 1 << 20;

    private final long start = System.nanoTime();
    private final long budgetNanos;
    private final long figureNanos;

    /**
     * @param seconds for the whole check
     * @param millis  that a figure is measured for at least
     */
    Pace(double seconds, double millis) {
        budgetNanos = (long) (seconds * 1e9);
        figureNanos = (long) (millis * 1e6);
    }

    /** Whether a share of the check's time, counted from its start, has passed. */
    boolean isPast(double share) {
        return System.nanoTime() - start > share * budgetNanos;
    }

    double seconds() {
        return (System.nanoTime() - start) / 1e9;
    }

    /**
     * Nanoseconds of one run, the mean over as many as take long enough; the first run does not count.
     *
     * @param submit gives one run to the card
     * @param await  waits for all that were given
     */
    double nanos(Runnable submit, Runnable await) {
        submit.run();
        await.run();
        for (int repeats = 1; ; repeats *= 2) {
            long begin = System.nanoTime();
            for (int i = 0; i < repeats; i++) {
                submit.run();
            }
            await.run();
            long taken = System.nanoTime() - begin;
            if (taken >= figureNanos || repeats >= MOST_REPEATS) {
                return (double) taken / repeats;
            }
        }
    }
}
