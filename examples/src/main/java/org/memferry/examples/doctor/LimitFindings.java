package org.memferry.examples.doctor;

import org.bytedeco.javacpp.Pointer;
import org.memferry.base.Sizes;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;

import java.util.ArrayList;
import java.util.List;

/** How much memory this process may have and pin: by the machine, the container, the shell and JavaCPP. */
final class LimitFindings {

    /** What the trial takes, with the libraries that it loads. */
    private static final long LEAST_BYTES = 256L << 20;

    private final Surroundings surroundings;
    private final HostMemory memory;
    private final boolean hasCard;

    /**
     * @param memory  what the system and JavaCPP let the process have
     * @param hasCard whether pinned memory matters
     */
    LimitFindings(Surroundings surroundings, HostMemory memory, boolean hasCard) {
        this.surroundings = surroundings;
        this.memory = memory;
        this.hasCard = hasCard;
    }

    List<Finding> findings() {
        List<Finding> all = new ArrayList<>();
        memory.limits().forEach(limit -> all.add(limit(limit)));
        JavaCppLimits.misspelled(surroundings.properties()).forEach(name -> all.add(Finding.note("setting", "-D" + name + " is not read by JavaCPP",
                "Spell it " + JavaCppLimits.PREFIX + "maxbytes or " + JavaCppLimits.PREFIX + "maxphysicalbytes.")));
        all.add(Finding.ok("JavaCPP's maxbytes", Pointer.maxBytes() == 0 ? "no limit" : Sizes.format(Pointer.maxBytes()) + " of what JavaCPP itself takes"));
        all.add(pinned());
        return all;
    }

    private Finding limit(HostMemory.Limit limit) {
        String found = Sizes.format(limit.freeBytes()) + " free of " + Sizes.format(limit.totalBytes());
        if (limit.freeBytes() < LEAST_BYTES) {
            return Finding.fix(limit.kind().title(), found, "Free or allow at least " + Sizes.format(LEAST_BYTES) + " more.");
        }
        boolean byJavaCpp = limit.kind() == HostMemory.Kind.JAVACPP && limit.totalBytes() < machineBytes();
        return byJavaCpp ? Finding.note(limit.kind().title(), found + ", which counts the whole process",
                "Set -D" + JavaCppLimits.PREFIX + "maxphysicalbytes=0 to be limited by the machine alone.")
                : Finding.ok(limit.kind().title(), found);
    }

    private long machineBytes() {
        return memory.limits().stream().filter(limit -> limit.kind() == HostMemory.Kind.MACHINE).mapToLong(HostMemory.Limit::totalBytes).findFirst()
                .orElse(0);
    }

    private Finding pinned() {
        boolean windows = memory.isInWindows();
        long lockable = memory.lockedBytes();
        String found = "ulimit -l is " + (lockable == HostMemory.NOT_TOLD ? "not told" : lockable == Long.MAX_VALUE ? "unlimited"
                : Sizes.format(lockable)) + (windows ? "; Windows (WSL) limits it too" : "");
        if (!hasCard) {
            return Finding.ok("pinned memory", found + "; it matters beside a card only");
        }
        if (windows) {
            return Finding.note("pinned memory", found, "Under WSL a part of the memory can be pinned only: give WSL more in .wslconfig, or train on Linux"
                    + " itself, if attaching says that memory could not be pinned.");
        }
        return lockable != HostMemory.NOT_TOLD && lockable < machineBytes() ? Finding.note("pinned memory", found, "If attaching says that memory could not be pinned, raise it with"
                + " ulimit -l unlimited (docker run --ulimit memlock=-1).") : Finding.ok("pinned memory", found);
    }
}
