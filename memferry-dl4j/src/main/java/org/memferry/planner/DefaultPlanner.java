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
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;

/**
 * The plan made from sizes alone, without times: RESIDENT what fits beside the activations and the slots, PREFETCH the rest through
 * slots, DIRECT what is larger than a slot. The sizes of parameter and gradient slots are chosen by trying every pair of layer sizes:
 * best is the plan with the fewest bytes read or written in place, since the computation stands still for these, and among equals the
 * one with the fewest bytes copied. For given slots small layers become resident first (a copy of theirs is all latency), then those
 * that are larger than a slot, largest first, then layers in the order of execution (the first ones have nothing to hide a copy
 * behind). The same input gives the same plan.
 */
public final class DefaultPlanner {

    /** Layers up to this size become resident before larger ones. */
    static final long SMALL_BYTES = 256 << 10;

    private static final int GRADIENT_SLOTS = 2;
    /** Most sizes tried for a slot, so that planning stays quick where hundreds of layers all differ. */
    private static final int MAX_SIZES = 64;

    private final NetworkDescription network;
    private final Budget budget;
    private final int parameterSlots;
    private final int[] executionOrder;
    private final int[] largestFirst;
    /** Per layer what the user fixed; null where nothing. */
    private final Placement[] fixedForward;
    private final Placement[] fixedBackward;
    private final GradientHome[] fixedHome;

    private DefaultPlanner(NetworkDescription network, Budget budget, PlacementRules rules, int parameterSlots) {
        this.network = network;
        this.budget = budget;
        this.parameterSlots = parameterSlots;
        this.executionOrder = executionOrder();
        // Layers of one size stay in the order of execution.
        this.largestFirst = Arrays.stream(executionOrder).boxed()
                .sorted(Comparator.comparingLong((Integer i) -> -network.layers().get(i).parameterBytes()))
                .mapToInt(Integer::intValue).toArray();
        int layers = network.layers().size();
        this.fixedForward = new Placement[layers];
        this.fixedBackward = new Placement[layers];
        this.fixedHome = new GradientHome[layers];
        for (int i = 0; i < layers; i++) {
            fixedForward[i] = rules.forward(network.layers().get(i));
            fixedBackward[i] = rules.backward(network.layers().get(i));
            fixedHome[i] = rules.gradientHome(network.layers().get(i));
        }
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
        Shortage.requireRoom(budget);
        return new DefaultPlanner(network, budget, rules, parameterSlots).plan();
    }

    private Plan plan() {
        Draft best = null;
        Draft smallest = null;
        long leastInPlace = Long.MAX_VALUE;
        List<Long> sizes = slotSizes();
        long[] gradientsInPlace = sizes.stream().mapToLong(this::gradientBytesInPlace).toArray();
        for (long parameterSlot : sizes) {
            for (int g = 0; g < gradientsInPlace.length; g++) {
                if (gradientsInPlace[g] > leastInPlace) {
                    continue;
                }
                Draft draft = new Draft(parameterSlot, sizes.get(g));
                if (smallest == null || draft.slabBytes() < smallest.slabBytes()) {
                    smallest = draft;
                }
                if (draft.slabBytes() > budget.slabLimit()) {
                    continue;
                }
                draft.addResidents();
                if (best == null || draft.betterThan(best)) {
                    best = draft;
                    leastInPlace = draft.inPlaceBytes();
                }
            }
        }
        if (best == null) {
            throw Shortage.of("the placements you fixed need", smallest.plan(), budget);
        }
        return best.plan();
    }

    /** Distinct layer sizes, largest first, and 0 for no slots at all; evenly spaced ones of them where there are very many. */
    private List<Long> slotSizes() {
        TreeSet<Long> sizes = new TreeSet<>();
        sizes.add(0L);
        for (LayerDescription layer : network.layers()) {
            sizes.add(aligned(layer));
        }
        List<Long> all = new ArrayList<>(sizes.descendingSet());
        List<Long> tried = new ArrayList<>();
        int count = Math.min(all.size(), MAX_SIZES);
        for (int i = 0; i < count; i++) {
            tried.add(all.get(count == 1 ? 0 : (int) ((long) i * (all.size() - 1) / (count - 1))));
        }
        return tried;
    }

    /** Bytes of the gradients that are written in place if slots have a size: no placement of parameters changes that. */
    private long gradientBytesInPlace(long gradientSlotLimit) {
        long sum = 0;
        for (int i = 0; i < fixedHome.length; i++) {
            LayerDescription layer = network.layers().get(i);
            boolean inPlace = gradientHome(i, layer, layer.parameterBytes() <= gradientSlotLimit) == GradientHome.DIRECT;
            sum = Math.addExact(sum, inPlace ? layer.gradientBytes() : 0);
        }
        return sum;
    }

    private GradientHome gradientHome(int i, LayerDescription layer, boolean fits) {
        if (!layer.gradientWritten()) {
            return GradientHome.NONE;
        }
        if (layer.gradientInPlace()) {
            return GradientHome.DIRECT;
        }
        if (fixedHome[i] != null) {
            return fixedHome[i];
        }
        return fits ? GradientHome.SLOT : GradientHome.DIRECT;
    }

    private static long aligned(LayerDescription layer) {
        return Sizes.align(layer.parameterBytes(), Plan.SLOT_ALIGNMENT);
    }

    /** All layers: as training reads them, then those that only inference reads, then those that nobody does. */
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
        for (int layer = 0; layer < seen.length; layer++) {
            if (!seen[layer]) {
                order.add(layer);
            }
        }
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    /** One way to decide all layers, for a size of parameter slots and one of gradient slots. */
    private final class Draft {

