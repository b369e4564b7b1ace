package org.memferry.nd4j;

import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.memferry.device.cuda.ComputeStream;
import org.nd4j.linalg.api.buffer.DataType;
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
     * An array over a part of a host region.
     *
     * @param region   the memory
     * @param offset   index of the first element in the region
     * @param type     FLOAT or DOUBLE
     * @param shape    shape of the array
     * @param stride   stride in elements
     * @param ordering 'c' or 'f'
     */
    public static INDArray array(Region region, long offset, DataType type, long[] shape, long[] stride, char ordering) {
        return host(region, offset, type, new ArrayFactory.Layout(shape, stride, ordering), null);
    }

    /** As {@link #array}, telling the listener before every use of the array's memory through it. */
    public static INDArray tracked(Region region, long offset, DataType type, long[] shape, long[] stride, char ordering,
            Runnable onAccess) {
        Objects.requireNonNull(onAccess, "onAccess");
        return host(region, offset, type, new ArrayFactory.Layout(shape, stride, ordering), onAccess);
    }

    /** A row vector over a part of a host region: shape [n], or [1, n] where the ND4J in use wants rank 2. */
    public static INDArray vector(Region region, long offset, DataType type, long length, boolean rank2) {
        return host(region, offset, type, vector(length, rank2), null);
    }

    /** As {@link #vector}, tracked. */
    public static INDArray trackedVector(Region region, long offset, DataType type, long length, boolean rank2, Runnable onAccess) {
        Objects.requireNonNull(onAccess, "onAccess");
        return host(region, offset, type, vector(length, rank2), onAccess);
    }

    private static INDArray host(Region region, long offset, DataType type, ArrayFactory.Layout layout, Runnable onAccess) {
        CREATED.incrementAndGet();
        return arrays().host(region, offset, type, layout, onAccess);
    }

    /**
     * An array over a part of a slab.
     *
     * @param slab         the memory
     * @param offset       index of the first element in the slab
     * @param scratch      from {@link SlotScratch}: what ND4J may use as the array's side on the host
     * @param scratchStart index of the first element there
     * @param type         FLOAT or DOUBLE
     * @param shape        shape of the array
     * @param stride       stride in elements
     * @param ordering     'c' or 'f'
     */
    public static INDArray slot(Region slab, long offset, Region scratch, long scratchStart, DataType type, long[] shape, long[] stride,
            char ordering) {
        CREATED.incrementAndGet();
        return arrays().slot(slab, offset, scratch, scratchStart, type, new ArrayFactory.Layout(shape, stride, ordering));
    }

    /** A row vector over a part of a slab; see {@link #slot} and {@link #vector}. */
    public static INDArray slotVector(Region slab, long offset, Region scratch, DataType type, long length, boolean rank2) {
        CREATED.incrementAndGet();
        return arrays().slot(slab, offset, scratch, 0, type, vector(length, rank2));
    }

    /** A copy of MemFerry's has written what an array over a slab shows; ND4J is told where the latest is. */
    public static void written(INDArray slot) {
        arrays().written(slot);
    }

    /** Whether an array of MemFerry's still shows the memory it was made over. */
    public static boolean isInPlace(INDArray array) {
        return arrays().isInPlace(array);
    }

    /** Whether ND4J's backend is CUDA's. Starts ND4J if it was not in use yet. */
    public static boolean computesOnCard() {
        return Nd4j.getBackend().getClass().getSimpleName().equals(ArrayFactory.CUDA_BACKEND);
    }

    /** Whether ND4J's workspaces are managed by MemFerry in this program. */
    public static boolean hasOurManagers() {
        return arrays().hasOurManagers();
    }

    /** Waits until what the calling thread had ND4J compute is done, so that the host may read and write what it worked on. */
    public static void awaitComputation() {
        arrays().await();
    }

    /** Where ND4J computes: on the host, or on the calling thread's stream of a card. */
    public static ComputeStream computeStream() {
        return arrays().computeStream();
    }

    /**
     * Makes ND4J's CUDA backend compute on one card; nothing is done where another backend computes.
     *
     * @param card as CUDA numbers them
     * @throws RefusedException if ND4J sees others beside it
     */
    public static void useCard(int card) {
        arrays().useCard(card);
    }

    /** True if the array's buffer starts at the slab's element of this index. */
    public static boolean startsAt(INDArray array, Region slab, long offset) {
        return bufferStart(array) == slab.address() + Math.multiplyExact(offset, (long) elementBytes(array.dataType()));
    }

    /** Where the buffer starts that an array is, or is a view of; equal for two arrays that are views of one buffer. */
    public static long bufferStart(INDArray array) {
        return arrays().bufferStart(array);
    }

    /** True if two arrays without gaps show the same elements of memory, in whatever shape. */
    public static boolean sameMemory(INDArray a, INDArray b) {
        return a.length() == b.length() && a.dataType() == b.dataType() && arrays().firstElement(a) == arrays().firstElement(b);
    }

    /** Host address of the first element of an array over a host region; the array has no gaps. */
    public static long firstElement(INDArray a) {
        return arrays().hostAddress(a);
    }

    private static ArrayFactory arrays() {
        return ArrayFactory.Loaded.INSTANCE;
    }

    private static ArrayFactory.Layout vector(long length, boolean rank2) {
        return rank2 ? new ArrayFactory.Layout(new long[] {1, length}, new long[] {1, 1}, 'f')
                : new ArrayFactory.Layout(new long[] {length}, new long[] {1}, 'c');
    }
}
