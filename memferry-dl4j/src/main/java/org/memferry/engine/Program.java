package org.memferry.engine;

import org.memferry.base.Sizes;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A plan compiled to what the engine does: slots with fixed addresses, the visits of a training iteration and of an inference pass with
 * the slot that serves each, and the copies in the order in which they are needed, each with the visit it has to wait for.
 *
 * <p>A slot that still holds the parameters a visit needs is used again without a copy: the last layers of forward are the first of
 * backward.
 */
public final class Program {

    /** In place of a slot: the host master or the host gradients. */
    public static final int MASTER = -1;
    /** In place of a gradient slot: the visit writes no gradient. */
    public static final int NONE = -2;

    private final Plan plan;
    private final long[] slotOffset;
    private final long[] slotBytes;
    private final int residents;
    private final int[] residentSlot;
    private final int[] gradientSlot;
    private final int firstGradientSlot;
    private final Pass training;
    private final Pass inference;

    private Program(Plan plan) {
        this.plan = plan;
        int layers = plan.layers().size();
        this.residentSlot = new int[layers];
        List<Long> bytes = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            residentSlot[i] = MASTER;
            if (plan.layers().get(i).forward() == Placement.RESIDENT) {
                residentSlot[i] = bytes.size();
                bytes.add(Sizes.align(plan.network().layers().get(i).parameterBytes(), Plan.SLOT_ALIGNMENT));
            }
        }
        this.residents = bytes.size();
        for (int i = 0; i < plan.parameterSlots(); i++) {
            bytes.add(plan.parameterSlotBytes());
        }
        this.firstGradientSlot = bytes.size();
        for (int i = 0; i < plan.gradientSlots(); i++) {
            bytes.add(plan.gradientSlotBytes());
        }
        this.slotOffset = new long[bytes.size()];
        this.slotBytes = new long[bytes.size()];
        long offset = 0;
        for (int i = 0; i < slotBytes.length; i++) {
            slotOffset[i] = offset;
            slotBytes[i] = bytes.get(i);
            offset = Math.addExact(offset, slotBytes[i]);
        }
        this.gradientSlot = assignGradientSlots();
        NetworkDescription network = plan.network();
        this.training = compile(network.forwardOrder(), network.backwardOrder());
        this.inference = compile(network.inferenceOrder(), new int[0]);
    }

    /** Compiles a plan. */
    public static Program compile(Plan plan) {
        return new Program(plan);
    }

    /** Gradient slots go round in the order of the backward pass, so that neighbours never share one if there are two. */
    private int[] assignGradientSlots() {
        int[] slots = new int[plan.layers().size()];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = plan.layers().get(i).gradientHome() == GradientHome.NONE ? NONE : MASTER;
        }
        int next = 0;
        for (int layer : plan.network().backwardOrder()) {
            if (plan.layers().get(layer).gradientHome() == GradientHome.SLOT) {
                slots[layer] = firstGradientSlot + next;
                next = (next + 1) % plan.gradientSlots();
            }
        }
        return slots;
    }

    private Pass compile(int[] forward, int[] backward) {
        SlotAssignment assignment = new SlotAssignment();
        for (int layer : forward) {
            assignment.visit(layer, false);
        }
        for (int layer : backward) {
            assignment.visit(layer, true);
        }
        return new Pass(assignment.visits, assignment.copies);
    }

    /** The plan this was compiled from. */
    public Plan plan() {
        return plan;
    }

    /** Number of slots: resident layers first, then the shared parameter slots, then the gradient slots. */
    public int slots() {
        return slotOffset.length;
    }

    /** Byte offset of a slot in the slab, a multiple of {@link Plan#SLOT_ALIGNMENT}. */
    public long slotOffset(int slot) {
        return slotOffset[slot];
    }

    /** Bytes of a slot. */
    public long slotBytes(int slot) {
        return slotBytes[slot];
    }

    /** True if the slot belongs to one layer for good. */
    public boolean isResident(int slot) {
        return slot < residents;
    }

    /** Slot of a resident layer, else {@link #MASTER}. */
    public int residentSlot(int layer) {
        return residentSlot[layer];
    }

    /** Slot that a layer's backward writes its gradient to, {@link #MASTER} or {@link #NONE}. */
    public int gradientSlot(int layer) {
        return gradientSlot[layer];
    }

    /** The slots that ever serve a layer's parameters, without {@link #MASTER}. */
    public int[] slotsOf(int layer) {
        boolean[] used = new boolean[slots()];
        for (Pass pass : new Pass[] {training, inference}) {
            for (Visit v : pass.visits) {
                if (v.layer == layer && v.slot >= 0) {
                    used[v.slot] = true;
                }
            }
        }
        int count = 0;
        int[] slots = new int[used.length];
        for (int i = 0; i < used.length; i++) {
            if (used[i]) {
                slots[count++] = i;
            }
        }
        return Arrays.copyOf(slots, count);
    }

    Pass training() {
        return training;
    }

    Pass inference() {
        return inference;
    }

    /** Walks a pass once and decides which slot serves each visit; keeps what each slot holds as it will be at that time. */
    private final class SlotAssignment {

        private final List<Visit> visits = new ArrayList<>();
        private final List<Copy> copies = new ArrayList<>();
        private final int[] holds = new int[slots()];
        private final int[] lastVisit = new int[slots()];

        SlotAssignment() {
            Arrays.fill(holds, -1);
            Arrays.fill(lastVisit, -1);
        }

        void visit(int layer, boolean backward) {
            LayerDescription description = plan.network().layers().get(layer);
            LayerPlan decision = plan.layers().get(layer);
            Placement placement = backward ? decision.backward() : decision.forward();
            int gradient = backward ? gradientSlot[layer] : NONE;
            long direct = gradient == MASTER ? description.gradientBytes() : 0;
            int slot = MASTER;
            if (placement == Placement.DIRECT) {
                int touches = backward ? description.backwardTouches() : description.forwardTouches();
                direct = Math.addExact(direct, Math.multiplyExact(description.parameterBytes(), (long) touches));
            } else {
                slot = serve(layer, placement == Placement.RESIDENT ? residentSlot[layer] : sharedSlot(layer, description));
            }
            visits.add(new Visit(layer, backward, slot, gradient, direct));
        }

        private int serve(int layer, int slot) {
            if (holds[slot] != layer) {
                copies.add(new Copy(layer, slot, visits.size(), lastVisit[slot]));
                holds[slot] = layer;
            } else if (lastVisit[slot] >= 0) {
                visits.get(lastVisit[slot]).lastUse = false;
            }
            lastVisit[slot] = visits.size();
            return slot;
        }

        /** The slot that holds the layer already, or the one whose last reader is longest ago. */
        private int sharedSlot(int layer, LayerDescription description) {
            if (description.fixedSlot()) {
                return residents + layer % plan.parameterSlots();
            }
            int oldest = residents;
            for (int slot = residents; slot < firstGradientSlot; slot++) {
                if (holds[slot] == layer) {
                    return slot;
                }
                if (lastVisit[slot] < lastVisit[oldest]) {
                    oldest = slot;
                }
            }
            return oldest;
        }
    }
}
