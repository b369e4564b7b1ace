package org.memferry.nd4j;

import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Region;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.abstracts.DummyWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.MemoryKind;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;

import java.util.Map;
import java.util.WeakHashMap;

/**
 * MemFerry's memory as ND4J's reports show it: one named workspace of all slabs, out of which slot arrays are made, and one of all host
 * regions, out of which the arrays are made that are read in place. Where an array lies is the plan's business, so that nobody can open one
 * of the two, or take memory from it; and their arrays are not attached to them as ND4J understands it, since they live as long as the
 * network does.
 */
final class RegionWorkspace extends DummyWorkspace {

    static final RegionWorkspace DEVICE = new RegionWorkspace("MEMFERRY_DEVICE", MirroringPolicy.FULL);
    static final RegionWorkspace HOST = new RegionWorkspace("MEMFERRY_HOST", MirroringPolicy.HOST_ONLY);

    private final String id;
    private final WorkspaceConfiguration configuration;
    /** Weak, so that a region that was forgotten open is found. */
    private final Map<Region, Boolean> regions = new WeakHashMap<>();
    private long most;

    private RegionWorkspace(String id, MirroringPolicy mirroring) {
        this.id = id;
        this.configuration = WorkspaceConfiguration.builder().policyMirroring(mirroring).policyLearning(LearningPolicy.NONE).build();
    }

    /** The workspace that a region is part of. */
    static RegionWorkspace of(Region region) {
        return region.isSlab() ? DEVICE : HOST;
    }

    /** The place of an array, by the plan: from this byte of a region on. */
    PagedPointer place(Region region, long offset) {
        synchronized (regions) {
            if (regions.put(region, Boolean.TRUE) == null) {
                most = Math.max(most, held());
            }
        }
        return new PagedPointer(region.address() + offset);
    }

    private long held() {
        regions.keySet().removeIf(region -> !region.isOpen());
        return regions.keySet().stream().mapToLong(Region::bytes).sum();
    }

    @Override
    public String getId() {
        return id;
    }

    @Override
    public WorkspaceConfiguration getWorkspaceConfiguration() {
        return configuration;
    }

    /** Bytes of all open regions that arrays were made over. */
    @Override
    public long getCurrentSize() {
        synchronized (regions) {
            return held();
        }
    }

    @Override
    public long getMaxCycleAllocations() {
        synchronized (regions) {
            return most;
        }
    }

    @Override
    public PagedPointer alloc(long bytes, DataType type, boolean initialize) {
        throw refused();
    }

    @Override
    public PagedPointer alloc(long bytes, MemoryKind kind, DataType type, boolean initialize) {
        throw refused();
    }

    @Override
    public MemoryWorkspace notifyScopeEntered() {
        throw refused();
    }

    @Override
    public MemoryWorkspace notifyScopeBorrowed() {
        throw refused();
    }

    @Override
    public void close() {
        // Never opened.
    }

    private RefusedException refused() {
        return new RefusedException("workspace " + id + " of " + Sizes.exact(getCurrentSize()) + " holds the arrays of attached networks at "
                + "the places of their plans (expected: a workspace of your own for other arrays)");
    }

    @Override
    public String toString() {
        return String.format("%-26s %8s (%d)", id + ":", Sizes.format(getCurrentSize()), getCurrentSize());
    }
}
