package org.memferry.nd4j;

import org.bytedeco.javacpp.Pointer;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongPredicate;

/**
 * The blocks of device memory of one workspace, by address, counted. ND4J's workspaces give blocks back to the system by themselves, past
 * every memory manager; what is gone is found by asking the workspace what it still has.
 */
final class BlockLedger {

    /** Addresses of the blocks, of all workspaces, that were placed in host memory for want of room. */
    private static final Set<Long> SPILLED = ConcurrentHashMap.newKeySet();

    private final String workspace;
    private final ThreadWorkspaces thread;
    private final Map<Long, ThreadWorkspaces.Block> held = new ConcurrentHashMap<>();

    BlockLedger(String workspace, ThreadWorkspaces thread) {
        this.workspace = workspace;
        this.thread = thread;
    }

    /**
     * Takes a block.
     *
     * @param bytes    its size
     * @param allocate takes the memory; told whether it is to be host memory
     */
    Pointer take(long bytes, Function<Boolean, Pointer> allocate) {
        ThreadWorkspaces.Block block = thread.admit(bytes, workspace);
        try {
            Pointer memory = allocate.apply(block.isSpilled());
            held.put(memory.address(), block);
            if (block.isSpilled()) {
                SPILLED.add(memory.address());
            }
            return memory;
        } catch (RuntimeException | Error e) {
            block.release();
            throw e;
        }
    }

    /** Takes out of the count what the workspace does not have any more. */
    void keep(LongPredicate stillThere) {
        held.forEach((address, block) -> {
            if (!stillThere.test(address) && held.remove(address, block)) {
                SPILLED.remove(address);
                block.release();
            }
        });
    }

    /** Whether the block at an address is in host memory for want of room. */
    static boolean isSpilled(Pointer block) {
        return block != null && SPILLED.contains(block.address());
    }

    long deviceBytes() {
        return held.values().stream().mapToLong(ThreadWorkspaces.Block::deviceBytes).sum();
    }

    /** The workspace is gone. */
    void releaseAll() {
        keep(address -> false);
    }
}
