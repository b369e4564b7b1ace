package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.engine.VisitClock;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.MeasuringPlans;
import org.memferry.planner.PlacementRules;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntToLongFunction;

/**
 * Measures a network in its first iterations on the attached device, which train it like any other, in rounds: each layer's computation and
 * each layer's step by themselves ({@link UpdateTiming#IN_CHUNKS}: no step runs beside backward); both at once, unless the user wants no
 * step beside backward, which shows how much a step slows the computation where the CPU computes; parameters read in place, and gradients
 * written in place. A round's first iteration is left out, since it finds the slots empty, and more of the first round's, in which the
 * virtual machine compiles; an iteration that is given up does not count. Every time is the median of its round. Slow-downs are differences
 * of rounds, and taken from the shortest times of each: what other programs take would pass for them.
 *
 * <p>Where the device models what is used in place from its bytes, the model's figure stands for what would be measured, and the round that
 * reads in place writes in place, too: nothing is copied in it, which shows the computation without copies beside it.
 */
final class ProfileRun implements VisitClock {

    /** Iterations of each round that count. */
    static final int MEASURED = 4;
    private static final int LEFT_OUT = 1;
    private static final int LEFT_OUT_AT_FIRST = 4;
    /** What runs beside the computation shares memory with it, and cannot take more than it leaves. */
    private static final double MOST_SLOWDOWN = 1;
    /** Part of the computation's time that something must run beside it, for what it adds to be told from what iterations vary by anyway. */
    private static final double LEAST_TOGETHER = 0.05;

    private final Device device;
    private final PlacementRules rules;
    private final String key;
    private final LinkProbe link;
    private final long[] activationBytes;
    private final List<Round> rounds = new ArrayList<>();
    private final Samples[] samples = new Samples[Round.values().length];
    private final Plan[] plans = new Plan[Round.values().length];
    private Plan base;
    private int iterations;

    // The iteration under way.
    private Samples present;
    private long opened;
    private long visits;
    private boolean closed;
    private long barrierFrom;
    private long barrier;

    /**
     * @param device          where it is measured
     * @param rules           what the user fixed
     * @param inPlace         whether the host memory can be used in place
     * @param key             what the profile holds for
     * @param link            measured rates of copies, and what they lose to what is used in place
     * @param activationBytes what each layer puts out for the data that is measured
     * @param plan            what the network can be trained on, with steps when the user allows them
     */
    ProfileRun(Device device, PlacementRules rules, boolean inPlace, String key, LinkProbe link, long[] activationBytes, Plan plan) {
        this.device = device;
        this.rules = rules;
        this.key = key;
        this.link = link;
        this.activationBytes = activationBytes.clone();
        for (Round round : Round.values()) {
            samples[round.ordinal()] = new Samples(plan.network().layers().size());
        }
        rounds.add(Round.ALONE);
        if (plan.updateTiming() == UpdateTiming.EAGER) {
            rounds.add(Round.BESIDE_STEPS);
        }
        if (inPlace) {
            rounds.add(Round.PARAMETERS_IN_PLACE);
        }
        if (inPlace && !device.modelsInPlace()) {
            rounds.add(Round.GRADIENTS_IN_PLACE);
        }
        base = plan;
        plans[Round.ALONE.ordinal()] = plan.withUpdateTiming(UpdateTiming.IN_CHUNKS);
        plans[Round.BESIDE_STEPS.ordinal()] = plan;
        Plan readInPlace = MeasuringPlans.parametersInPlace(plan, rules);
        plans[Round.PARAMETERS_IN_PLACE.ordinal()] = device.modelsInPlace() ? MeasuringPlans.gradientsInPlace(readInPlace, rules) : readInPlace;
        plans[Round.GRADIENTS_IN_PLACE.ordinal()] = MeasuringPlans.gradientsInPlace(plan, rules);
    }

    /** What the network can be trained on, which the plans of all rounds vary: none takes more of the device. */
    Plan base() {
        return base;
    }

    /** The plan of the next iteration. */
    Plan plan() {
        return plans[round().ordinal()];
    }

    private Round round() {
        return rounds.get(Math.min(rounds.size() - 1, inRounds() / (LEFT_OUT + MEASURED)));
    }

    /** Iterations as if all rounds left out the same number. */
    private int inRounds() {
        return Math.max(0, iterations - (LEFT_OUT_AT_FIRST - LEFT_OUT));
    }

    /** True once {@link #profile} can be asked. */
    boolean isComplete() {
        return inRounds() >= rounds.size() * (LEFT_OUT + MEASURED);
    }

    /** An iteration opens, and the one before ends with all that lies between the two. */
    void opened() {
        long now = System.nanoTime();
        if (closed) {
            iterations++;
        }
        if (present != null) {
            if (closed) {
                present.keep(now - opened - visits - barrier);
            }
            present.clear();
        }
        closed = false;
        boolean leftOut = inRounds() % (LEFT_OUT + MEASURED) < LEFT_OUT;
        present = leftOut || isComplete() ? null : samples[round().ordinal()];
        opened = now;
        visits = 0;
        barrier = 0;
    }

