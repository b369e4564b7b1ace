package org.memferry.planner;

import java.util.Arrays;
import java.util.List;

import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * The plans of the MemFerry paper. A layer is copied for both passes (GFGB: since what is copied is kept until its backward and refreshed
 * after its step, that is RESIDENT), read in place in both (DHA), or read in place in forward and copied for backward into a slot of its
 * own (DFGB). Where the device does not hold what is copied, a knapsack says which layers are worth their bytes. Gradients leave through a
 * ring of slots; with GO, chosen ones are written in place.
 */
final class FerryPlans {

    /** The kept, the scheduled and the two greedy placements are always compared. */
    static final int LEAST_PREDICTIONS = 4;

    private static final double[] RESERVE_FACTORS = {0.5, 0, 0.25, 0.75, 0.1};
    /** Layers beyond which fewer proposals are made, since each takes its time. */
    private static final int MANY_LAYERS = 256;

    private final PlanningTask task;
    private final Judge judge;
    private final Strategy strategy;
    private final int[] order;
    private final ForwardSchedule scheduled;

    private FerryPlans(PlanningTask task, Strategy strategy, Judge judge) {
        this.task = task;
        this.strategy = strategy;
        this.judge = judge;
        this.order = task.forwardOrder;
        this.scheduled = task.eagerForward();
    }

    /** Shows plans of {@link Strategy#MEMFERRY} to a judge. */
    static void offer(PlanningTask task, Judge judge) {
        FerryPlans plans = new FerryPlans(task, Strategy.MEMFERRY, judge);
        plans.offerWith(new Draft(task).gradientsToSlots());
        judge.offer(smallest(task));
        plans.refine();
    }

    /** Shows plans of {@link Strategy#GO_MEMFERRY} to a judge, among them the best of {@link Strategy#MEMFERRY}. */
    static void offerGo(PlanningTask task, Judge judge) {
        FerryPlans plans = new FerryPlans(task, Strategy.GO_MEMFERRY, judge);
        Draft withoutGo = StrategyPlanner.named(Strategy.MEMFERRY, task).best();
        if (withoutGo != null) {
            plans.offer(withoutGo.copy());
        }
        Draft inPlace = new Draft(task);
        plans.offerPlacements(inPlace);
        int factors = task.layers > MANY_LAYERS ? 1 : RESERVE_FACTORS.length;
        for (int i = 0; i < factors && judge.isOpen(); i++) {
            plans.offerWith(plans.reserve(RESERVE_FACTORS[i]));
        }
        plans.offer(inPlace);
        plans.refine();
    }

    /** The plan of {@link Strategy#MEMFERRY} that takes least: everything read in place, gradients through one slot. */
    static Draft smallest(PlanningTask task) {
        Draft draft = new Draft(task).gradientsToSlots().fitSlots();
        return draft.gradientSlots(SlotRing.smallest(draft.gradientSlotBytes(), 1)).strategy(Strategy.MEMFERRY, UpdateTiming.EAGER);
    }

    /** The paper's own reading: layer by layer what ends the layer earlier, sorted pre-load for backward, memory as long as it lasts. */
    static Draft paper(PlanningTask task, Draft start, long limitBytes) {
        List<ForwardLayer> layers = task.forwardLayers();
        ForwardSchedule schedule = LayerwiseGreedy.schedule(layers);
        boolean[] preloaded = LayerwiseGreedy.preloads(layers, schedule, task.backwardTimesInForwardOrder());
        return placed(task, start, schedule, preloaded, limitBytes);
    }

    /** DeepPlan's greedy choice; it plans no backward, so what it reads in place is read in place in both passes. */
    static Draft deepPlan(PlanningTask task, Draft start, long limitBytes) {
        ForwardSchedule schedule = DeepPlanGreedy.schedule(task.forwardLayers());
        return placed(task, start, schedule, new boolean[task.forwardOrder.length], limitBytes);
    }

    private static Draft placed(PlanningTask task, Draft start, ForwardSchedule schedule, boolean[] preloaded, long limitBytes) {
        Draft draft = start.copy();
        long left = limitBytes;
        for (int p = 0; p < task.forwardOrder.length; p++) {
            int i = task.forwardOrder[p];
            boolean fits = task.slotBytes(i) <= left;
            if (fits && schedule.isCopied(p)) {
                draft.place(i, Placement.RESIDENT, Placement.RESIDENT, "copied, kept until its backward");
            } else if (fits && preloaded[p]) {
                draft.place(i, Placement.DIRECT, Placement.PREFETCH, "read in place in forward, copied for backward");
            }
            left -= fits && (schedule.isCopied(p) || preloaded[p]) ? task.slotBytes(i) : 0;
        }
        return ownSlots(draft);
    }

