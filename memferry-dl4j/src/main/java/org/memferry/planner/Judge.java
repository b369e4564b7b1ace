package org.memferry.planner;

import org.memferry.plan.Plan;

/**
 * Keeps the fastest of the plans it is shown, as predicted, within the device's bytes and within a number of predictions. Of equals the
 * first stays, so that the same plans in the same order give the same answer.
 */
final class Judge {

    private final PlanningTask task;
    private final long limitBytes;
    private int left;
    private Draft best;
    private long bestNanos = Long.MAX_VALUE;
    private Draft smallest;

    /**
     * @param most predictions made at most; what was predicted before for the same task does not count
     */
    Judge(PlanningTask task, int most) {
        this.task = task;
        this.limitBytes = task.budget.slabLimit();
        this.left = most;
    }

    /**
     * Shows a draft.
     *
     * @return true if it is the fastest so far
     */
    boolean offer(Draft draft) {
        long slabBytes = draft.addMissingSlots().slabBytes();
        if (smallest == null || slabBytes < smallest.slabBytes()) {
            smallest = draft.copy();
        }
        boolean known = task.isPredicted(draft);
        if (slabBytes > limitBytes || !known && left == 0) {
            return false;
        }
        left -= known ? 0 : 1;
        long nanos = task.predictedNanos(draft);
        if (nanos >= bestNanos) {
            return false;
        }
        bestNanos = nanos;
        best = draft.copy();
        return true;
    }

    /** Shows the best of another judge of the same task, if it has one. */
    void take(Judge other) {
        if (other.best != null) {
            offer(other.best);
        }
    }

    /** True while a further draft would be predicted. */
    boolean isOpen() {
        return left > 0;
    }

    /** The fastest that fits; null if none of those shown does. */
    Draft best() {
        return best;
    }

    long bestNanos() {
        return bestNanos;
    }

    /** The fastest that fits. */
    Plan plan(String what) {
        if (best == null) {
            throw Shortage.of(what, smallest.plan(), task.budget);
        }
        return best.plan();
    }
}