    @Override
    public boolean isExact() {
        return true;
    }

    @Override
    public void visited(int layer, boolean backward, long computedNanos, long lastedNanos) {
        visits += lastedNanos;
        if (present != null) {
            (backward ? present.backward : present.forward)[layer] += computedNanos;
        }
    }

    /** The barrier begins: from here to {@link #closed} the iteration waits for copies and steps. */
    void barrier() {
        barrierFrom = System.nanoTime();
    }

    /** The iteration is closed, after the steps of its layers. */
    void closed(LayerSteps steps) {
        closed(layer -> steps.isClaimed(layer) ? steps.nanos(layer) : 0);
    }

    /** As above, by the time that each layer's step took. */
    void closed(IntToLongFunction stepNanos) {
        barrier = System.nanoTime() - barrierFrom;
        for (int layer = 0; present != null && layer < present.update.length; layer++) {
            present.update[layer] = stepNanos.applyAsLong(layer);
        }
        closed = true;
    }

    /** What was measured. */
    Profile profile() {
        List<LayerProfile> layers = new ArrayList<>();
        for (int i = 0; i < base.network().layers().size(); i++) {
            layers.add(layer(i));
        }
        return Profile.builder(key, layers).measured().link(link.bytesPerSecondToDevice(), link.bytesPerSecondToHost())
                .shares(link.readShare(), link.writeShare()).slowdown(copySlowdown(), updateSlowdown())
                .between(Math.max(0, of(Round.ALONE).between())).build();
    }

    private Samples of(Round round) {
        return samples[round.ordinal()];
    }

    /** Where the computation can be seen without copies. */
    private Samples undisturbed() {
        return isSeenWithoutCopies() ? of(Round.PARAMETERS_IN_PLACE) : of(Round.ALONE);
    }

    private boolean isSeenWithoutCopies() {
        return device.modelsInPlace() && rounds.contains(Round.PARAMETERS_IN_PLACE);
    }

    private LayerProfile layer(int i) {
        Samples pure = undisturbed();
        LayerProfile.Builder layer = LayerProfile.builder(pure.forward(i), pure.backward(i)).update(of(Round.ALONE).update(i))
                .activations(activationBytes[i]);
        LayerDescription described = base.network().layers().get(i);
        if (rounds.contains(Round.GRADIENTS_IN_PLACE)) {
            Samples read = of(Round.PARAMETERS_IN_PLACE);
            return layer.direct(read.forward(i), read.backward(i)).gradientDirect(of(Round.GRADIENTS_IN_PLACE).backward(i)).build();
        }
        // By the device's own model, or where nothing can be used in place and no plan will.
        return layer.direct(toDevice(described.parameterBytes() * described.forwardTouches()),
                toDevice(described.parameterBytes() * described.backwardTouches())).gradientDirect(toHost(described.gradientBytes())).build();
    }

    private long toDevice(long bytes) {
        return Math.round(bytes / link.bytesPerSecondToDevice() * 1e9);
    }

    private long toHost(long bytes) {
        return Math.round(bytes / link.bytesPerSecondToHost() * 1e9);
    }

    /** Share by which copies lengthen the computation beside them; 0 where that cannot be told apart. */
    private double copySlowdown() {
        if (!isSeenWithoutCopies()) {
            return 0;
        }
        Samples with = of(Round.ALONE);
        Samples without = of(Round.PARAMETERS_IN_PLACE);
        Beside forward = new Beside();
        // The first layers are there when forward begins, and the last ones when backward does: as many as there are slots.
        int there = base.parameterSlots().length;
        for (int i : base.network().forwardOrder()) {
            boolean copied = isOnlyHere(i, Placement.PREFETCH, LayerPlan::forward) && there-- <= 0;
            forward.visit(with.forward(i), Added.of(with.forwards, without.forwards, i), copied ? parameterNanos(i) : 0, 0);
        }
        Beside backward = new Beside();
        there = base.parameterSlots().length;
        for (int i : base.network().backwardOrder()) {
            boolean copied = isOnlyHere(i, Placement.PREFETCH, LayerPlan::backward) && there-- <= 0;
            long gradient = isOnlyHere(i, GradientHome.SLOT, LayerPlan::gradientHome) ? toHost(base.network().layers().get(i).gradientBytes()) : 0;
            backward.visit(with.backward(i), Added.of(with.backwards, without.backwards, i), copied ? parameterNanos(i) : 0, gradient);
        }
        return Beside.slowdown(forward, backward);
    }

    private long parameterNanos(int layer) {
        return toDevice(base.network().layers().get(layer).parameterBytes());
    }

    /** Whether a layer is copied, and not in the round without copies: what the user fixed is copied in both. */
    private boolean isOnlyHere(int layer, Object copied, Function<LayerPlan, Object> decision) {
        return decision.apply(base.layers().get(layer)) == copied
                && decision.apply(plans[Round.PARAMETERS_IN_PLACE.ordinal()].layers().get(layer)) != copied;
    }

