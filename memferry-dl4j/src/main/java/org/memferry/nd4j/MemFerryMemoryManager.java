package org.memferry.nd4j;

import org.nd4j.linalg.cpu.nativecpu.CpuMemoryManager;

/**
 * ND4J's memory manager of the CPU backend, whose report includes what MemFerry holds. Chosen by the property
 * {@code memorymanager=org.memferry.nd4j.MemFerryMemoryManager} or by {@code MemFerryRuntime.install()}; goes together with
 * {@link MemFerryWorkspaceManager}.
 */
public final class MemFerryMemoryManager extends CpuMemoryManager {

    /** ND4J's own figure and the slabs of MemFerry's devices. */
    @Override
    public long allocatedMemory(Integer deviceId) {
        return super.allocatedMemory(deviceId) + RegionWorkspace.DEVICE.getCurrentSize();
    }
}
