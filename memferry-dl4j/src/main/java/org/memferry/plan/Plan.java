package org.memferry.plan;

import org.memferry.base.Sizes;

import java.util.ArrayList;
import java.util.List;

/**
 * Where each layer's parameters are served from and where its gradient goes, with the slots that this takes. Pure data: the engine
 * compiles it to a program, a report prints it.
 */
public final class Plan {

    /** Slots start at multiples of this many bytes. */
    public static final long SLOT_ALIGNMENT = 256;

    private final NetworkDescription network;
    private final List<LayerPlan> layers;
    private final int parameterSlots;
    private final long parameterSlotBytes;
    private final int gradientSlots;
    private final long gradientSlotBytes;
    private final Budget budget;

    /**
     * @param network            what is planned
     * @param layers             one decision per layer of the network
     * @param parameterSlots     slots that PREFETCH layers share, at least 2 if any layer is PREFETCH
     * @param parameterSlotBytes size of each
     * @param gradientSlots      slots that SLOT gradients share
     * @param gradientSlotBytes  size of each
     * @param budget             the device bytes the plan was made for
     */
    public Plan(NetworkDescription network, List<LayerPlan> layers, int parameterSlots, long parameterSlotBytes, int gradientSlots,
            long gradientSlotBytes, Budget budget) {
        this.network = network;
        this.layers = List.copyOf(layers);
        this.parameterSlots = parameterSlots;
        this.parameterSlotBytes = Sizes.align(parameterSlotBytes, SLOT_ALIGNMENT);
        this.gradientSlots = gradientSlots;
        this.gradientSlotBytes = Sizes.align(gradientSlotBytes, SLOT_ALIGNMENT);
        this.budget = budget;
        check();
    }

    private void check() {
        if (layers.size() != network.layers().size()) {
            throw new IllegalArgumentException(layers.size() + " decisions for " + network.layers().size() + " layers");
        }
        for (int i = 0; i < layers.size(); i++) {
            LayerDescription d = network.layers().get(i);
            LayerPlan p = layers.get(i);
            boolean prefetch = p.forward() == Placement.PREFETCH || p.backward() == Placement.PREFETCH;
            if (prefetch && (parameterSlots < 1 || d.parameterBytes() > parameterSlotBytes)) {
                throw new IllegalArgumentException(d + " is PREFETCH but its " + d.parameterBytes() + " bytes have no slot ("
                        + parameterSlots + " of " + parameterSlotBytes + " bytes)");
            }
            boolean slot = p.gradientHome() == GradientHome.SLOT;
            if (slot && (gradientSlots < 1 || d.parameterBytes() > gradientSlotBytes)) {
                throw new IllegalArgumentException(d + " has a gradient SLOT but its " + d.parameterBytes() + " bytes have none ("
                        + gradientSlots + " of " + gradientSlotBytes + " bytes)");
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

    /** Number of slots that PREFETCH layers share. */
    public int parameterSlots() {
        return parameterSlots;
    }

    /** Bytes of each parameter slot, aligned. */
    public long parameterSlotBytes() {
        return parameterSlotBytes;
    }

    /** Number of slots that SLOT gradients share. */
    public int gradientSlots() {
        return gradientSlots;
    }

    /** Bytes of each gradient slot, aligned. */
    public long gradientSlotBytes() {
        return gradientSlotBytes;
    }

    /** The device bytes the plan was made for. */
    public Budget budget() {
        return budget;
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
        long slots = Math.addExact(Math.multiplyExact(parameterSlotBytes, (long) parameterSlots),
                Math.multiplyExact(gradientSlotBytes, (long) gradientSlots));
        return Math.addExact(residentBytes(), slots);
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
        return new Plan(network, layers, 0, 0, 0, 0, budget);
    }
}
