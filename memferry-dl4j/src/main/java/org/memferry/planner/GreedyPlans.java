package org.memferry.planner;

import org.memferry.base.OutOfMemoryException;
import org.memferry.plan.Budget;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * The plans of others, to compare with: what {@link LayerwiseGreedy} and {@link DeepPlanGreedy} choose, with gradients through the same
 * slots and the same eager step as {@link Strategy#MEMFERRY}, and the device's memory given to the first layers as long as it lasts.
 */
public final class GreedyPlans {

    private GreedyPlans() {
    }

    /**
     * The paper's reading: layer by layer what ends the layer earlier, sorted pre-load for backward.
     *
     * @throws OutOfMemoryException if the budget does not hold a gradient slot
     */
    public static Plan paper(NetworkDescription network, Profile profile, Budget budget) {
        PlanningTask task = new PlanningTask(network, profile, budget, PlacementRules.none(), plan -> 0);
        Draft start = start(task);
        return FerryPlans.paper(task, start, budget.slabLimit() - start.slabBytes()).plan();
    }

    /**
     * DeepPlan's greedy choice for forward, the same placement in backward.
     *
     * @throws OutOfMemoryException if the budget does not hold a gradient slot
     */
    public static Plan deepPlan(NetworkDescription network, Profile profile, Budget budget) {
        PlanningTask task = new PlanningTask(network, profile, budget, PlacementRules.none(), plan -> 0);
        Draft start = start(task);
        return FerryPlans.deepPlan(task, start, budget.slabLimit() - start.slabBytes()).plan();
    }

    /** Everything in place; gradients through the first ring that {@link Strategy#MEMFERRY} tries. */
    private static Draft start(PlanningTask task) {
        Shortage.requireRoom(task.budget);
        Draft draft = new Draft(task).gradientsToSlots().strategy(Strategy.MEMFERRY, UpdateTiming.EAGER);
        long[] needed = draft.gradientSlotBytes();
        for (long[] ring : SlotRing.proposals(needed, task.budget.slabLimit(), 1)) {
            return draft.gradientSlots(ring);
        }
        throw Shortage.of("one gradient slot needs", draft.gradientSlots(SlotRing.smallest(needed, 1)).plan(), task.budget);
    }
}