    /** Share by which steps lengthen backward beside them; 0 where none may, or that cannot be told apart. */
    private double updateSlowdown() {
        if (!rounds.contains(Round.BESIDE_STEPS)) {
            return 0;
        }
        Beside backward = new Beside();
        for (int i : base.network().backwardOrder()) {
            long step = base.network().layers().get(i).readAfterBackward() ? 0 : of(Round.ALONE).update(i);
            backward.visit(of(Round.BESIDE_STEPS).backward(i), Added.of(of(Round.BESIDE_STEPS).backwards, of(Round.ALONE).backwards, i), 0, step);
        }
        return Beside.slowdown(backward);
    }

    /** What something adds to the shortest time of a visit, and what such times vary by, which cannot be told from it. */
    private static final class Added {

        private final long nanos;
        private final long variation;

        private Added(long nanos, long variation) {
            this.nanos = nanos;
            this.variation = variation;
        }

        private static Added of(List<long[]> with, List<long[]> without, int layer) {
            return new Added(Samples.shortest(with, layer, 0) - Samples.shortest(without, layer, 0), variation(with, layer) + variation(without, layer));
        }

        private static long variation(List<long[]> samples, int layer) {
            return Samples.shortest(samples, layer, 1) - Samples.shortest(samples, layer, 0);
        }
    }

    /** A pass of the computation, and what runs beside it for a part of its time. */
    private static final class Beside {

        private long lasted;
        private long added;
        private long variation;
        private long ahead;
        private long behind;
        private long behindEnds;

        /**
         * The next visit.
         *
         * @param nanos       how long it lasts beside all that
         * @param byAll       by how much that is longer than without
         * @param aheadNanos  what runs for it before it begins
         * @param behindNanos what runs from its end on, when all that began so before is over
         */
        private void visit(long nanos, Added byAll, long aheadNanos, long behindNanos) {
            lasted += nanos;
            added += byAll.nanos;
            variation += byAll.variation;
            ahead += aheadNanos;
            behind += behindNanos;
            behindEnds = Math.max(behindEnds, lasted) + behindNanos;
        }

        /** How long something runs beside the pass, and not behind its end. */
        private long together() {
            return Math.min(lasted, Math.max(ahead, behind - Math.max(0, behindEnds - lasted)));
        }

        /**
         * A computation of some time beside something that lasts as long lasts longer by the share: what was added, over what was computed in the
         * time that the two were together. 0 where that time is so short, or what was added so little, that it cannot be told from what
         * iterations vary by.
         */
        private static double slowdown(Beside... passes) {
            long lasted = 0;
            long added = 0;
            long variation = 0;
            long together = 0;
            for (Beside pass : passes) {
                lasted += pass.lasted;
                added += pass.together() == 0 ? 0 : pass.added;
                variation += pass.together() == 0 ? 0 : pass.variation;
                together += pass.together();
            }
            if (added <= variation || together < LEAST_TOGETHER * lasted) {
                return 0;
            }
            return added >= together ? MOST_SLOWDOWN : Math.min(MOST_SLOWDOWN, (double) added / (together - added));
        }
    }

    /** Some iterations of one kind. */
    private enum Round {
        ALONE, BESIDE_STEPS, PARAMETERS_IN_PLACE, GRADIENTS_IN_PLACE
    }

    /** The times of some iterations. */
    private static final class Samples {

        private final long[] forward;
        private final long[] backward;
        private final long[] update;
        private final List<long[]> forwards = new ArrayList<>();
        private final List<long[]> backwards = new ArrayList<>();
        private final List<long[]> updates = new ArrayList<>();
        private final List<long[]> betweens = new ArrayList<>();

        private Samples(int layers) {
            forward = new long[layers];
            backward = new long[layers];
            update = new long[layers];
        }

        private void keep(long between) {
            forwards.add(forward.clone());
            backwards.add(backward.clone());
            updates.add(update.clone());
            betweens.add(new long[] {between});
        }

        private void clear() {
            Arrays.fill(forward, 0);
            Arrays.fill(backward, 0);
            Arrays.fill(update, 0);
        }

        private long forward(int layer) {
            return median(forwards, layer);
        }

        private long backward(int layer) {
            return median(backwards, layer);
        }

        /** The shortest time, or the next one. */
        private static long shortest(List<long[]> samples, int index, int next) {
            return samples.stream().mapToLong(s -> s[index]).sorted().skip(next).findFirst().orElse(0);
        }

        private long update(int layer) {
            return median(updates, layer);
        }

        private long between() {
            return median(betweens, 0);
        }

        private static long median(List<long[]> samples, int index) {
            return samples.stream().mapToLong(s -> s[index]).sorted().skip((samples.size() - 1) / 2).findFirst().orElse(0);
        }
    }
}
