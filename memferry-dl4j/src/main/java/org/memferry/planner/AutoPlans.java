package org.memferry.planner;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * The fastest predicted plan of any kind: starts from the plans of every named strategy and from mixtures (some layers resident, a window
 * of slots for the others, what is larger read in place), and improves the fastest by {@link LocalSearch}.
 */
final class AutoPlans {

    private static final Strategy[] NAMED = {Strategy.ZERO_OFFLOAD, Strategy.NATIVE_OFFLOAD, Strategy.MEMFERRY, Strategy.GO_MEMFERRY,
        Strategy.STREAM};
    /** How much more AUTO may look at than one strategy. */
    private static final int SEARCH_FACTOR = 3;
    /** Windows and rings that mixtures are made of. */
    private static final int RINGS = 4;
    private static final String NEEDS = "the placements you fixed need";

    private final PlanningTask task;
    private final Judge judge;
    private final StringBuilder others = new StringBuilder();

    private AutoPlans(PlanningTask task) {
        this.task = task;
        this.judge = new Judge(task, SEARCH_FACTOR * StrategyPlanner.predictions(task, 1));
    }

    /** The fastest plan found. */
    static Plan plan(PlanningTask task) {
        AutoPlans auto = new AutoPlans(task);
        auto.offerNamed();
        auto.offerMixtures();
        auto.judge.offer(new Draft(task));
        auto.judge.plan(NEEDS);
        LocalSearch.of(task, auto.judge).placements(Placement.RESIDENT, Placement.RESIDENT).placements(Placement.DIRECT, Placement.DIRECT)
                .placements(Placement.DIRECT, Placement.PREFETCH).placements(Placement.PREFETCH, Placement.DIRECT)
                .placements(Placement.PREFETCH, Placement.PREFETCH).gradients(true).rings(Strategy.AUTO).run();
        return auto.judge.best().plan(auto::reason);
    }

    /** What reading in place would cost or costs; at the first layer also what the whole plan and the named strategies take. */
    private String reason(int i) {
        Draft best = judge.best();
        long extra = task.inPlaceExtraNanos(i);
        boolean inPlace = best.forward(i) == Placement.DIRECT && best.backward(i) == Placement.DIRECT;
        String why = (inPlace ? "; costs " : "; in place would cost ") + milliseconds(extra);
        if (best.home(i) == GradientHome.DIRECT) {
            why += ", its gradient in place " + milliseconds(task.gradientExtraNanos(i));
        }
        boolean first = task.forwardOrder.length == 0 ? i == 0 : i == task.forwardOrder[0];
        return first ? why + "; iteration " + milliseconds(judge.bestNanos()) + others : why;
    }

    private void offerNamed() {
        for (Strategy strategy : NAMED) {
            Judge named = StrategyPlanner.named(strategy, task);
            if (named.best() != null) {
                judge.take(named);
                others.append(", ").append(strategy).append(' ').append(milliseconds(named.bestNanos()));
            }
        }
    }

    private static String milliseconds(long nanos) {
        return String.format(Locale.ROOT, "%.2f ms", nanos / 1e6);
    }

    private void offerMixtures() {
        Draft all = new Draft(task).gradientsToSlots();
        for (int i = 0; i < task.layers; i++) {
            all.place(i, Placement.PREFETCH, Placement.PREFETCH, "copied ahead of each pass into the window");
        }
        all.strategy(Strategy.AUTO, UpdateTiming.EAGER);
        long limit = task.budget.slabLimit();
        List<long[]> windows = first(SlotRing.proposals(all.prefetchedBytes(), limit, StreamPlans.LEAST_DEPTH));
        List<long[]> rings = first(SlotRing.proposals(all.gradientSlotBytes(), limit, 1));
        for (int[] order : residentOrders()) {
            for (long[] ring : rings) {
                for (long[] window : windows) {
                    if (!judge.isOpen()) {
                        return;
                    }
                    judge.offer(mixture(all.copy().parameterSlots(window).gradientSlots(ring), order));
                }
            }
        }
    }

    private static List<long[]> first(List<long[]> rings) {
        return rings.subList(0, Math.min(RINGS, rings.size()));
    }

    /** Twice: slots become smaller, or fewer, when the layers that needed them are resident. */
    private Draft mixture(Draft draft, int[] order) {
        return draft.fillWithResidents(order).fitSlots().fillWithResidents(order).fitSlots();
    }

    /** The orders in which layers become resident: spread over the network, from its start, from its end, what copies longest first. */
    private List<int[]> residentOrders() {
        int n = task.forwardOrder.length;
        List<int[]> orders = new ArrayList<>();
        if (n == 0) {
            return orders;
        }
        int[] spread = new int[n];
        int next = 0;
        for (int step = 2 * Integer.highestOneBit(Math.max(1, n)); step >= 2; step /= 2) {
            for (int p = step / 2; p < n; p += step) {
                spread[next++] = task.forwardOrder[p];
            }
        }
        spread[next] = task.forwardOrder[0];
        orders.add(spread);
        orders.add(task.forwardOrder);
        int[] reversed = new int[n];
        for (int p = 0; p < n; p++) {
            reversed[p] = task.forwardOrder[n - 1 - p];
        }
        orders.add(reversed);
        return orders;
    }
}
