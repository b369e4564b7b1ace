package org.memferry.nd4j;

import org.nd4j.jita.workspace.CudaWorkspaceManager;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.abstracts.DummyWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.DebugMode;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.List;

/**
 * ND4J's workspace manager of the CUDA backend, whose workspaces keep within the budget of the device that their thread trains on, and tell
 * MemFerry when a layer is entered and left. Lists MemFerry's own memory beside them, as the workspaces {@code MEMFERRY_DEVICE} and
 * {@code MEMFERRY_HOST}. Chosen by the property {@code workspacemanager=org.memferry.nd4j.MemFerryCudaWorkspaceManager} or by
 * {@code MemFerryRuntime.install()}.
 */
public final class MemFerryCudaWorkspaceManager extends CudaWorkspaceManager {

    private static final Logger LOG = LoggerFactory.getLogger(MemFerryCudaWorkspaceManager.class);
    private static final RegionWorkspace[] OURS = {RegionWorkspace.DEVICE, RegionWorkspace.HOST};

    /** True if this program's ND4J uses this class. */
    public static boolean isInstalled() {
        return Nd4j.getWorkspaceManager() instanceof MemFerryCudaWorkspaceManager;
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration) {
        return bypassed() ? new DummyWorkspace() : new MeteredCudaWorkspace(configuration);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id) {
        return bypassed() ? new DummyWorkspace() : new MeteredCudaWorkspace(configuration, id);
    }

    @Override
    protected MemoryWorkspace newWorkspace(WorkspaceConfiguration configuration, String id, int deviceId) {
        return bypassed() ? new DummyWorkspace() : new MeteredCudaWorkspace(configuration, id, deviceId);
    }

    private boolean bypassed() {
        return getDebugMode() == DebugMode.BYPASS_EVERYTHING;
    }

    /** What DL4J calls in place of opening a workspace where it is told to use none. */
    @Override
    public MemoryWorkspace scopeOutOfWorkspaces() {
        if (Nd4j.getMemoryManager().getCurrentWorkspace() == null) {
            IterationWatch.tellInstalled();
        }
        return super.scopeOutOfWorkspaces();
    }

    @Override
    public List<MemoryWorkspace> getAllWorkspacesForCurrentThread() {
        List<MemoryWorkspace> all = new ArrayList<>(super.getAllWorkspacesForCurrentThread());
        for (RegionWorkspace ours : OURS) {
            if (ours.getCurrentSize() > 0) {
                all.add(ours);
            }
        }
        return all;
    }

    @Override
    public List<String> getAllWorkspacesIdsForCurrentThread() {
        List<String> all = new ArrayList<>(super.getAllWorkspacesIdsForCurrentThread());
        for (RegionWorkspace ours : OURS) {
            if (ours.getCurrentSize() > 0) {
                all.add(ours.getId());
            }
        }
        return all;
    }

    @Override
    public synchronized void printAllocationStatisticsForCurrentThread() {
        super.printAllocationStatisticsForCurrentThread();
        for (RegionWorkspace ours : OURS) {
            LOG.info("{}", ours);
        }
    }
}
