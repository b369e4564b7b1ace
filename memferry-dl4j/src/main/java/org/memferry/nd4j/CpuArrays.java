package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.memferry.device.Region;
import org.memferry.device.cuda.ComputeStream;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Arrays of the CPU backend: one address, whatever the memory is for, and operations that are done when they return. */
final class CpuArrays implements ArrayFactory {

    @Override
    public INDArray host(Region region, long offset, DataType type, Layout layout, Runnable onAccess) {
        DataBuffer buffer = buffer(region, offset, type, layout.length());
        return onAccess == null ? new RegionArray(buffer, layout.shape, layout.stride, layout.ordering, type)
                : new TrackedArray(buffer, layout.shape, layout.stride, layout.ordering, type, onAccess);
    }

    @Override
    public INDArray slot(Region slab, long offset, Region scratch, long scratchStart, DataType type, Layout layout) {
        return host(slab, offset, type, layout, null);
    }

    private static DataBuffer buffer(Region region, long offset, DataType type, long length) {
        long address = ArrayMemory.address(region, offset, length, type);
        Pointer start = MemFerryWorkspaceManager.isInstalled() ? RegionWorkspace.of(region).place(region, address - region.address())
                : new PagedPointer(address);
        return Nd4j.createBuffer(ArrayMemory.typed(start, length, type), length, type);
    }

    @Override
    public boolean hasOurManagers() {
        return MemFerryWorkspaceManager.isInstalled();
    }

    @Override
    public long countedBytes(MemoryWorkspace workspace) {
        return workspace instanceof MeteredWorkspace ? ((MeteredWorkspace) workspace).deviceBytes() : -1;
    }

    @Override
    public boolean slotsNeedScratch() {
        return false;
    }

    @Override
    public long bufferStart(INDArray array) {
        return array.data().pointer().address();
    }

    @Override
    public long firstElement(INDArray array) {
        return bufferStart(array) + array.offset() * RegionArrays.elementBytes(array.dataType());
    }

    @Override
    public long hostAddress(INDArray array) {
        return firstElement(array);
    }

    @Override
    public void written(INDArray slot) {
        // There is one side only.
    }

    /** ND4J's CPU backend moves no buffer. */
    @Override
    public boolean isInPlace(INDArray array) {
        return true;
    }

    @Override
    public void await() {
        // Operations are done when they return.
    }

    @Override
    public ComputeStream computeStream() {
        return ComputeStream.HOST;
    }

    @Override
    public void useCard(int card) {
        // Only where the device is a stand-in that the CPU can compute in: whichever it is.
    }
}
