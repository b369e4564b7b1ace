package org.memferry.planner;

import java.util.List;

/** Which layers of a pass are copied and which read in place, and how long the pass takes then. Immutable. */
public final class ForwardSchedule {

    private final boolean[] copied;
    private final long makespanNanos;
    private final long epsilonNanos;
    private final int widestFrontier;

    ForwardSchedule(boolean[] copied, long makespanNanos, long epsilonNanos, int widestFrontier) {
        this.copied = copied.clone();
        this.makespanNanos = makespanNanos;
        this.epsilonNanos = epsilonNanos;
        this.widestFrontier = widestFrontier;
    }

    /**
     * The schedule of a choice that somebody else made.
     *
     * @param layers in the order of execution
     * @param copied per layer: copied, else read in place
     */
    static ForwardSchedule of(List<ForwardLayer> layers, boolean[] copied) {
        return new ForwardSchedule(copied, makespan(layers, copied), Long.MAX_VALUE, 0);
    }

    /**
     * How long a pass takes: a layer starts when the one before has ended and its copy, if it has one, is there; copies run one after the
     * other in the order of execution.
     */
    static long makespan(List<ForwardLayer> layers, boolean[] copied) {
        long compute = 0;
        long link = 0;
        for (int i = 0; i < copied.length; i++) {
            ForwardLayer layer = layers.get(i);
            if (copied[i]) {
                link = Math.max(link, layer.copyFromNanos()) + layer.copyNanos();
                compute = Math.max(compute, link) + layer.onDeviceNanos();
            } else {
                compute += layer.directNanos();
            }
        }
        return compute;
    }

    /** True if a layer (by its place in the order of execution) is copied, false if it is read in place. */
    public boolean isCopied(int layer) {
        return copied[layer];
    }

    /** Per layer in the order of execution: copied, else read in place. */
    public boolean[] copied() {
        return copied.clone();
    }

    /** From the start of the pass until the last layer has ended. */
    public long makespanNanos() {
        return makespanNanos;
    }

    /** The shortest makespan there is is at most this much shorter: 0 for an exact answer, {@link Long#MAX_VALUE} if nothing is known. */
    public long epsilonNanos() {
        return epsilonNanos;
    }

    /** Most states that the search kept at a time; 0 if there was no search. */
    public int widestFrontier() {
        return widestFrontier;
    }
}
