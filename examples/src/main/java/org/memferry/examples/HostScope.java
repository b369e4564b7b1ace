package org.memferry.examples;

import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.factory.Nd4j;

import java.util.function.Supplier;

/**
 * Lets a piece of work make its ordinary arrays in host memory, for steps that want whole copies of a network at once. TransferLearning is
 * one: it copies every layer, joins the copies one after another, and initialises a network that it then overwrites. A network that is
 * too large to train on the device is too large for that as well.
 *
 * <p>The means is ND4J's own: a workspace whose memory is mirrored {@link MirroringPolicy#HOST_ONLY}. All that is made inside is gone
 * at the end; what shall stay is made under {@link #outside}.
 */
public final class HostScope {

    private static final String ID = "MEMFERRY_EXAMPLES_HOST";
    /** Starts empty: every array gets memory of its own, as nobody knows beforehand how much it will be. */
    private static final WorkspaceConfiguration CONFIGURATION = WorkspaceConfiguration.builder().initialSize(0)
            .policyAllocation(AllocationPolicy.STRICT).policyLearning(LearningPolicy.NONE).policyMirroring(MirroringPolicy.HOST_ONLY)
            .policySpill(SpillPolicy.EXTERNAL).build();

    private HostScope() {
    }

    /** Does the work; arrays made by this thread meanwhile are in host memory, and gone when it ends. */
    public static <T> T inside(Supplier<T> work) {
        MemoryWorkspace workspace = Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread(CONFIGURATION, ID);
        try (MemoryWorkspace scope = workspace.notifyScopeEntered()) {
            return work.get();
        } finally {
            Nd4j.getWorkspaceManager().destroyWorkspace(workspace);
        }
    }

    /** Within {@link #inside}: does work whose arrays stay. */
    public static <T> T outside(Supplier<T> work) {
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            return work.get();
        }
    }
}
