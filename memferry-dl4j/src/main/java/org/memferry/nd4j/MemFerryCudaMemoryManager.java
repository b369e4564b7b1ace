package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.nd4j.jita.memory.CudaMemoryManager;
import org.nd4j.linalg.api.memory.enums.MemoryKind;

/**
 * ND4J's memory manager of the CUDA backend, whose report includes what MemFerry holds. Chosen by the property
 * {@code memorymanager=org.memferry.nd4j.MemFerryCudaMemoryManager} or by {@code MemFerryRuntime.install()}; goes together with
 * {@link MemFerryCudaWorkspaceManager}.
 */
public final class MemFerryCudaMemoryManager extends CudaMemoryManager {

    /** ND4J's own figure and the slabs of MemFerry's devices. */
    @Override
    public long allocatedMemory(Integer deviceId) {
        return super.allocatedMemory(deviceId) + RegionWorkspace.DEVICE.getCurrentSize();
    }

    /** Workspaces of threads that ended are given back by this: what was placed in host memory for want of room as what it is. */
    @Override
    public void release(Pointer pointer, MemoryKind kind) {
        super.release(pointer, BlockLedger.isSpilled(pointer) ? MemoryKind.HOST : kind);
    }
}
