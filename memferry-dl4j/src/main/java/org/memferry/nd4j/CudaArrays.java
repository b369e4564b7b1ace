package org.memferry.nd4j;

import org.memferry.base.RefusedException;
import org.memferry.device.Region;
import org.memferry.device.cuda.ComputeStream;
import org.nd4j.jita.allocator.impl.AtomicAllocator;
import org.nd4j.jita.conf.CudaEnvironment;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Arrays of ND4J's CUDA backend over memory of ours, with what has to be known about it. Read from the sources of 1.0.0-M1.1 and 1.0.0-M2.1;
 * none of it has run on a card yet.
 *
 * <p>A buffer has two sides and counters that say which is the latest; all views of a buffer share them, so that one write through one view
 * makes all of the buffer count as changed. Each array of ours has a buffer of its own. Addresses are taken from buffers without asking for
 * their pointer: that would allocate a host side where there is none.
 */
final class CudaArrays implements ArrayFactory {

    @Override
    public INDArray host(Region region, long offset, DataType type, Layout layout, Runnable onAccess) {
        list(region);
        ArrayMemory memory = ArrayMemory.direct(region, offset, layout.length(), type);
        return onAccess == null ? new CudaRegionArray(buffer(memory), layout, memory) : new CudaTrackedArray(buffer(memory), layout, memory, onAccess);
    }

    @Override
    public INDArray slot(Region slab, long offset, Region scratch, long scratchStart, DataType type, Layout layout) {
        list(slab);
        ArrayMemory memory = ArrayMemory.slot(slab, offset, scratch, scratchStart, layout.length(), type);
        return new CudaRegionArray(buffer(memory), layout, memory);
    }

    /** Lets ND4J's reports show the region. */
    private static void list(Region region) {
        if (MemFerryCudaWorkspaceManager.isInstalled()) {
            RegionWorkspace.of(region).place(region, 0);
        }
    }

    /** With four arguments the buffer takes both sides as they are and owns neither; with three it would allocate device memory and copy. */
    private static DataBuffer buffer(ArrayMemory memory) {
        DataBuffer buffer = Nd4j.createBuffer(ArrayMemory.pointer(memory.primary(), memory.length(), memory.type()),
                ArrayMemory.pointer(memory.special(), memory.length(), memory.type()), memory.length(), memory.type());
        Nd4j.getAffinityManager().tagLocation(buffer, memory.latest());
        return buffer;
    }

    @Override
    public boolean hasOurManagers() {
        return MemFerryCudaWorkspaceManager.isInstalled();
    }

    @Override
    public long countedBytes(MemoryWorkspace workspace) {
        return workspace instanceof MeteredCudaWorkspace ? ((MeteredCudaWorkspace) workspace).deviceBytes() : -1;
    }

    @Override
    public boolean slotsNeedScratch() {
        return true;
    }

    /** A view's addresses include its offset on this backend, while those of the CPU backend do not. */
    @Override
    public long bufferStart(INDArray array) {
        return firstElement(array) - array.offset() * RegionArrays.elementBytes(array.dataType());
    }

    @Override
    public long firstElement(INDArray array) {
        return array.data().platformAddress();
    }

    /**
     * {@inheritDoc} Not read through ND4J, which would copy the buffer onto itself after each write of the card.
     *
     * @throws IllegalArgumentException if the array has a device side of its own: what the host finds there is not what the card computed
     */
    @Override
    public long hostAddress(INDArray array) {
        long address = array.data().address();
        if (address != array.data().platformAddress()) {
            throw new IllegalArgumentException("an array of " + array.length() + " elements in device memory (expected: one over pinned host"
                    + " memory, which the host and the card read at one address)");
        }
        return address;
    }

    @Override
    public void written(INDArray slot) {
        ((CudaRegionArray) slot).tag();
    }

    @Override
    public boolean isInPlace(INDArray array) {
        return ((CudaRegionArray) array).isInPlace();
    }

    /** Most of ND4J's operations wait themselves; elementwise ones and reductions do not. */
    @Override
    public void await() {
        Nd4j.getExecutioner().commit();
    }

    @Override
    public ComputeStream computeStream() {
        return CudaArrays::executionStream;
    }

    /**
     * Every thread of Java has a stream of its own for operations. ND4J keeps a pointer to its handle and calls it the old one; the handle is
     * what the bindings of the runtime, a second instance of it in the same process, want. Asked for anew each time, since ND4J replaces its
     * context when a thread changes its card.
     */
    private static long executionStream() {
        return AtomicAllocator.getInstance().getDeviceContext().getCublasStream().address();
    }

    /**
     * {@inheritDoc} An operation on a thread whose card is another one than an array's moves the array into memory of ND4J's, silently.
     * libnd4j deals the cards it sees out to threads in turn, whatever ND4J's own configuration says: it must see one.
     */
    @Override
    public void useCard(int card) {
        requireOnlyCard(card, Nd4j.getAffinityManager().getNumberOfDevices());
        CudaEnvironment.getInstance().getConfiguration().allowMultiGPU(false).useDevice(card);
    }

    static void requireOnlyCard(int card, int seen) {
        if (seen != 1 || card != 0) {
            throw new RefusedException("device 'cuda:" + card + "': ND4J sees " + seen + " cards and gives each thread another one (expected: one card,"
                    + " which is cuda:0 then; start Java with the environment variable CUDA_VISIBLE_DEVICES=" + card + " and ask for cuda:0)");
        }
    }
}
