package org.memferry.network;

import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.memferry.device.Region;
import org.memferry.engine.Program;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where each unit's backward pass writes its gradient at present: its slot on the device during training iterations, where the plan gives
 * it one, else its piece of the host gradients. Rebinding makes new views in DL4J's layers, so it is done only when the home changes.
 */
final class GradientHomes {

    private final List<NetworkUnit> units;
    private final List<UnitBinding> bindings;
    private final Region gradients;
    private final DataType type;
    private final boolean rank2;
    private final Map<String, Integer> unitIndex = new HashMap<>();
    private final Map<String, INDArray> hostViews = new HashMap<>();
    private final INDArray[] host;
    private final INDArray[] slot;
    private final boolean[] inSlot;
    private Program program;
    private Region slab;

    /** Makes the arrays over the host gradients; binds nothing yet. */
    GradientHomes(List<NetworkUnit> units, List<UnitBinding> bindings, Region gradients, DataType type, boolean rank2) {
        this.units = units;
        this.bindings = bindings;
        this.gradients = gradients;
        this.type = type;
        this.rank2 = rank2;
        this.host = new INDArray[units.size()];
        this.slot = new INDArray[units.size()];
        this.inSlot = new boolean[units.size()];
        for (int i = 0; i < host.length; i++) {
            unitIndex.put(units.get(i).name, i);
            host[i] = RegionArrays.vector(gradients, units.get(i).offset, type, units.get(i).length, rank2);
        }
    }

    /** Binds every unit to the host gradients. */
    void bind() {
        for (int i = 0; i < host.length; i++) {
            bindings.get(i).bindGradients(host[i]);
        }
    }

    /**
     * The plan is final: makes the arrays over the gradient slots.
     *
     * @param scratch the host side of arrays there; null if the backend needs none
     */
    void useSlots(Program compiled, Region slots, Region scratch) {
        this.program = compiled;
        this.slab = slots;
        for (int i = 0; i < slot.length; i++) {
            if (program.gradientSlot(i) >= 0) {
                slot[i] = RegionArrays.slotVector(slab, firstElement(i), scratch, type, units.get(i).length, rank2);
            }
        }
    }

    /** Another plan follows: everything writes to the host gradients, and the arrays over slots are forgotten. */
    void leaveSlots() {
        for (int i = 0; i < slot.length; i++) {
            toHost(i);
            slot[i] = null;
        }
    }

    private long firstElement(int unit) {
        return program.slotOffset(program.gradientSlot(unit)) / RegionArrays.elementBytes(type);
    }

    /** A training iteration begins: gradients go where the plan says. */
    void toSlots() {
        for (int i = 0; i < slot.length; i++) {
            if (slot[i] != null && !inSlot[i]) {
                bindings.get(i).bindGradients(slot[i]);
                inSlot[i] = true;
            }
        }
    }

    /** Lets a unit write to the host gradients until the next {@link #toSlots()}. */
    void toHost(int unit) {
        if (inSlot[unit]) {
            bindings.get(unit).bindGradients(host[unit]);
            inSlot[unit] = false;
        }
    }

    /** True while the unit's backward writes to a slot. */
    boolean isInSlot(int unit) {
        return inSlot[unit];
    }

    /** The unit's piece of the host gradients. */
    INDArray host(int unit) {
        return host[unit];
    }

    /** The unit that a key of a network's gradient belongs to, such as {@code 3_W}; null if to none. */
    Integer unitOf(String gradientKey) {
        int end = gradientKey.lastIndexOf('_');
        return unitIndex.get(end < 0 ? gradientKey : gradientKey.substring(0, end));
    }

    /** Arrays over gradient slots in a gradient are replaced by the same piece of the host gradients. */
    void showHost(Gradient gradient) {
        if (gradient == null || slab == null) {
            return;
        }
        for (Map.Entry<String, INDArray> e : gradient.gradientForVariable().entrySet()) {
            Integer unit = unitOf(e.getKey());
            INDArray array = e.getValue();
            if (unit != null && array != null && slot[unit] != null && RegionArrays.startsAt(array, slab, firstElement(unit))) {
                e.setValue(hostViews.computeIfAbsent(e.getKey(), k -> over(units.get(unit).offset + array.offset(), array)));
            }
        }
    }

    /**
     * Lets a gradient that DL4J shows listeners and users, which may be those behind us in this iteration, show the host gradients.
     *
     * @param old  the network's former flat gradient
     * @param flat the host gradients
     */
    void move(Gradient gradient, INDArray old, INDArray flat) {
        if (gradient == null || old == null) {
            return;
        }
        long base = RegionArrays.bufferStart(old);
        for (Map.Entry<String, INDArray> e : gradient.gradientForVariable().entrySet()) {
            INDArray array = e.getValue();
            if (array != null && RegionArrays.bufferStart(array) == base) {
                e.setValue(over(array.offset() - old.offset(), array));
            }
        }
        if (gradient instanceof DefaultGradient) {
            Dl4jFields.GRADIENT_FLATTENED.set(gradient, flat);
        }
    }

    /** A gradient whose array no longer shows the memory it was made over, for example {@code the gradient of layer 0}; null if all do. */
    String movedArray() {
        for (int i = 0; i < host.length; i++) {
            if (!RegionArrays.isInPlace(host[i]) || slot[i] != null && !RegionArrays.isInPlace(slot[i])) {
                return "the gradient of layer " + units.get(i).name;
            }
        }
        return null;
    }

    private INDArray over(long offset, INDArray like) {
        return RegionArrays.array(gradients, offset, type, like.shape(), like.stride(), like.ordering());
    }
}
