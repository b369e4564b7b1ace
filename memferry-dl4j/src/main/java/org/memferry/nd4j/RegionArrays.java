package org.memferry.nd4j;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Makes ND4J arrays over memory that MemFerry owns. The arrays do not own it: losing one to garbage collection frees nothing, and none
 * can be closed. Each array has an external buffer of its own, so that no array is a view of another.
 */
public final class RegionArrays {

    private static final AtomicLong CREATED = new AtomicLong();

    private RegionArrays() {
    }

    /** Arrays made since the program started; constant in a steady state. */
    public static long created() {
        return CREATED.get();
    }

    /** Bytes of one element; only FLOAT and DOUBLE are served. */
    public static int elementBytes(DataType type) {
        switch (type) {
            case FLOAT:
                return 4;
            case DOUBLE:
                return 8;
            default:
                throw new RefusedException("data type " + type + ": MemFerry serves FLOAT and DOUBLE networks. Convert the network with "
                        + "net.convertDataType(DataType.FLOAT), or train it with plain DL4J.");
        }
    }

    /**
     * An array over a part of a region.
     *
     * @param region   the memory
     * @param offset   index of the first element in the region
     * @param type     FLOAT or DOUBLE
     * @param shape    shape of the array
     * @param stride   stride in elements
     * @param ordering 'c' or 'f'
     */
    public static INDArray array(Region region, long offset, DataType type, long[] shape, long[] stride, char ordering) {
        DataBuffer buffer = buffer(region, offset, type, shape, stride);
        return new RegionArray(buffer, shape, stride, ordering, type);
    }

    /** As {@link #array}, telling the listener before every use of the array's memory through it. */
    public static INDArray tracked(Region region, long offset, DataType type, long[] shape, long[] stride, char ordering,
            Runnable onAccess) {
        Objects.requireNonNull(onAccess, "onAccess");
        DataBuffer buffer = buffer(region, offset, type, shape, stride);
        return new TrackedArray(buffer, shape, stride, ordering, type, onAccess);
    }

    /** A row vector over a part of a region: shape [n], or [1, n] where the ND4J in use wants rank 2. */
    public static INDArray vector(Region region, long offset, DataType type, long length, boolean rank2) {
        return array(region, offset, type, vectorShape(length, rank2), vectorStride(length, rank2), order(rank2));
    }

    /** As {@link #vector}, tracked. */
    public static INDArray trackedVector(Region region, long offset, DataType type, long length, boolean rank2, Runnable onAccess) {
        return tracked(region, offset, type, vectorShape(length, rank2), vectorStride(length, rank2), order(rank2), onAccess);
    }

    /** True if the array's buffer starts at the region's element of this index. */
    public static boolean startsAt(INDArray array, Region region, long offset) {
        return array.data().pointer().address() == address(region, offset, array.dataType());
    }

    /** True if two arrays without gaps show the same elements of memory, in whatever shape. */
    public static boolean sameMemory(INDArray a, INDArray b) {
        return a.length() == b.length() && a.dataType() == b.dataType() && firstElement(a) == firstElement(b);
    }

    /** Host address of an array's first element; the array has no gaps. */
    public static long firstElement(INDArray a) {
        return a.data().pointer().address() + a.offset() * elementBytes(a.dataType());
    }

    private static char order(boolean rank2) {
        return rank2 ? 'f' : 'c';
    }

    private static long[] vectorShape(long length, boolean rank2) {
        return rank2 ? new long[] {1, length} : new long[] {length};
    }

    private static long[] vectorStride(long length, boolean rank2) {
        return rank2 ? new long[] {1, 1} : new long[] {1};
    }

    private static long address(Region region, long offset, DataType type) {
        return region.address() + Math.multiplyExact(offset, (long) elementBytes(type));
    }

    private static DataBuffer buffer(Region region, long offset, DataType type, long[] shape, long[] stride) {
        long length = 1;
        for (int i = 0; i < shape.length; i++) {
            length = Math.addExact(length, Math.multiplyExact(shape[i] - 1, stride[i]));
        }
        int size = elementBytes(type);
        long end = Math.multiplyExact(Math.addExact(offset, length), (long) size);
        if (offset < 0 || length < 1 || end > region.bytes()) {
            throw new IllegalArgumentException("elements " + offset + " to " + (offset + length) + " of " + size + " bytes in region '"
                    + region.purpose() + "' of " + region.bytes() + " bytes");
        }
        CREATED.incrementAndGet();
        Pointer start = MemFerryWorkspaceManager.isInstalled() ? RegionWorkspace.of(region).place(region, offset * size)
                : new PagedPointer(address(region, offset, type));
        // The capacity counts elements: DataBuffer.capacity() reads it and the pointer cast does not rescale.
        Pointer typed = type == DataType.FLOAT ? new FloatPointer(start) : new DoublePointer(start);
        typed.capacity(length);
        typed.limit(length);
        return Nd4j.createBuffer(typed, length, type);
    }
}
