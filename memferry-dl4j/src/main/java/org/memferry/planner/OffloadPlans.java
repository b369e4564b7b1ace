package org.memferry.planner;

import java.util.Arrays;

import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * The plans of ZeRO-Offload, which everything else is compared with: all parameters on the device, the step after backward, then all
 * parameters back to the device, each as soon as its step is taken or all of them after the last; the faster of the two counts. Gradients
 * leave through {@value #BUCKETS} buckets, each as large as the largest layer's gradient, so that one is filled while the other is copied;
 * or, as in the MemFerry paper's own baseline, through a buffer for all of them.
 */
final class OffloadPlans {

    static final int BUCKETS = 2;

    private OffloadPlans() {
    }

    /** Shows both forms of the strategy to a judge. */
    static void offer(PlanningTask task, Strategy strategy, Judge judge) {
        judge.offer(draft(task, strategy).strategy(strategy, UpdateTiming.IN_CHUNKS));
        judge.offer(draft(task, strategy).strategy(strategy, UpdateTiming.WHOLE));
    }

    /** The strategy's only placement. */
    static Draft draft(PlanningTask task, Strategy strategy) {
        Draft draft = new Draft(task).gradientsToSlots();
        for (int i = 0; i < task.layers; i++) {
            draft.place(i, Placement.RESIDENT, Placement.RESIDENT, "all parameters stay on the device");
        }
        draft.fitSlots();
        long[] needed = draft.gradientSlotBytes();
        if (strategy == Strategy.NATIVE_OFFLOAD) {
            return draft.gradientSlots(needed);
        }
        long[] buckets = new long[Math.min(BUCKETS, needed.length)];
        Arrays.fill(buckets, needed.length == 0 ? 0 : needed[0]);
        return draft.gradientSlots(buckets);
    }
}
