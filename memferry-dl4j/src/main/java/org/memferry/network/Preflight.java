package org.memferry.network;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;
import org.memferry.plan.Budget;
import org.memferry.plan.Plan;
import org.memferry.report.MemoryTable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.file.Path;
import java.util.Properties;

/**
 * Adds up, before anything is taken, what an attachment needs of the host, and holds it against every limit that the system, the container,
 * the shell and JavaCPP set: so that what cannot work is refused with its numbers and the setting to change, and not killed an hour later.
 *
 * <p>Saving and restoring stream through one chunk of {@value ArrayStream#CHUNK_BYTES} bytes: they need no second copy, and no more than
 * training beside it.
 */
final class Preflight {

    private static final Logger LOG = LoggerFactory.getLogger(Preflight.class);
    private static final String JAVACPP = JavaCppLimits.PREFIX;
    /** {@code warn} logs a shortfall and attaches all the same, where the system says less than it has; anything else refuses. */
    static final String PROPERTY = "org.memferry.preflight";
    private static final String WARN_ONLY = "warn";
    /** For threads, ND4J's small arrays, and what the allocator keeps. */
    static final long MARGIN = 16 << 20;

    private final Plan plan;
    private final long givenBack;
    private final boolean deviceIsHost;
    private final String device;
    private final HostMemory memory;
    private final boolean pins;

    private Preflight(Plan plan, long givenBack, boolean deviceIsHost, String device, HostMemory memory, boolean pins) {
        this.plan = plan;
        this.givenBack = givenBack;
        this.deviceIsHost = deviceIsHost;
        this.device = device;
        this.memory = memory;
        this.pins = pins;
    }

    /**
     * @param plan         what is to be taken
     * @param givenBack    bytes of the network's own arrays, which attaching gives back as it goes
     * @param deviceIsHost true if device memory is memory of this process, as on an emulated device
     * @param device       name of the device
     * @param memory       what the system says, and JavaCPP's limit
     * @param pins         true if the device pins host memory
     */
    static Preflight of(Plan plan, long givenBack, boolean deviceIsHost, String device, HostMemory memory, boolean pins) {
        return new Preflight(plan, givenBack, deviceIsHost, device, memory, pins);
    }

    /** The preflight of an attachment in this process. */
    static Preflight of(Plan plan, long givenBack, Device device) {
        String how = System.getProperty(PROPERTY);
        if (how != null && !how.equals(WARN_ONLY)) {
            throw new RefusedException(PROPERTY + ": '" + how + "' (expected: " + WARN_ONLY + ", or leave it unset, and what does not fit is refused)");
        }
        warnOfSpelling(System.getProperties());
        // Where ND4J computes on the CPU, activations are memory of this process too, whatever the device.
        return of(plan, givenBack, Support.computesOnCpu(), device.name(), JavaCppLimits.addTo(HostMemory.read(Path.of("/"))),
                device.pinsHostMemory());
    }

    private static void warnOfSpelling(Properties properties) {
        for (String name : JavaCppLimits.misspelled(properties)) {
            LOG.warn("-D{} is not read by JavaCPP, whose limits are {}maxbytes and {}maxphysicalbytes: check the spelling", name, JAVACPP,
                    JAVACPP);
        }
    }

    /** Bytes of this process that are added at most, in attach, training, evaluation, save and restore. */
    long neededBytes() {
        long taken = Math.addExact(plan.hostBytes(), deviceIsHost ? deviceBytes() : 0);
        return Math.max(0, taken - givenBack) + ArrayStream.CHUNK_BYTES + MARGIN;
    }

    private long deviceBytes() {
        return plan.budget().deviceBytes() == Long.MAX_VALUE ? 0 : Math.addExact(plan.slabBytes(), plan.budget().activationBytes());
    }

    /**
     * Holds the need against all limits.
     *
     * @throws OutOfMemoryException if one is short, with the table
     */
    Preflight check() {
        for (HostMemory.Limit limit : memory.limits()) {
            if (neededBytes() > limit.freeBytes()) {
                refuse(limit);
            }
        }
        return this;
    }

