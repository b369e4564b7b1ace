package org.memferry.examples.gpucheck;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** What the host's processor is called. */
final class Processor {

    private Processor() {
    }

    static String name() {
        try {
            return Files.readAllLines(Paths.get("/proc/cpuinfo")).stream().filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim()).findFirst().orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
