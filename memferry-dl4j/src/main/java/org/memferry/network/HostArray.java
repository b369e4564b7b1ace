package org.memferry.network;

import java.util.Arrays;
import java.util.Objects;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.buffer.DataType;

/**
 * A vector that lies in host memory: address, type and the shape it goes by. Owns nothing; whoever hands it out keeps the memory
 * alive as long as it is used.
 */
public final class HostArray {

    /** No values at all: the parameters of a network without any, or the updater state of one that keeps none. */
    public static final HostArray NONE = new HostArray(0, DataType.FLOAT, 0);

    private final long address;
    private final DataType type;
    private final long[] shape;

    private HostArray(long address, DataType type, long... shape) {
        this.address = address;
        this.type = type;
        this.shape = shape;
    }

    /**
     * @param address first byte; not 0 unless there are no values
     * @param type    FLOAT or DOUBLE
     * @param shape   {@code [n]} as DL4J 1.0.0-M2.1 has it, or {@code [1, n]} as M1.1 does
     * @throws RefusedException for another type, a shape that is no vector, or values without an address
     */
    public static HostArray of(long address, DataType type, long... shape) {
        requireStorable(type, "a host array");
        if (!ArrayHeader.isVector(Objects.requireNonNull(shape, "shape"))) {
            throw new RefusedException("a host array: shape " + Arrays.toString(shape) + " (expected: a vector, such as [n] or [1, n])");
        }
        if (address == 0 && ArrayHeader.elements(shape) > 0) {
            throw new RefusedException("a host array: " + Arrays.toString(shape) + " values at address 0 (expected: the address of host"
                    + " memory that is still open)");
        }
        return new HostArray(address, type, shape.clone());
    }

    /** Refuses types other than FLOAT and DOUBLE. */
    static void requireStorable(DataType type, String what) {
        if (type != DataType.FLOAT && type != DataType.DOUBLE) {
            throw new RefusedException(what + ": values of type " + type + " (expected: FLOAT or DOUBLE; train the network with"
                    + " dataType(DataType.FLOAT) or dataType(DataType.DOUBLE))");
        }
    }

    /** Address of the first byte. */
    public long address() {
        return address;
    }

    /** Type of each value. */
    public DataType type() {
        return type;
    }

    /** Sizes as they go into a file; a copy. */
    public long[] shape() {
        return shape.clone();
    }

    /** Number of values. */
    public long count() {
        return ArrayHeader.elements(shape);
    }

    /** Size in bytes. */
    public long bytes() {
        return Math.multiplyExact(count(), (long) type.width());
    }
}