        private final Placement[] forward = new Placement[network.layers().size()];
        private final Placement[] backward = new Placement[network.layers().size()];
        private final GradientHome[] home = new GradientHome[network.layers().size()];
        private final String[] reason = new String[network.layers().size()];
        private long parameterSlot;
        private long gradientSlot;
        private long residentBytes;

        Draft(long parameterSlotLimit, long gradientSlotLimit) {
            for (int i = 0; i < forward.length; i++) {
                LayerDescription layer = network.layers().get(i);
                place(i, layer, layer.parameterBytes() <= parameterSlotLimit);
                home[i] = gradientHome(i, layer, layer.parameterBytes() <= gradientSlotLimit);
                if (home[i] == GradientHome.SLOT) {
                    gradientSlot = Math.max(gradientSlot, aligned(layer));
                }
            }
            parameterSlot = largestPrefetch();
        }

        private void place(int i, LayerDescription layer, boolean fits) {
            if (fixedForward[i] != null) {
                forward[i] = fixedForward[i];
                backward[i] = fixedBackward[i];
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
            if (forward[i] == Placement.RESIDENT) {
                residentBytes = Math.addExact(residentBytes, aligned(layer));
            }
        }

        private long largestPrefetch() {
            for (int i : largestFirst) {
                if (forward[i] == Placement.PREFETCH || backward[i] == Placement.PREFETCH) {
                    return aligned(network.layers().get(i));
                }
            }
            return 0;
        }

        long slabBytes() {
            long slots = Math.addExact(Math.multiplyExact(parameterSlot, (long) parameterSlots),
                    Math.multiplyExact(gradientSlot, (long) GRADIENT_SLOTS));
            return Math.addExact(residentBytes, slots);
        }

        /** Makes layer after layer resident as long as the plan still fits. */
        void addResidents() {
            for (int layer : executionOrder) {
                if (network.layers().get(layer).parameterBytes() <= SMALL_BYTES) {
                    makeResident(layer, "small");
                }
            }
            for (int layer : largestFirst) {
                if (forward[layer] == Placement.DIRECT) {
                    makeResident(layer, "larger than a slot, fits beside the slots");
                }
            }
            boolean more = true;
            while (more) {
                // A layer that becomes resident may be the last one for which slots were this large: then there is room for some before it.
                more = false;
                for (int layer : executionOrder) {
                    more |= makeResident(layer, "fits beside activations and slots");
                }
            }
        }

        private boolean makeResident(int layer, String why) {
            LayerDescription description = network.layers().get(layer);
            if (forward[layer] == Placement.RESIDENT || fixedForward[layer] != null) {
                return false;
            }
            Placement before = forward[layer];
            long slotBefore = parameterSlot;
            forward[layer] = Placement.RESIDENT;
            backward[layer] = Placement.RESIDENT;
            residentBytes = Math.addExact(residentBytes, aligned(description));
            if (before == Placement.PREFETCH && aligned(description) == parameterSlot) {
                // The last one of this size lets the slots shrink, or go.
                parameterSlot = largestPrefetch();
            }
            if (slabBytes() <= budget.slabLimit()) {
                reason[layer] = why;
                return true;
            }
            forward[layer] = before;
            backward[layer] = before;
            residentBytes -= aligned(description);
            parameterSlot = slotBefore;
            return false;
        }

        /** Bytes that the computation reads or writes over the link in an iteration, standing still for them. */
        private long inPlaceBytes() {
            long sum = 0;
            for (int i = 0; i < forward.length; i++) {
                LayerDescription layer = network.layers().get(i);
                long touches = forward[i] == Placement.DIRECT ? layer.forwardTouches() : 0;
                touches += backward[i] == Placement.DIRECT ? layer.backwardTouches() : 0;
                sum = Math.addExact(sum, Math.multiplyExact(touches, layer.parameterBytes()));
                sum = Math.addExact(sum, home[i] == GradientHome.DIRECT ? layer.gradientBytes() : 0);
            }
            return sum;
        }

        /** Bytes of parameters copied to the device in an iteration: twice what is prefetched, once what is resident. */
        private long copiedBytes() {
            long sum = residentBytes;
            for (int i = 0; i < forward.length; i++) {
                long passes = (forward[i] == Placement.PREFETCH ? 1 : 0) + (backward[i] == Placement.PREFETCH ? 1 : 0);
                sum = Math.addExact(sum, Math.multiplyExact(passes, network.layers().get(i).parameterBytes()));
            }
            return sum;
        }

        private String why(int i, boolean all) {
            String why = all && fixedForward[i] == null ? "the whole network fits" : reason[i];
            if (fixedHome[i] == null || fixedHome[i] == home[i]) {
                return why;
            }
            return why + "; gradient not " + fixedHome[i] + (home[i] == GradientHome.NONE ? ", it has none" : ", it must be in place");
        }

        boolean betterThan(Draft other) {
            long difference = inPlaceBytes() - other.inPlaceBytes();
            return difference < 0 || difference == 0 && copiedBytes() < other.copiedBytes();
        }

        private long[] slots(int count, long bytes) {
            long[] slots = new long[bytes > 0 ? count : 0];
            Arrays.fill(slots, bytes);
            return slots;
        }

        Plan plan() {
            boolean all = true;
            for (Placement placement : forward) {
                all &= placement == Placement.RESIDENT;
            }
            List<LayerPlan> layers = new ArrayList<>();
            for (int i = 0; i < forward.length; i++) {
                layers.add(new LayerPlan(forward[i], backward[i], home[i], why(i, all)));
            }
            return Plan.builder(network, layers, budget)
                    .parameterSlots(slots(parameterSlots, parameterSlot))
                    .gradientSlots(slots(GRADIENT_SLOTS, gradientSlot))
                    .build();
        }
    }
}
