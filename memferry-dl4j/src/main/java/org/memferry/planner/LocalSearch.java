package org.memferry.planner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * Improves the best plan of a judge by changes that the judge finds faster: runs of neighbouring layers are placed otherwise, long runs
 * first and single layers last; then the slots. A change that takes more bytes than there are makes other layers give theirs back, those
 * first that lose least by it; one that leaves bytes is also tried with these bytes filled.
 */
final class LocalSearch {

    private static final Placement[] IN_PLACE = {Placement.DIRECT, Placement.DIRECT};

    private final PlanningTask task;
    private final Judge judge;
    private final List<Placement[]> placements = new ArrayList<>();
    private boolean ownSlots;
    private boolean gradients;
    private boolean rings;
    private Strategy strategy;

    private LocalSearch(PlanningTask task, Judge judge) {
        this.task = task;
        this.judge = judge;
    }

    static LocalSearch of(PlanningTask task, Judge judge) {
        return new LocalSearch(task, judge);
    }

    /** Layers may be placed so. */
    LocalSearch placements(Placement forward, Placement backward) {
        placements.add(new Placement[] {forward, backward});
        return this;
    }

    /** Every layer that is copied ahead of use keeps a slot of its own. */
    LocalSearch ownSlots() {
        ownSlots = true;
        return this;
    }

    /** Gradients may be moved between slots and in place. */
    LocalSearch gradients(boolean may) {
        gradients = may;
        return this;
    }

    /** Slots may be added and taken away; what comes out is a plan of this strategy. */
    LocalSearch rings(Strategy changed) {
        rings = true;
        strategy = changed;
        return this;
    }

    /** Until nothing is faster, or the judge has seen enough. */
    void run() {
        int longest = Integer.highestOneBit(Math.max(1, task.layers));
        for (int run = longest; run >= 1 && judge.isOpen(); run /= 2) {
            boolean faster = true;
            while (faster && judge.isOpen()) {
                faster = rings && changeSlots();
                for (int from = 0; from < task.forwardOrder.length; from += run) {
                    faster |= changeRun(from, Math.min(task.forwardOrder.length, from + run));
                }
            }
        }
    }

    private boolean changeRun(int from, int to) {
        boolean faster = false;
        for (Placement[] placement : placements) {
            Draft draft = judge.best().copy();
            boolean changed = false;
            for (int p = from; p < to; p++) {
                int i = task.forwardOrder[p];
                changed |= draft.forward(i) != placement[0] || draft.backward(i) != placement[1];
                draft.place(i, placement[0], placement[1], reason(placement));
            }
            faster |= changed && offer(draft, from, to);
        }
        for (GradientHome home : gradients ? new GradientHome[] {GradientHome.SLOT, GradientHome.DIRECT} : new GradientHome[0]) {
            Draft draft = judge.best().copy();
            boolean changed = false;
            for (int p = from; p < to; p++) {
                GradientHome before = draft.home(task.forwardOrder[p]);
                draft.placeGradient(task.forwardOrder[p], home);
                changed |= draft.home(task.forwardOrder[p]) != before;
            }
            faster |= changed && offer(draft, from, to);
        }
        return faster;
    }

    private static String reason(Placement[] placement) {
        if (placement[0] == Placement.RESIDENT) {
            return "kept on the device";
        }
        if (placement[0] == placement[1]) {
            return placement[0] == Placement.DIRECT ? "read in place" : "copied ahead of each pass into the window";
        }
        String in = placement[0] == Placement.PREFETCH ? "copied ahead of forward" : "read in place in forward";
        return in + (placement[1] == Placement.PREFETCH ? ", copied ahead of backward" : ", read in place in backward");
    }

    /** One slot more or less of each kind, and slots of other sizes. */
    private boolean changeSlots() {
        boolean faster = false;
        long[] needed = judge.best().prefetchedBytes();
        for (long[] window : SlotRing.proposals(needed, task.budget.slabLimit(), StreamPlans.LEAST_DEPTH)) {
            faster |= offer(judge.best().copy().parameterSlots(window), 0, 0);
        }
        needed = judge.best().gradientSlotBytes();
        for (long[] ring : SlotRing.proposals(needed, task.budget.slabLimit(), 1)) {
            faster |= offer(judge.best().copy().gradientSlots(ring), 0, 0);
        }
        return faster;
    }

    private boolean offer(Draft draft, int from, int to) {
        if (!judge.isOpen()) {
            return false;
        }
        fit(draft);
        makeRoom(draft, from, to);
        if (strategy != null) {
            draft.strategy(strategy, UpdateTiming.EAGER);
        }
        long before = judge.best().slabBytes();
        boolean faster = judge.offer(draft);
        if (!faster && draft.slabBytes() < before) {
            draft.fillWithResidents(outside(task.forwardOrder, from, to));
            fit(draft);
            faster = judge.offer(draft);
        }
        return faster;
    }

    private void fit(Draft draft) {
        if (ownSlots) {
            draft.parameterSlots(draft.prefetchedBytes());
        }
        draft.fitSlots();
    }

    /** Layers outside the run give their bytes back, those first that lose least per byte. */
    private void makeRoom(Draft draft, int from, int to) {
        Placement[] otherwise = ownSlots ? IN_PLACE : placements.get(placements.size() - 1);
        long missing = draft.slabBytes() - task.budget.slabLimit();
        if (missing <= 0) {
            return;
        }
        for (int i : byWorth(outside(task.forwardOrder, from, to))) {
            if (draft.forward(i) == Placement.RESIDENT && task.rules.forward(task.layer(i)) == null) {
                draft.place(i, otherwise[0], otherwise[1], reason(otherwise));
                missing -= task.slotBytes(i);
            }
            if (missing <= 0) {
                fit(draft);
                missing = draft.slabBytes() - task.budget.slabLimit();
            }
            if (missing <= 0) {
                return;
            }
        }
    }

    private int[] byWorth(int[] layers) {
        return Arrays.stream(layers).boxed()
                .sorted(Comparator.comparingDouble(i -> (double) task.inPlaceExtraNanos(i) / task.slotBytes(i)))
                .mapToInt(Integer::intValue).toArray();
    }

    /** The order without a run of it. */
    private static int[] outside(int[] order, int from, int to) {
        return IntStream.range(0, order.length).filter(p -> p < from || p >= to).map(p -> order[p]).toArray();
    }
}
