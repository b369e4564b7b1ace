package org.memferry.planner;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

import org.memferry.base.Sizes;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * A plan in the making. Whatever is asked of it, it keeps what the user fixed and what a layer cannot do otherwise: a layer that holds on
 * to its arrays has one placement for both passes, a gradient that must be in place is, and every layer in a slot has one that is large
 * enough.
 */
final class Draft {

    private final PlanningTask task;
    private final Placement[] forward;
    private final Placement[] backward;
    private final GradientHome[] home;
    private final String[] reason;
    private long[] parameterSlots = {};
    private long[] gradientSlots = {};
    private Strategy strategy = Strategy.AUTO;
    private UpdateTiming updateTiming = UpdateTiming.EAGER;

    /** Everything in place, as far as the rules allow. */
    Draft(PlanningTask task) {
        this.task = task;
        this.forward = new Placement[task.layers];
        this.backward = new Placement[task.layers];
        this.home = new GradientHome[task.layers];
        this.reason = new String[task.layers];
        for (int i = 0; i < task.layers; i++) {
            place(i, Placement.DIRECT, Placement.DIRECT, "read in place");
            placeGradient(i, GradientHome.DIRECT);
        }
    }

    private Draft(Draft other) {
        this.task = other.task;
        this.forward = other.forward.clone();
        this.backward = other.backward.clone();
        this.home = other.home.clone();
        this.reason = other.reason.clone();
        this.parameterSlots = other.parameterSlots;
        this.gradientSlots = other.gradientSlots;
        this.strategy = other.strategy;
        this.updateTiming = other.updateTiming;
    }

    /** A draft that goes on from a plan of the same task. */
    static Draft of(PlanningTask task, Plan plan) {
        Draft draft = new Draft(task);
        for (int i = 0; i < task.layers; i++) {
            LayerPlan p = plan.layers().get(i);
            draft.place(i, p.forward(), p.backward(), p.reason());
            draft.placeGradient(i, p.gradientHome());
        }
        draft.parameterSlots = plan.parameterSlots();
        draft.gradientSlots = plan.gradientSlots();
        draft.strategy = plan.strategy();
        draft.updateTiming = plan.updateTiming();
        return draft;
    }

    Draft copy() {
        return new Draft(this);
    }

    /** Decides a layer, unless the user did. */
    Draft place(int i, Placement inForward, Placement inBackward, String why) {
        LayerDescription layer = task.layer(i);
        Placement fixed = task.rules.forward(layer);
        forward[i] = fixed == null ? inForward : fixed;
        backward[i] = fixed == null ? inBackward : task.rules.backward(layer);
        reason[i] = fixed == null ? why : "fixed by you";
        if (layer.fixedSlot() && forward[i] != backward[i]) {
            backward[i] = forward[i];
            reason[i] += "; keeps its arrays, so one placement for both passes";
        }
        return this;
    }

    /** Decides a layer's gradient, unless the user or the layer's nature did. */
    Draft placeGradient(int i, GradientHome wanted) {
        LayerDescription layer = task.layer(i);
        GradientHome fixed = task.rules.gradientHome(layer);
        if (!layer.gradientWritten()) {
            home[i] = GradientHome.NONE;
        } else if (layer.gradientInPlace()) {
            home[i] = GradientHome.DIRECT;
        } else {
            home[i] = fixed != null ? fixed : wanted == GradientHome.NONE ? GradientHome.DIRECT : wanted;
        }
        return this;
    }

    /** All gradients that can go through a slot do. */
    Draft gradientsToSlots() {
        for (int i = 0; i < task.layers; i++) {
            placeGradient(i, GradientHome.SLOT);
        }
        return this;
    }

    Draft parameterSlots(long... bytes) {
        parameterSlots = bytes.clone();
        return this;
    }

    Draft gradientSlots(long... bytes) {
        gradientSlots = bytes.clone();
        return this;
    }

    Draft strategy(Strategy value, UpdateTiming timing) {
        strategy = value;
        updateTiming = timing;
        return this;
    }

    Placement forward(int i) {
        return forward[i];
    }

    Placement backward(int i) {
        return backward[i];
    }

    GradientHome home(int i) {
        return home[i];
    }

    long[] parameterSlots() {
        return parameterSlots.clone();
    }

    long[] gradientSlots() {
        return gradientSlots.clone();
    }

    boolean isPrefetched(int i) {
        return forward[i] == Placement.PREFETCH || backward[i] == Placement.PREFETCH;
    }

    /** Sizes of the layers that need a parameter slot, largest first. */
    long[] prefetchedBytes() {
        return descending(i -> isPrefetched(i));
    }

