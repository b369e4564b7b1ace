package org.memferry.planner;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * The plan made from sizes alone, without times: RESIDENT what fits beside the activations and the slots, PREFETCH the rest through
 * two slots, DIRECT what is larger than a slot. The slot is as large as the budget allows. Small layers become resident first (a copy
 * of theirs is all latency), then layers in the order of execution (the first ones have nothing to hide a copy behind). The same input
 * gives the same plan.
 */
public final class DefaultPlanner {

    /** Layers up to this size become resident before larger ones. */
    static final long SMALL_BYTES = 256 << 10;

    private static final int GRADIENT_SLOTS = 2;

    private final NetworkDescription network;
    private final Budget budget;
    private final PlacementRules rules;
    private final int parameterSlots;
    private final Placement[] forward;
    private final Placement[] backward;
    private final GradientHome[] home;
    private final String[] reason;

    private DefaultPlanner(NetworkDescription network, Budget budget, PlacementRules rules, int parameterSlots) {
        this.network = network;
        this.budget = budget;
        this.rules = rules;
        this.parameterSlots = parameterSlots;
        int layers = network.layers().size();
        this.forward = new Placement[layers];
        this.backward = new Placement[layers];
        this.home = new GradientHome[layers];
        this.reason = new String[layers];
    }

    /**
     * Plans a network.
     *
     * @param network        what to plan
     * @param budget         the device bytes
     * @param rules          placements fixed by the user
     * @param parameterSlots number of slots that PREFETCH layers share, at least 2
     * @throws OutOfMemoryException if the budget does not even hold the activations, or not what the user fixed
     */
    public static Plan plan(NetworkDescription network, Budget budget, PlacementRules rules, int parameterSlots) {
        rules.checkAgainst(network);
        if (budget.deviceBytes() == Long.MAX_VALUE) {
            return Plan.inPlace(network, budget);
        }
        if (budget.slabLimit() < 0) {
            throw new OutOfMemoryException("the device has " + Sizes.exact(budget.deviceBytes()) + " but activations and working memory"
                    + " need " + Sizes.exact(budget.activationBytes()) + " (estimated by DL4J's memory report) and "
                    + Sizes.exact(budget.headroomBytes()) + " are kept free, before any parameter. Train with a smaller batch, or give"
                    + " the device more memory (deviceMemory).", budget.activationBytes(), budget.deviceBytes());
        }
        return new DefaultPlanner(network, budget, rules, parameterSlots).plan();
    }

    private Plan plan() {
        Plan plan = null;
        for (long slotBytes : slotSizes()) {
            decide(slotBytes);
            plan = assemble();
            if (plan.slabBytes() <= budget.slabLimit()) {
                return withResidents(plan);
            }
        }
        throw tooSmall(plan);
    }

    /** Distinct layer sizes, largest first, and 0 for no slots at all. */
    private Iterable<Long> slotSizes() {
        TreeSet<Long> sizes = new TreeSet<>();
        sizes.add(0L);
        for (LayerDescription layer : network.layers()) {
            sizes.add(Sizes.align(layer.parameterBytes(), Plan.SLOT_ALIGNMENT));
        }
        return sizes.descendingSet();
    }

    /** Makes layer after layer resident as long as the plan still fits; a layer that leaves the slots may let them shrink. */
    private Plan withResidents(Plan start) {
        Plan plan = start;
        for (boolean small : new boolean[] {true, false}) {
            for (int layer : executionOrder()) {
                boolean isSmall = network.layers().get(layer).parameterBytes() <= SMALL_BYTES;
                if (isSmall != small || forward[layer] == Placement.RESIDENT || fixed(layer)) {
                    continue;
                }
                Placement[] before = {forward[layer], backward[layer]};
                forward[layer] = Placement.RESIDENT;
                backward[layer] = Placement.RESIDENT;
                Plan candidate = assemble();
                if (candidate.slabBytes() <= budget.slabLimit()) {
                    plan = candidate;
                    reason[layer] = isSmall ? "small" : "fits beside activations and slots";
                } else {
                    forward[layer] = before[0];
                    backward[layer] = before[1];
                }
            }
        }
        return everythingResident(plan);
    }

