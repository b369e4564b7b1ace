package org.memferry.nd4j;

import org.memferry.base.OutOfMemoryException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LocationPolicy;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.api.memory.pointers.PointersPair;
import org.nd4j.linalg.cpu.nativecpu.workspace.CpuWorkspace;

import java.lang.ref.Cleaner;
import java.util.HashSet;
import java.util.Set;

/**
 * ND4J's own workspace of the CPU backend, which asks before it takes a block of memory and says when it is entered and left. Workspaces
 * that are in host memory by their own configuration (mirrored HOST_ONLY, or a mapped file) are not counted.
 */
final class MeteredWorkspace extends CpuWorkspace {

    /** DL4J opens this workspace around the computation of every layer, in both kinds of network. */
    private static final String LAYER_WORKSPACE = "WS_LAYER_WORKING_MEM";
    /** DL4J opens this one around a whole training iteration. */
    private static final String ITERATION_WORKSPACE = "WS_ALL_LAYERS_ACT";
    private static final Cleaner CLEANER = Cleaner.create();

    // No initial values: ND4J's constructor calls init(), which sets them, and they would be lost again.
    private BlockLedger blocks;
    private ThreadWorkspaces thread;

    MeteredWorkspace(WorkspaceConfiguration configuration) {
        super(configuration);
    }

    MeteredWorkspace(WorkspaceConfiguration configuration, String id) {
        super(configuration, id);
    }

    MeteredWorkspace(WorkspaceConfiguration configuration, String id, int deviceId) {
        super(configuration, id, deviceId);
    }

    @Override
    protected void init() {
        if (thread == null) {
            thread = ThreadWorkspaces.ofCurrentThread();
            if (workspaceConfiguration.getPolicyMirroring() != MirroringPolicy.HOST_ONLY
                    && workspaceConfiguration.getPolicyLocation() != LocationPolicy.MMAP) {
                BlockLedger own = new BlockLedger(id, thread);
                blocks = own;
                memoryManager = new WorkspaceBlocks(own);
                // The workspaces of a thread that ended are given back by ND4J without a word.
                CLEANER.register(this, own::releaseAll);
            }
        }
        try {
            super.init();
        } catch (OutOfMemoryException e) {
            currentSize.set(0);
            isInit.set(false);
            isOver.set(false);
            throw e;
        }
    }

    @Override
    public PagedPointer alloc(long bytes, MemoryKind kind, DataType type, boolean initialize) {
        long cycle = cycleAllocations.get();
        long spilled = spilledAllocationsSize.get();
        long pinned = pinnedAllocationsSize.get();
        int externals = externalCount.get();
        int pins = pinnedCount.get();
        try {
            return super.alloc(bytes, kind, type, initialize);
        } catch (OutOfMemoryException e) {
            // ND4J counts before it asks.
            cycleAllocations.set(cycle);
            spilledAllocationsSize.set(spilled);
            pinnedAllocationsSize.set(pinned);
            externalCount.set(externals);
            pinnedCount.set(pins);
            throw e;
        }
    }

    @Override
    protected void clearExternalAllocations() {
        super.clearExternalAllocations();
        count();
    }

    @Override
    protected void clearPinnedAllocations(boolean extended) {
        super.clearPinnedAllocations(extended);
        count();
    }

    @Override
    public synchronized void destroyWorkspace(boolean extended) {
        super.destroyWorkspace(extended);
        count();
    }

    private void count() {
        if (blocks == null) {
            return;
        }
        Set<Long> there = new HashSet<>();
        add(there, workspace);
        externalAllocations.forEach(pair -> add(there, pair));
        pinnedAllocations.forEach(pair -> add(there, pair));
        blocks.keep(there::contains);
    }

    /** Bytes of its blocks that are on the device; 0 for one that is in host memory by its own configuration. */
    long deviceBytes() {
        return blocks == null ? 0 : blocks.deviceBytes();
    }

    private static void add(Set<Long> addresses, PointersPair pair) {
        if (pair.getHostPointer() != null) {
            addresses.add(pair.getHostPointer().address());
        }
    }

    @Override
    public MemoryWorkspace notifyScopeEntered() {
        if (id.equals(ITERATION_WORKSPACE) && !isScopeActive()) {
            IterationWatch.tellInstalled();
        }
        int tags = tagScope.get();
        MemoryWorkspace entered = super.notifyScopeEntered();
        if (tagScope.get() == tags && id.equals(LAYER_WORKSPACE)) {
            thread.layerEntered();
        }
        return entered;
    }

    @Override
    public void close() {
        // Closes what was borrowed, or entered while it was the present one already, and stays open.
        boolean staysOpen = isBorrowed.get() || tagScope.get() > 0;
        super.close();
        if (!staysOpen && id.equals(LAYER_WORKSPACE)) {
            thread.layerLeft();
        }
    }
}
