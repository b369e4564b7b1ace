package org.memferry.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the host's processor is called. */
public final class Processor {

    private Processor() {
    }

    /** @param root the root folder, {@code /} but in tests */
    public static String name(Path root) {
        try {
            return Files.readAllLines(root.resolve("proc/cpuinfo")).stream().filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim()).findFirst().orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
