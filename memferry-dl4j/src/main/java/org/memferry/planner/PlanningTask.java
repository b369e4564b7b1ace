package org.memferry.planner;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

import org.memferry.base.Sizes;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;

/** What every proposal of a plan works from: the network, its times, the device bytes, what the user fixed, and who predicts. */
final class PlanningTask {

    final NetworkDescription network;
    final Profile profile;
    final Budget budget;
    final PlacementRules rules;
    private final ToLongFunction<Plan> predictedNanos;
    /** What was predicted already, by the draft's key. */
    private final Map<ByteBuffer, Long> predicted = new HashMap<>();
    final int layers;
    final int[] forwardOrder;
    final int[] backwardOrder;
    /** What the named strategies have come to. */
    final Map<Strategy, Judge> judged = new EnumMap<>(Strategy.class);
    private ForwardSchedule eagerForward;

    /**
     * @param predictedNanos an iteration under a plan, in nanoseconds
     */
    PlanningTask(NetworkDescription network, Profile profile, Budget budget, PlacementRules rules, ToLongFunction<Plan> predictedNanos) {
        this.network = network;
        this.profile = profile;
        this.budget = budget;
        this.rules = rules;
        this.predictedNanos = predictedNanos;
        this.layers = network.layers().size();
        this.forwardOrder = network.forwardOrder();
        this.backwardOrder = network.backwardOrder();
        if (profile.layers().size() != layers) {
            throw new IllegalArgumentException("profile " + profile.key() + " of " + profile.layers().size() + " layers for a network of "
                    + layers + " (expected: one profile per layer)");
        }
    }

    boolean isPredicted(Draft draft) {
        return predicted.containsKey(draft.key());
    }

    /** An iteration under a draft, in nanoseconds. */
    long predictedNanos(Draft draft) {
        return predicted.computeIfAbsent(draft.key(), key -> predictedNanos.applyAsLong(draft.plan()));
    }

    LayerDescription layer(int i) {
        return network.layers().get(i);
    }

    LayerProfile times(int i) {
        return profile.layers().get(i);
    }

    /** Bytes that a layer takes in the slab. */
    long slotBytes(int i) {
        return Sizes.align(layer(i).parameterBytes(), Plan.SLOT_ALIGNMENT);
    }

    /** True if the backward pass may write the layer's gradient to a slot. */
    boolean mayUseGradientSlot(int i) {
        return layer(i).gradientWritten() && !layer(i).gradientInPlace();
    }

    long copyNanos(int i) {
        return nanos(layer(i).parameterBytes(), profile.bytesPerSecondToDevice());
    }

    long gradientCopyNanos(int i) {
        return nanos(layer(i).gradientBytes(), profile.bytesPerSecondToHost());
    }

    private static long nanos(long bytes, double bytesPerSecond) {
        return (long) Math.ceil(bytes / bytesPerSecond * 1e9);
    }

    /** What an iteration takes longer if the layer's parameters are read in place in both passes. */
    long inPlaceExtraNanos(int i) {
        LayerProfile t = times(i);
        return t.forwardDirectNanos() - t.forwardNanos() + t.backwardDirectNanos() - t.backwardNanos();
    }

    /** What backward takes longer if it writes the layer's gradient in place. */
    long gradientExtraNanos(int i) {
        return times(i).gradientDirectNanos() - times(i).backwardNanos();
    }

    /** The layers of the forward pass, in its order; a copy can start when the pass does. */
    List<ForwardLayer> forwardLayers() {
        List<ForwardLayer> all = new ArrayList<>();
        for (int i : forwardOrder) {
            all.add(ForwardLayer.of(times(i).forwardNanos(), times(i).forwardDirectNanos(), copyNanos(i)));
        }
        return all;
    }

    /** The layers of the forward pass, in its order, with their times in backward. */
    List<ForwardLayer> backwardTimesInForwardOrder() {
        List<ForwardLayer> all = new ArrayList<>();
        for (int i : forwardOrder) {
            all.add(ForwardLayer.of(times(i).backwardNanos(), times(i).backwardDirectNanos(), copyNanos(i)));
        }
        return all;
    }

    /**
     * The exact schedule of forward, knowing when the step of each layer lets its copy start; found once.
     *
     * @return of one layer more than the network has: the first stands for the time before the pass in which copies begin
     */
    ForwardSchedule eagerForward() {
        if (eagerForward == null) {
            long[] stepped = steppedBeforeEnd();
            long start = Arrays.stream(stepped).max().orElse(0);
            List<ForwardLayer> all = new ArrayList<>();
            all.add(ForwardLayer.of(start, start, 0).inPlaceOnly());
            List<ForwardLayer> forward = forwardLayers();
            for (int p = 0; p < forwardOrder.length; p++) {
                all.add(forward.get(p).copyFrom(start - stepped[forwardOrder[p]]));
            }
            eagerForward = ForwardScheduler.schedule(all);
        }
        return eagerForward;
    }

    /**
     * When the step of each layer has been taken, in nanoseconds before the end of the iteration, if steps are eager and gradients leave
     * through slots: what a copy for the next forward can count on.
     */
    private long[] steppedBeforeEnd() {
        long computed = 0;
        long arrived = 0;
        long stepped = 0;
        long[] at = new long[layers];
        for (int i : backwardOrder) {
            computed += times(i).backwardNanos();
            arrived = Math.max(arrived, computed) + gradientCopyNanos(i);
            stepped = Math.max(stepped, arrived) + times(i).updateNanos();
            at[i] = stepped;
        }
        long end = Math.max(stepped, computed) + profile.betweenNanos();
        for (int i = 0; i < layers; i++) {
            at[i] = end - at[i];
        }
        return at;
    }
}
