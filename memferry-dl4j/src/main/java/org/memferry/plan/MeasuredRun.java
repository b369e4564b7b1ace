package org.memferry.plan;

/**
 * How long layers and iterations really lasted since a plan is in force, to be held beside what was predicted. Means over the iterations;
 * waiting for copies included. Immutable; pure data.
 */
public final class MeasuredRun {

    private final int iterations;
    private final long stepNanos;
    private final long[] forwardNanos;
    private final long[] backwardNanos;

    /**
     * @param iterations    that count, at least 1
     * @param stepNanos     mean time from one iteration's start to the next one's; 0 if only one iteration counts
     * @param forwardNanos  mean time of each layer's forward visits in an iteration
     * @param backwardNanos likewise of its backward visits
     */
    public MeasuredRun(int iterations, long stepNanos, long[] forwardNanos, long[] backwardNanos) {
        if (iterations < 1 || stepNanos < 0 || forwardNanos.length != backwardNanos.length) {
            throw new IllegalArgumentException("measured run: " + iterations + " iterations of " + stepNanos + " ns, " + forwardNanos.length
                    + " and " + backwardNanos.length + " layers (expected: at least one iteration, no negative time, both of all layers)");
        }
        this.iterations = iterations;
        this.stepNanos = stepNanos;
        this.forwardNanos = forwardNanos.clone();
        this.backwardNanos = backwardNanos.clone();
    }

    /** Iterations that count. */
    public int iterations() {
        return iterations;
    }

    /** Mean time from one iteration's start to the next one's, all between included; 0 if only one iteration counts. */
    public long stepNanos() {
        return stepNanos;
    }

    /** Mean time of a layer's forward visits in an iteration. */
    public long forwardNanos(int layer) {
        return forwardNanos[layer];
    }

    /** Mean time of a layer's backward visits in an iteration. */
    public long backwardNanos(int layer) {
        return backwardNanos[layer];
    }
}
