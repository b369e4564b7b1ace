package org.memferry.plan;

import org.memferry.base.Sizes;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Where each layer's parameters are served from and where its gradient goes, with the slots that this takes. Pure data: the engine
 * compiles it to a program, a report prints it.
 */
public final class Plan {

    /** Slots start at multiples of this many bytes. */
    public static final long SLOT_ALIGNMENT = 256;

    private final NetworkDescription network;
    private final List<LayerPlan> layers;
    private final long[] parameterSlots;
    private final long[] gradientSlots;
    private final Budget budget;
    private final Strategy strategy;
    private final UpdateTiming updateTiming;

    private Plan(Builder b) {
        this.network = b.network;
        this.layers = List.copyOf(b.layers);
        this.parameterSlots = aligned(b.parameterSlots);
        this.gradientSlots = aligned(b.gradientSlots);
        this.budget = Objects.requireNonNull(b.budget, "budget");
        this.strategy = b.strategy;
        this.updateTiming = b.updateTiming;
        check();
    }

    /**
     * Starts a plan.
     *
     * @param network what is planned
     * @param layers  one decision per layer of the network
     * @param budget  the device bytes the plan is made for
     */
    public static Builder builder(NetworkDescription network, List<LayerPlan> layers, Budget budget) {
        return new Builder(network, layers, budget);
    }

    private static long[] aligned(long[] bytes) {
        return Arrays.stream(bytes).map(b -> Sizes.align(b, SLOT_ALIGNMENT)).toArray();
    }

    private void check() {
        if (layers.size() != network.layers().size()) {
            throw new IllegalArgumentException(layers.size() + " decisions for " + network.layers().size() + " layers");
        }
        for (int i = 0; i < layers.size(); i++) {
            LayerDescription d = network.layers().get(i);
            LayerPlan p = layers.get(i);
            boolean prefetch = p.forward() == Placement.PREFETCH || p.backward() == Placement.PREFETCH;
            if (prefetch && d.parameterBytes() > largest(parameterSlots)) {
                throw new IllegalArgumentException(d + " is PREFETCH but its " + d.parameterBytes() + " bytes have no slot ("
                        + parameterSlots.length + " of at most " + largest(parameterSlots) + " bytes)");
            }
            boolean slot = p.gradientHome() == GradientHome.SLOT;
            if (slot && d.parameterBytes() > largest(gradientSlots)) {
                throw new IllegalArgumentException(d + " has a gradient SLOT but its " + d.parameterBytes() + " bytes have none ("
                        + gradientSlots.length + " of at most " + largest(gradientSlots) + " bytes)");
            }
        }
    }

    /** What is planned. */
    public NetworkDescription network() {
        return network;
    }

    /** One decision per layer of the network. */
    public List<LayerPlan> layers() {
        return layers;
    }

    private static long largest(long[] bytes) {
        return Arrays.stream(bytes).max().orElse(0);
    }

    /** Bytes of each slot that PREFETCH layers share, aligned; a layer uses those that are large enough for it. */
    public long[] parameterSlots() {
        return parameterSlots.clone();
    }

    /** Bytes of each slot that SLOT gradients share, aligned; a layer uses those that are large enough for it. */
    public long[] gradientSlots() {
        return gradientSlots.clone();
    }

    /** Bytes of all parameter slots. */
    public long parameterSlotBytes() {
        return sum(parameterSlots);
    }

    /** Bytes of all gradient slots. */
    public long gradientSlotBytes() {
        return sum(gradientSlots);
    }

    private static long sum(long[] bytes) {
        long sum = 0;
        for (long b : bytes) {
            sum = Math.addExact(sum, b);
        }
        return sum;
    }

    /** The strategy that this plan follows; {@link Strategy#AUTO} for one that is of no named kind. */
    public Strategy strategy() {
        return strategy;
    }

    /** When the optimizer's step takes place. */
    public UpdateTiming updateTiming() {
        return updateTiming;
    }

    /** The device bytes the plan was made for. */
    public Budget budget() {
        return budget;
    }

    /** The same plan with the optimizer's step at another time. */
    public Plan withUpdateTiming(UpdateTiming timing) {
        return builder(network, layers, budget).parameterSlots(parameterSlots).gradientSlots(gradientSlots).strategy(strategy)
                .updateTiming(timing).build();
    }

    /** Bytes of all RESIDENT layers, each aligned. */
    public long residentBytes() {
        long sum = 0;
        for (int i = 0; i < layers.size(); i++) {
            if (layers.get(i).forward() == Placement.RESIDENT) {
                sum = Math.addExact(sum, Sizes.align(network.layers().get(i).parameterBytes(), SLOT_ALIGNMENT));
            }
        }
        return sum;
    }

    /** Device bytes that the plan takes: resident layers and all slots. */
    public long slabBytes() {
        return Math.addExact(residentBytes(), Math.addExact(parameterSlotBytes(), gradientSlotBytes()));
    }

    /** Host bytes that the ferry takes: parameters, gradients and updater state. */
    public long hostBytes() {
        return Math.addExact(Math.multiplyExact(2L, network.parameterBytes()), network.updaterStateBytes());
    }

    /** A plan on a device without own memory: everything is read and written in place. */
    public static Plan inPlace(NetworkDescription network, Budget budget) {
        List<LayerPlan> layers = new ArrayList<>();
        for (LayerDescription d : network.layers()) {
            GradientHome home = d.gradientWritten() ? GradientHome.DIRECT : GradientHome.NONE;
            layers.add(new LayerPlan(Placement.DIRECT, Placement.DIRECT, home, "the device computes in host memory"));
        }
        return builder(network, layers, budget).build();
    }

    /** Collects a plan. */
    public static final class Builder {

        private final NetworkDescription network;
        private final List<LayerPlan> layers;
        private final Budget budget;
        private long[] parameterSlots = {};
        private long[] gradientSlots = {};
        private Strategy strategy = Strategy.AUTO;
        private UpdateTiming updateTiming = UpdateTiming.AFTER_BACKWARD;

        private Builder(NetworkDescription network, List<LayerPlan> layers, Budget budget) {
            this.network = network;
            this.layers = layers;
            this.budget = budget;
        }

        /** Bytes of each slot that PREFETCH layers share; none if not set. */
        public Builder parameterSlots(long... bytes) {
            this.parameterSlots = bytes.clone();
            return this;
        }

        /** Bytes of each slot that SLOT gradients share; none if not set. */
        public Builder gradientSlots(long... bytes) {
            this.gradientSlots = bytes.clone();
            return this;
        }

        /** See {@link Plan#strategy()}; AUTO if not set. */
        public Builder strategy(Strategy value) {
            this.strategy = Objects.requireNonNull(value, "strategy");
            return this;
        }

        /** See {@link Plan#updateTiming()}; AFTER_BACKWARD if not set. */
        public Builder updateTiming(UpdateTiming value) {
            this.updateTiming = Objects.requireNonNull(value, "updateTiming");
            return this;
        }

        /**
         * The plan.
         *
         * @throws IllegalArgumentException if a layer has no slot that is large enough for what was decided
         */
        public Plan build() {
            return new Plan(this);
        }
    }
}