    /** Every layer copied for backward only has a slot of its own. */
    private static Draft ownSlots(Draft draft) {
        return draft.parameterSlots(draft.prefetchedBytes());
    }

    private boolean isCopied(int place) {
        return scheduled.isCopied(place + 1);
    }

    /** With the gradients as they are in a draft: rings of slots for them, and what these leave for parameters. */
    private void offerWith(Draft gradients) {
        int rings = 0;
        for (long[] ring : SlotRing.proposals(gradients.gradientSlotBytes(), task.budget.slabLimit(), 1)) {
            if (!judge.isOpen() || task.layers > MANY_LAYERS && rings++ > 1) {
                return;
            }
            offerPlacements(gradients.copy().gradientSlots(ring));
        }
    }

    private void offerPlacements(Draft gradients) {
        long limit = task.budget.slabLimit() - gradients.slabBytes();
        if (limit < 0) {
            return;
        }
        offer(ownSlots(kept(gradients, limit)));
        offer(scheduled(gradients, limit));
        offer(paper(task, gradients, limit));
        offer(deepPlan(task, gradients, limit));
    }

    private void offer(Draft draft) {
        judge.offer(draft.strategy(strategy, UpdateTiming.EAGER));
    }

    /** What fits of the layers that reading in place costs most. */
    private Draft kept(Draft start, long limit) {
        Draft draft = start.copy();
        long[] bytes = new long[task.layers];
        long[] extra = new long[task.layers];
        Arrays.setAll(bytes, task::slotBytes);
        Arrays.setAll(extra, task::inPlaceExtraNanos);
        boolean[] keeps = worthTheirBytes(bytes, extra, limit);
        for (int i = 0; i < task.layers; i++) {
            if (keeps[i]) {
                draft.place(i, Placement.RESIDENT, Placement.RESIDENT, "copied, kept until its backward");
            }
        }
        return draft;
    }

    /** As the exact forward schedule says; layers read in place are copied for backward where that is faster. */
    private Draft scheduled(Draft start, long limit) {
        Draft draft = start.copy();
        long[] bytes = new long[task.layers];
        long[] extra = new long[task.layers];
        for (int p = 0; p < order.length; p++) {
            int i = order[p];
            bytes[i] = task.slotBytes(i);
            extra[i] = isCopied(p) ? task.inPlaceExtraNanos(i) : task.times(i).backwardDirectNanos() - task.times(i).backwardNanos();
        }
        boolean[] keeps = worthTheirBytes(bytes, extra, limit);
        for (int p = 0; p < order.length; p++) {
            int i = order[p];
            if (keeps[i] && isCopied(p)) {
                draft.place(i, Placement.RESIDENT, Placement.RESIDENT, "copied, kept until its backward");
            } else if (keeps[i] && extra[i] > 0) {
                draft.place(i, Placement.DIRECT, Placement.PREFETCH, "read in place in forward, copied for backward");
            }
        }
        return ownSlots(draft);
    }

    private static boolean[] worthTheirBytes(long[] bytes, long[] extra, long limit) {
        boolean[] keeps = new boolean[bytes.length];
        if (Arrays.stream(bytes).sum() <= limit) {
            Arrays.fill(keeps, true);
            return keeps;
        }
        GradientChoice choice = GradientPlanner.choose(bytes, extra, limit);
        for (int i = 0; i < keeps.length; i++) {
            keeps[i] = choice.isOnDevice(i);
        }
        return keeps;
    }

    /** The gradients that the knapsack leaves on the device under a reserve factor; the others are written in place. */
    private Draft reserve(double factor) {
        long[] bytes = new long[task.layers];
        long[] extra = new long[task.layers];
        for (int i = 0; i < task.layers; i++) {
            bytes[i] = task.mayUseGradientSlot(i) ? task.slotBytes(i) : 0;
            extra[i] = task.mayUseGradientSlot(i) ? task.gradientExtraNanos(i) : 0;
        }
        GradientChoice choice = GradientPlanner.choose(bytes, extra, GradientPlanner.reserveBytes(bytes, factor));
        Draft draft = new Draft(task);
        for (int i = 0; i < task.layers; i++) {
            draft.placeGradient(i, choice.isOnDevice(i) ? GradientHome.SLOT : GradientHome.DIRECT);
        }
        return draft;
    }

    private void refine() {
        if (judge.best() != null) {
            LocalSearch.of(task, judge).placements(Placement.RESIDENT, Placement.RESIDENT).placements(Placement.DIRECT, Placement.DIRECT)
                    .placements(Placement.DIRECT, Placement.PREFETCH).ownSlots().gradients(strategy == Strategy.GO_MEMFERRY).run();
        }
    }

}
