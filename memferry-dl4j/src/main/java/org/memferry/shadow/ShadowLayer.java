package org.memferry.shadow;

import org.memferry.device.Region;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.Program;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.List;

/**
 * One layer's parameters as its readers see them: logical parameter to array. During a pass a read is answered from the slot that the
 * engine names; at all other times, and for other threads, from the host master.
 */
public final class ShadowLayer {

    private final int index;
    private final String name;
    private final long offset;
    private final DataType type;
    private final List<ParameterSlice> slices;
    private final INDArray[] master;
    private final INDArray[] tracked;
    private Lease[] leases;

    ShadowLayer(int index, String name, long offset, DataType type, List<ParameterSlice> slices, Region masterRegion,
            Runnable onAccess) {
        this.index = index;
        this.name = name;
        this.offset = offset;
        this.type = type;
        this.slices = List.copyOf(slices);
        this.master = new INDArray[slices.size()];
        this.tracked = new INDArray[slices.size()];
        for (int i = 0; i < master.length; i++) {
            ParameterSlice s = slices.get(i);
            master[i] = RegionArrays.array(masterRegion, offset + s.offset(), type, s.shape(), s.stride(), s.ordering());
            tracked[i] = RegionArrays.tracked(masterRegion, offset + s.offset(), type, s.shape(), s.stride(), s.ordering(), onAccess);
        }
        this.leases = new Lease[] {new Lease(name, Program.MASTER, master)};
    }

    /** Makes the arrays over the slots that a program serves this layer from. */
    void stage(Program program, Region slab, Region scratch) {
        Lease[] staged = new Lease[program.slots() + 1];
        staged[0] = leases[0];
        for (int slot : program.slotsOf(index)) {
            INDArray[] arrays = new INDArray[slices.size()];
            long first = program.slotOffset(slot) / RegionArrays.elementBytes(type);
            for (int i = 0; i < arrays.length; i++) {
                ParameterSlice s = slices.get(i);
                arrays[i] = s.pinned() ? master[i]
                        : RegionArrays.slot(slab, first + s.offset(), scratch, s.offset(), type, s.shape(), s.stride(), s.ordering());
            }
            staged[slot + 1] = new Lease(name, slot, arrays);
        }
        this.leases = staged;
    }

    /** Index of the layer. */
    public int index() {
        return index;
    }

    /** Name of the layer. */
    public String name() {
        return name;
    }

    /** Index of the layer's first element in the flat vector. */
    public long offset() {
        return offset;
    }

    /** The layer's parameters, in the order of their index. */
    public List<ParameterSlice> slices() {
        return slices;
    }

    /** The parameter in the host master, for code of ours that says itself when it writes. */
    public INDArray master(int parameter) {
        return master[parameter];
    }

    /** The parameter in the host master, for users: the ferry learns of every use. */
    public INDArray tracked(int parameter) {
        return tracked[parameter];
    }

    /** The arrays over a slot, for a reader that must keep them (SameDiff); {@link Program#MASTER} for the master. */
    public INDArray[] arrays(int slot) {
        return leases[slot + 1].arrays();
    }

    /** Enters the layer, waits for its parameters, and leases them until it is left. */
    Lease lease(IterationEngine engine) {
        int slot = engine.read(index);
        Lease lease = leases[slot + 1];
        if (!lease.isOpen()) {
            lease.open(engine.version(index));
            if (slot != Program.MASTER) {
                announceCopy(lease);
            }
        }
        return lease;
    }

    /** What was in the slot before this layer's copy, ND4J may have on the host side still. */
    private void announceCopy(Lease lease) {
        for (int i = 0; i < master.length; i++) {
            if (lease.array(i) != master[i]) {
                RegionArrays.written(lease.array(i));
            }
        }
    }

    /** The first parameter whose array no longer shows the memory it was made over; null if all do. */
    String movedParameter() {
        for (Lease lease : leases) {
            for (int i = 0; lease != null && i < master.length; i++) {
                if (!RegionArrays.isInPlace(lease.arrays[i])) {
                    return slices.get(i).key();
                }
            }
        }
        return null;
    }

    void left(int slot) {
        leases[slot + 1].release();
    }

    void releaseAll() {
        for (Lease lease : leases) {
            if (lease != null) {
                lease.release();
            }
        }
    }
}