    /** Sizes of the layers whose gradient goes through a slot, largest first. */
    long[] gradientSlotBytes() {
        return descending(i -> home[i] == GradientHome.SLOT);
    }

    private long[] descending(IntPredicate which) {
        long[] ascending = IntStream.range(0, task.layers).filter(which).mapToLong(task::slotBytes).sorted().toArray();
        long[] descending = new long[ascending.length];
        for (int i = 0; i < ascending.length; i++) {
            descending[i] = ascending[ascending.length - 1 - i];
        }
        return descending;
    }

    /** Gives back what no layer uses of the slots, and adds the one that a layer lacks. */
    Draft fitSlots() {
        parameterSlots = fitted(parameterSlots, prefetchedBytes());
        gradientSlots = fitted(gradientSlots, gradientSlotBytes());
        return this;
    }

    /** Adds a slot where the user fixed one for a layer that the strategy has none for. */
    Draft addMissingSlots() {
        parameterSlots = withLargest(parameterSlots, prefetchedBytes());
        gradientSlots = withLargest(gradientSlots, gradientSlotBytes());
        return this;
    }

    private static long[] withLargest(long[] slots, long[] needed) {
        if (needed.length == 0 || Arrays.stream(slots).anyMatch(s -> s >= needed[0])) {
            return slots;
        }
        long[] more = Arrays.copyOf(slots, slots.length + 1);
        more[slots.length] = needed[0];
        return more;
    }

    /** No more slots than layers, none larger than the layer that could use it, one that holds the largest. */
    private static long[] fitted(long[] slots, long[] needed) {
        long[] sorted = slots.clone();
        Arrays.sort(sorted);
        long[] fitted = new long[Math.min(Math.max(slots.length, 1), needed.length)];
        for (int i = 0; i < fitted.length; i++) {
            fitted[i] = i < sorted.length ? Math.min(sorted[sorted.length - 1 - i], needed[i]) : needed[i];
        }
        if (fitted.length > 0) {
            fitted[0] = needed[0];
        }
        return fitted;
    }

    /** Layers become resident in an order as long as there is room beside the slots there are. */
    Draft fillWithResidents(int... order) {
        long left = task.budget.slabLimit() - slabBytes();
        for (int i : order) {
            if (forward[i] != Placement.RESIDENT && task.slotBytes(i) <= left && task.rules.forward(task.layer(i)) == null) {
                place(i, Placement.RESIDENT, Placement.RESIDENT, "kept on the device");
                left -= task.slotBytes(i);
            }
        }
        return this;
    }

    long residentBytes() {
        long sum = 0;
        for (int i = 0; i < task.layers; i++) {
            sum = Math.addExact(sum, forward[i] == Placement.RESIDENT ? task.slotBytes(i) : 0);
        }
        return sum;
    }

    long slabBytes() {
        return Math.addExact(residentBytes(), Math.addExact(sum(parameterSlots), sum(gradientSlots)));
    }

    static long sum(long... bytes) {
        long sum = 0;
        for (long b : bytes) {
            sum = Math.addExact(sum, Sizes.align(b, Plan.SLOT_ALIGNMENT));
        }
        return sum;
    }

    /** Equal for drafts whose iterations are alike: all but reasons and the name of the strategy. */
    ByteBuffer key() {
        ByteBuffer key = ByteBuffer.allocate(task.layers + Long.BYTES * (parameterSlots.length + gradientSlots.length + 1) + 1);
        for (int i = 0; i < task.layers; i++) {
            key.put((byte) (forward[i].ordinal() * 16 + backward[i].ordinal() * 4 + home[i].ordinal()));
        }
        for (long bytes : parameterSlots) {
            key.putLong(bytes);
        }
        key.putLong(-1);
        for (long bytes : gradientSlots) {
            key.putLong(bytes);
        }
        return key.put((byte) updateTiming.ordinal()).flip();
    }

    Plan plan() {
        return plan(i -> "");
    }

    /**
     * @param more per layer what to add to its reason
     */
    Plan plan(IntFunction<String> more) {
        List<LayerPlan> decisions = new ArrayList<>();
        for (int i = 0; i < task.layers; i++) {
            decisions.add(new LayerPlan(forward[i], backward[i], home[i], reason[i] + gradientReason(i) + more.apply(i)));
        }
        return Plan.builder(task.network, decisions, task.budget).parameterSlots(parameterSlots).gradientSlots(gradientSlots)
                .strategy(strategy).updateTiming(updateTiming).build();
    }

    private String gradientReason(int i) {
        GradientHome fixed = task.rules.gradientHome(task.layer(i));
        if (fixed == null || fixed == home[i]) {
            return "";
        }
        return "; gradient not " + fixed + (home[i] == GradientHome.NONE ? ", it has none" : ", it must be in place");
    }
}
