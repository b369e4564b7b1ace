package org.memferry.examples.doctor;

import org.memferry.base.Sizes;
import org.memferry.examples.Processor;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateYardsticks;

import java.util.List;
import java.util.Locale;

/** Java, the system, the processor, and the kernel that takes the optimizer's steps on it. */
final class PlatformFindings {

    private final Surroundings surroundings;

    PlatformFindings(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    List<Finding> findings() {
        return List.of(java(), system(), kernel());
    }

    private Finding java() {
        String name = property("java.vm.name") + " " + property("java.vm.version") + ", heap up to "
                + Sizes.format(Runtime.getRuntime().maxMemory());
        return Finding.ok("Java", name);
    }

    private Finding system() {
        String name = property("os.name") + " " + property("os.version") + ", " + property("os.arch");
        boolean linux = property("os.name").toLowerCase(Locale.ROOT).contains("linux") && property("os.arch").matches("amd64|x86_64");
        return linux ? Finding.ok("system", name)
                : Finding.note("system", name, "MemFerry is tested on 64-bit x86 Linux only; elsewhere its Java kernel serves.");
    }

    private Finding kernel() {
        try (UpdateEngine engine = UpdateEngine.start()) {
            String found = Processor.name(surroundings.root()) + "; update kernel: " + engine;
            return UpdateYardsticks.nativeLibraryFailure().map(cause -> Finding.note("processor", found + " (" + cause + ")",
                    "Build MemFerry where gcc is on the PATH: the Java kernel gives the same numbers at less than half the speed."))
                    .orElse(Finding.ok("processor", found));
        }
    }

    private String property(String name) {
        return surroundings.properties().getProperty(name, "");
    }
}