    /** Without any PREFETCH layer no parameter slots are needed, which the step by step way does not see in time. */
    private Plan everythingResident(Plan plan) {
        for (int i = 0; i < forward.length; i++) {
            if (!fixed(i)) {
                forward[i] = Placement.RESIDENT;
                backward[i] = Placement.RESIDENT;
            }
        }
        String[] before = reason.clone();
        for (int i = 0; i < reason.length; i++) {
            reason[i] = fixed(i) ? reason[i] : "the whole network fits";
        }
        Plan all = assemble();
        if (all.slabBytes() <= budget.slabLimit()) {
            return all;
        }
        System.arraycopy(before, 0, reason, 0, before.length);
        return plan;
    }

    private int[] executionOrder() {
        boolean[] seen = new boolean[network.layers().size()];
        List<Integer> order = new ArrayList<>();
        for (int[] pass : new int[][] {network.forwardOrder(), network.inferenceOrder()}) {
            for (int layer : pass) {
                if (!seen[layer]) {
                    seen[layer] = true;
                    order.add(layer);
                }
            }
        }
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    private boolean fixed(int layer) {
        return rules.forward(network.layers().get(layer)) != null;
    }

    /** Decides all layers for one slot size, without residents of our own choice. */
    private void decide(long slotBytes) {
        for (int i = 0; i < forward.length; i++) {
            LayerDescription layer = network.layers().get(i);
            boolean fits = layer.parameterBytes() <= slotBytes;
            if (fixed(i)) {
                forward[i] = rules.forward(layer);
                backward[i] = rules.backward(layer);
                reason[i] = "fixed by you";
            } else {
                forward[i] = fits ? Placement.PREFETCH : Placement.DIRECT;
                backward[i] = forward[i];
                reason[i] = fits ? "fits a slot" : "larger than a slot";
            }
            if (layer.fixedSlot() && forward[i] != backward[i]) {
                backward[i] = forward[i];
                reason[i] += "; keeps its arrays, so one placement for both passes";
            }
            home[i] = gradientHome(layer, fits);
        }
    }

    private GradientHome gradientHome(LayerDescription layer, boolean fits) {
        if (!layer.gradientWritten()) {
            return GradientHome.NONE;
        }
        if (layer.gradientInPlace()) {
            return GradientHome.DIRECT;
        }
        GradientHome wanted = rules.gradientHome(layer);
        if (wanted != null) {
            return wanted;
        }
        return fits ? GradientHome.SLOT : GradientHome.DIRECT;
    }

    private Plan assemble() {
        long parameterSlot = 0;
        long gradientSlot = 0;
        List<LayerPlan> layers = new ArrayList<>();
        for (int i = 0; i < forward.length; i++) {
            long bytes = network.layers().get(i).parameterBytes();
            if (forward[i] == Placement.PREFETCH || backward[i] == Placement.PREFETCH) {
                parameterSlot = Math.max(parameterSlot, bytes);
            }
            if (home[i] == GradientHome.SLOT) {
                gradientSlot = Math.max(gradientSlot, bytes);
            }
            layers.add(new LayerPlan(forward[i], backward[i], home[i], reason[i]));
        }
        return new Plan(network, layers, parameterSlot > 0 ? parameterSlots : 0, parameterSlot,
                gradientSlot > 0 ? GRADIENT_SLOTS : 0, gradientSlot, budget);
    }

    private OutOfMemoryException tooSmall(Plan smallest) {
        return new OutOfMemoryException("the placements you fixed need " + Sizes.exact(smallest.slabBytes()) + " of device memory ("
                + Sizes.format(smallest.residentBytes()) + " resident, " + smallest.parameterSlots() + " parameter slots of "
                + Sizes.format(smallest.parameterSlotBytes()) + ", " + smallest.gradientSlots() + " gradient slots of "
                + Sizes.format(smallest.gradientSlotBytes()) + ") but " + Sizes.exact(budget.slabLimit()) + " of "
                + Sizes.format(budget.deviceBytes()) + " are left beside activations (" + Sizes.format(budget.activationBytes())
                + ", estimated) and headroom (" + Sizes.format(budget.headroomBytes())
                + "). Place fewer layers RESIDENT, large ones DIRECT, or give the device more memory (deviceMemory).",
                smallest.slabBytes(), Math.max(0, budget.slabLimit()));
    }
}
