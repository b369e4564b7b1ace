package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.cpu.nativecpu.CpuMemoryManager;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongPredicate;

/**
 * The blocks of memory of one workspace, by address: where it takes them from, counted. ND4J's workspaces give blocks back to the system
 * by themselves, past every memory manager; what is gone is found by asking the workspace what it still has.
 */
final class WorkspaceBlocks extends CpuMemoryManager {

    private final String workspace;
    private final ThreadWorkspaces thread;
    private final Map<Long, ThreadWorkspaces.Block> held = new ConcurrentHashMap<>();

    WorkspaceBlocks(String workspace, ThreadWorkspaces thread) {
        this.workspace = workspace;
        this.thread = thread;
    }

    @Override
    public Pointer allocate(long bytes, MemoryKind kind, boolean initialize) {
        ThreadWorkspaces.Block block = thread.admit(bytes, workspace);
        try {
            Pointer memory = super.allocate(bytes, kind, initialize);
            held.put(memory.address(), block);
            return memory;
        } catch (RuntimeException | Error e) {
            thread.release(block);
            throw e;
        }
    }

    /** Takes out of the count what the workspace does not have any more. */
    void keep(LongPredicate stillThere) {
        held.forEach((address, block) -> {
            if (!stillThere.test(address) && held.remove(address, block)) {
                thread.release(block);
            }
        });
    }

    long deviceBytes() {
        return held.values().stream().mapToLong(ThreadWorkspaces.Block::deviceBytes).sum();
    }

    /** The workspace is gone. */
    void releaseAll() {
        keep(address -> false);
    }
}
