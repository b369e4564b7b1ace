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
import java.util.stream.IntStream;

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
    private final int[] firstCopySlot;
    private final int[] lastVisitOfSlot;

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
        Arrays.stream(plan.parameterSlots()).forEach(bytes::add);
        this.firstGradientSlot = bytes.size();
        Arrays.stream(plan.gradientSlots()).forEach(bytes::add);
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
        this.firstCopySlot = new int[layers];
        Arrays.fill(firstCopySlot, MASTER);
        for (Copy copy : training.copies) {
            if (copy.afterVisit < 0) {
                firstCopySlot[copy.layer] = copy.slot;
            }
        }
        this.lastVisitOfSlot = new int[slotBytes.length];
        Arrays.fill(lastVisitOfSlot, -1);
        for (int v = 0; v < training.visits.length; v++) {
            if (training.visits[v].slot >= 0) {
                lastVisitOfSlot[training.visits[v].slot] = v;
            }
        }
    }

    /** Compiles a plan. */
    public static Program compile(Plan plan) {
        return new Program(plan);
    }

    /**
     * In the order of the backward pass: of the slots that are large enough the one whose last gradient is longest ago, so that
     * neighbours never share one if there are two.
     */
    private int[] assignGradientSlots() {
        int[] slots = new int[plan.layers().size()];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = plan.layers().get(i).gradientHome() == GradientHome.NONE ? NONE : MASTER;
        }
        int[] lastUse = new int[slots()];
        Arrays.fill(lastUse, -1);
        int now = 0;
        for (int layer : plan.network().backwardOrder()) {
            if (plan.layers().get(layer).gradientHome() == GradientHome.SLOT) {
                slots[layer] = oldest(firstGradientSlot, slots(), plan.network().layers().get(layer).parameterBytes(), lastUse);
                lastUse[slots[layer]] = now++;
            }
        }
        return slots;
    }

    /** The slot of a range that is large enough and was used longest ago; the smallest of these. */
    private int oldest(int from, int to, long bytes, int[] lastUse) {
        int best = -1;
        for (int slot = from; slot < to; slot++) {
            boolean fits = slotBytes[slot] >= bytes;
            if (fits && (best < 0 || lastUse[slot] < lastUse[best]
                    || lastUse[slot] == lastUse[best] && slotBytes[slot] < slotBytes[best])) {
                best = slot;
            }
        }
        return best;
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

    /** The slot that the next iteration's first copy of a layer goes to before anything was read, or {@link #MASTER}. */
    int firstCopySlot(int layer) {
        return firstCopySlot[layer];
    }

    /** Index of the last visit of a training iteration that reads a slot, -1 if none does. */
    int lastVisitOfSlot(int slot) {
        return lastVisitOfSlot[slot];
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
            long written = gradient == MASTER ? description.gradientBytes() : 0;
            long read = 0;
            int slot = MASTER;
            if (placement == Placement.DIRECT) {
                int touches = backward ? description.backwardTouches() : description.forwardTouches();
                read = Math.multiplyExact(description.parameterBytes(), (long) touches);
            } else {
                slot = serve(layer, placement == Placement.RESIDENT ? residentSlot[layer] : sharedSlot(layer, description));
            }
            visits.add(new Visit(layer, backward, slot, gradient, read, written));
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
                return fixedSlot(layer, description);
            }
            for (int slot = residents; slot < firstGradientSlot; slot++) {
                if (holds[slot] == layer) {
                    return slot;
                }
            }
            return oldest(residents, firstGradientSlot, description.parameterBytes(), lastVisit);
        }

        /** The same slot in every pass, whatever it held before. */
        private int fixedSlot(int layer, LayerDescription description) {
            int[] large = IntStream.range(residents, firstGradientSlot).filter(s -> slotBytes[s] >= description.parameterBytes()).toArray();
            return large[layer % large.length];
        }
    }
}
