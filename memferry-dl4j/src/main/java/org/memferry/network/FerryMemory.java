package org.memferry.network;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.nd4j.RegionArrays;
import org.memferry.nd4j.SlotScratch;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The memory of one attachment: host parameters, gradients and updater state, the slab, and the flat arrays over them that the network is
 * given. {@link Remains} gives it back.
 */
final class FerryMemory {

    /** Told before an array that the network or a user was given is used. */
    interface Access {

        /** The flat parameters. */
        void parameters();

        /** The flat gradients. */
        void gradients();

        /** @param region the updater state's memory, which may have been replaced since the array was made */
        void state(Region region);
    }

    private final Remains remains;
    private final Device device;
    private final DataType type;
    private final boolean rank2;
    private final Access access;
    private final Region parameters;
    private final INDArray trackedParameters;
    private final INDArray plainParameters;
    private Region gradients;
    private Region state;
    private Region slab;
    private SlotScratch scratch = SlotScratch.NONE;
    private INDArray gradientArray;
    private INDArray stateArray;

    /**
     * Takes the memory of the parameters, which all else is about.
     *
     * @param remains takes it, and gives it back
     * @param device  where it is used
     * @param type    of all numbers
     * @param rank2   whether flat parameters and state are row vectors
     * @param count   number of parameters
     * @param access  told of uses
     */
    FerryMemory(Remains remains, Device device, DataType type, boolean rank2, long count, Access access) {
        this.remains = remains;
        this.device = device;
        this.type = type;
        this.rank2 = rank2;
        this.access = access;
        this.parameters = remains.host(bytes(count), "parameters");
        this.trackedParameters = RegionArrays.trackedVector(parameters, 0, type, count, rank2, access::parameters);
        this.plainParameters = RegionArrays.vector(parameters, 0, type, count, rank2);
    }

    private long bytes(long count) {
        return Math.multiplyExact(count, (long) RegionArrays.elementBytes(type));
    }

    /** Takes all memory that a plan needs, before the network is touched. */
    void reserve(Plan plan) {
        gradients = remains.host(plan.network().parameterBytes(), "gradients");
        state = remains.host(plan.network().updaterStateBytes(), "updater state");
        requireInPlace(plan);
        if (plan.budget().finalShapes()) {
            fitSlab(plan.slabBytes());
        }
    }

    /** Makes the flat arrays of gradients and updater state. */
    void makeArrays(NetworkDescription network) {
        gradientArray = RegionArrays.trackedVector(gradients, 0, type, network.parameterCount(), true, access::gradients);
        makeStateArray(network.updaterStateCount());
    }

    private void makeStateArray(long count) {
        Region region = state;
        stateArray = count == 0 ? null : RegionArrays.trackedVector(region, 0, type, count, rank2, () -> access.state(region));
    }

    /** Updater state of another size takes the place of the present one, whose content is lost. */
    void resizeState(long count) {
        if (stateArray == null ? count > 0 : stateArray.length() != count) {
            state.close();
            state = remains.host(bytes(count), "updater state");
            makeStateArray(count);
        }
    }

    /** Gives the updater state's memory back. */
    void dropState() {
        stateArray = null;
        state.close();
    }

    /** Gives the slab a size. What was in it is lost unless it had that size. */
    void fitSlab(long bytes) {
        long present = slab == null ? 0 : slab.bytes();
        if (present != bytes) {
            closeSlab();
            slab = bytes > 0 ? remains.slab(bytes, "slots") : null;
        }
    }

    void closeSlab() {
        if (slab != null) {
            slab.close();
            slab = null;
        }
    }

    /**
     * Takes what the arrays over a plan's slots need on the host side, in place of what the plan before needed.
     *
     * @throws OutOfMemoryException if the plan uses memory in place that cannot be
     */
    SlotScratch scratchFor(Plan plan) {
        requireInPlace(plan);
        long parameterBytes = 0;
        long gradientBytes = 0;
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerPlan layer = plan.layers().get(i);
            long bytes = plan.network().layers().get(i).parameterBytes();
            if (layer.forward() != Placement.DIRECT || layer.backward() != Placement.DIRECT) {
                parameterBytes = Math.max(parameterBytes, bytes);
            }
            if (layer.gradientHome() == GradientHome.SLOT) {
                gradientBytes = Math.max(gradientBytes, bytes);
            }
        }
        scratch.close();
        scratch = SlotScratch.take(remains::host, parameterBytes, gradientBytes);
        return scratch;
    }

    /** Memory that could not be pinned can be copied from and to, but a card cannot compute in it. */
    private void requireInPlace(Plan plan) {
        for (LayerPlan layer : plan.layers()) {
            boolean reads = layer.forward() == Placement.DIRECT || layer.backward() == Placement.DIRECT;
            boolean writes = layer.gradientHome() == GradientHome.DIRECT;
            Region used = reads && !device.canUseInPlace(parameters) ? parameters
                    : writes && !device.canUseInPlace(gradients) ? gradients : null;
            if (used != null) {
                throw new OutOfMemoryException(device.name() + ": the " + used.purpose() + " of " + Sizes.exact(used.bytes()) + " could not be pinned in "
                        + "host memory, so that nothing can be used in place, but the plan has layers that are DIRECT (raise the limit of locked "
                        + "memory, ulimit -l, or the container's memory; or place all layers RESIDENT or PREFETCH with gradients in SLOT)",
                        used.bytes(), 0);
            }
        }
    }

    /** Gives memory of ordinary arrays back now and not at some garbage collection: they have no reader any more. */
    static void closeOrdinary(INDArray... arrays) {
        for (INDArray a : arrays) {
            if (a != null && a.closeable() && !a.wasClosed()) {
                a.close();
            }
        }
    }

    DataType type() {
        return type;
    }

    boolean rank2() {
        return rank2;
    }

    /** The host master. */
    Region parameters() {
        return parameters;
    }

    /** The host gradients. */
    Region gradients() {
        return gradients;
    }

    /** The updater state. */
    Region state() {
        return state;
    }

    /** The slab; null if there is none. */
    Region slab() {
        return slab;
    }

    /** The flat parameters as the network has them. */
    INDArray trackedParameters() {
        return trackedParameters;
    }

    /** The flat parameters for ourselves: nobody is told. */
    INDArray plainParameters() {
        return plainParameters;
    }

    /** The flat gradients as the network has them. */
    INDArray gradientArray() {
        return gradientArray;
    }

    /** The flat updater state as the network has it; null if its rules have none. */
    INDArray stateArray() {
        return stateArray;
    }
}
