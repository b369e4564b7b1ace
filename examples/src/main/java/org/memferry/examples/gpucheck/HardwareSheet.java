package org.memferry.examples.gpucheck;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The figures of this machine in the form that {@code plan} and {@code simulate} read with {@code --hardware file.json}. */
final class HardwareSheet {

    private final ObjectNode root = new ObjectMapper().createObjectNode();
    private final String source;

    /**
     * @param name   of the hardware
     * @param source where the figures are from
     */
    HardwareSheet(String name, String source) {
        this.source = source;
        root.put("format", "memferry-hardware").put("version", 1).put("name", name);
    }

    /** Adds a figure, with how it was measured. */
    HardwareSheet put(String field, double value, String how) {
        root.putObject(field).put("value", value).put("source", source + ": " + how);
        return this;
    }

    void write(Path file) throws IOException {
        Files.writeString(file, new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n");
    }
}
