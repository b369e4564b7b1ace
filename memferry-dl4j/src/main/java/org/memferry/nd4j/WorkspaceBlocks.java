package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.cpu.nativecpu.CpuMemoryManager;

/** Where a workspace of the CPU backend takes its blocks from, all of them counted. */
final class WorkspaceBlocks extends CpuMemoryManager {

    private final BlockLedger ledger;

    WorkspaceBlocks(BlockLedger ledger) {
        this.ledger = ledger;
    }

    @Override
    public Pointer allocate(long bytes, MemoryKind kind, boolean initialize) {
        return ledger.take(bytes, spilled -> super.allocate(bytes, kind, initialize));
    }
}