    private void refuse(HostMemory.Limit limit) {
        String text = "the host has not enough memory to attach: " + Sizes.exact(neededBytes()) + " are needed, "
                + limit.kind().title() + " leaves " + Sizes.exact(limit.freeBytes()) + " of " + Sizes.format(limit.totalBytes())
                + ". " + cure(limit) + " If the system says less than it has: -D" + PROPERTY + "=" + WARN_ONLY + "\n" + table();
        if (!WARN_ONLY.equals(System.getProperty(PROPERTY))) {
            throw new OutOfMemoryException(text, neededBytes(), limit.freeBytes());
        }
        LOG.warn("{}", text);
    }

    private String cure(HostMemory.Limit limit) {
        long enough = limit.totalBytes() - limit.freeBytes() + neededBytes();
        switch (limit.kind()) {
            case JAVACPP:
                return "Set -D" + JAVACPP + "maxphysicalbytes=" + enough + " or 0 for no limit: it counts the whole process, not only what "
                        + "JavaCPP takes.";
            case CONTROL_GROUP:
                return "Give the container or service at least " + Sizes.format(enough) + " (docker run --memory=" + enough
                        + ", systemd MemoryMax=), or train a smaller network.";
            case DATA:
                return "Raise the limit (ulimit -d " + (enough >> 10) + " or unlimited), or train a smaller network.";
            case ADDRESS_SPACE:
                return "Raise the limit (ulimit -v " + (enough >> 10) + " or unlimited), or train a smaller network.";
            default:
                return "Train a smaller network or one with an updater of less state, close other programs, or give the machine more "
                        + "memory.";
        }
    }

    /** What is needed and what there is, each with what is counted. */
    MemoryTable table() {
        Budget budget = plan.budget();
        MemoryTable.Builder table = MemoryTable.builder().text("preflight: what attaching takes of the host, and what the host has")
                .row("process now", memory.residentBytes(), "resident")
                .row("parameters", plan.network().parameterBytes(), "needed from attach to close")
                .row("gradients", plan.network().parameterBytes(), "needed from attach to close")
                .row("updater state", plan.network().updaterStateBytes(), "needed from attach to close");
        if (budget.deviceBytes() != Long.MAX_VALUE) {
            table.row("slots and resident layers", plan.slabBytes(), "on " + device + (deviceIsHost ? ", which is memory of this process" : ""));
            if (budget.finalShapes()) {
                table.row("activations", budget.activationBytes(), "on the device: training and evaluation, working memory, data");
            } else {
                table.row("activations", "not known", "on the device: the first batch shows them");
            }
            table.row("device", budget.deviceBytes(), "has; " + Sizes.format(Math.max(0, budget.slabLimit())) + " for slots and layers");
        }
        table.row("save, restore", ArrayStream.CHUNK_BYTES, "beside training: one chunk of heap, no second copy")
                .row("network's own arrays", givenBack, "given back while it is attached").row("margin", MARGIN, "for everything else")
                .row("needed", neededBytes(), "at most, beside the process now");
        for (HostMemory.Limit limit : memory.limits()) {
            table.row(limit.kind().title(), limit.freeBytes(), "left of " + Sizes.format(limit.totalBytes())
                    + (neededBytes() > limit.freeBytes() ? ": SHORT" : ""));
        }
        if (pins) {
            addPinned(table);
        }
        return table.build();
    }

    /** What is short here is no refusal yet: what cannot be pinned is copied from all the same, and only a plan that reads it in place is refused. */
    private void addPinned(MemoryTable.Builder table) {
        table.row("pinned memory", plan.hostBytes(), "wanted: parameters, gradients and updater state, for the card to reach");
        if (memory.lockedBytes() == Long.MAX_VALUE) {
            table.row("locked memory (ulimit -l)", "unlimited", "");
        } else if (memory.lockedBytes() != HostMemory.NOT_TOLD) {
            table.row("locked memory (ulimit -l)", memory.lockedBytes(), "CUDA's driver pins outside of it on most systems; raise it if pinning fails");
        }
        for (HostMemory.Limit limit : memory.limits()) {
            if (memory.isInWindows() && limit.kind() == HostMemory.Kind.MACHINE) {
                long half = limit.totalBytes() / 2;
                table.row("pinned memory in Windows (WSL)", half, "what Windows allows, by public reports: half of this Linux's memory; raise it in .wslconfig"
                        + (plan.hostBytes() > half ? ": SHORT" : ""));
            }
        }
    }
}
