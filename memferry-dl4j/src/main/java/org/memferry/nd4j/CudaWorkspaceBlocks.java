package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.nd4j.jita.memory.CudaMemoryManager;
import org.nd4j.linalg.api.memory.enums.MemoryKind;

/**
 * Where a workspace of the CUDA backend takes its blocks from: those on the card are counted, their mirrors in host memory are not. A block
 * that the card has no room for is pinned host memory, which the card addresses as the host does.
 */
final class CudaWorkspaceBlocks extends CudaMemoryManager {

    private final BlockLedger ledger;

    CudaWorkspaceBlocks(BlockLedger ledger) {
        this.ledger = ledger;
    }

    @Override
    public Pointer allocate(long bytes, MemoryKind kind, boolean initialize) {
        if (kind != MemoryKind.DEVICE) {
            return super.allocate(bytes, kind, initialize);
        }
        return ledger.take(bytes, spilled -> super.allocate(bytes, spilled ? MemoryKind.HOST : MemoryKind.DEVICE, initialize));
    }
}
