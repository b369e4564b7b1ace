package org.memferry.planner;

import java.util.List;

import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * Plans in which parameters pass through the device: a window of slots that runs ahead of forward and, in reverse order, of backward, so
 * that the host alone bounds the model. What a window still holds at the turn is not fetched again, so a deeper window copies less.
 */
final class StreamPlans {

    /** Fewest slots of the window: one is read while another is filled. */
    static final int LEAST_DEPTH = 2;

    private StreamPlans() {
    }

    /** Shows windows and rings of gradient slots of all sizes to a judge. */
    static void offer(PlanningTask task, Judge judge) {
        Draft all = everything(task);
        long limit = task.budget.slabLimit();
        List<long[]> windows = SlotRing.proposals(all.prefetchedBytes(), limit, LEAST_DEPTH);
        for (long[] ring : SlotRing.proposals(all.gradientSlotBytes(), limit, 1)) {
            // The deepest window that the ring leaves room for comes first: it copies least.
            for (int w = windows.size() - 1; w >= 0 && judge.isOpen(); w--) {
                if (all.residentBytes() + Draft.sum(windows.get(w)) + Draft.sum(ring) <= limit) {
                    judge.offer(all.copy().parameterSlots(windows.get(w)).gradientSlots(ring));
                }
            }
        }
        judge.offer(smallest(task));
    }

    /** The plan that takes least. */
    static Draft smallest(PlanningTask task) {
        Draft all = everything(task);
        return all.parameterSlots(SlotRing.smallest(all.prefetchedBytes(), LEAST_DEPTH))
                .gradientSlots(SlotRing.smallest(all.gradientSlotBytes(), 1));
    }

    private static Draft everything(PlanningTask task) {
        Draft draft = new Draft(task).gradientsToSlots();
        for (int i = 0; i < task.layers; i++) {
            draft.place(i, Placement.PREFETCH, Placement.PREFETCH, "copied ahead of each pass into the window");
        }
        return draft.strategy(Strategy.STREAM, UpdateTiming.EAGER);
    }
}
