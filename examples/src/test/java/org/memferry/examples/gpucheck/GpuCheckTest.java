package org.memferry.examples.gpucheck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.plan.Hardware;

/**
 * The check of a card, end to end, on a CUDA runtime without one: what its figures say is of no account, that it has them all is. With the
 * class path that the packed check has, so without ND4J beyond its interfaces.
 */
class GpuCheckTest {

    private static final Path LIBRARY_TESTS = Paths.get("..", "memferry-dl4j", "target", "test-classes");

    @TempDir
    Path folder;

    @Test
    void itRunsEndToEndOnARuntimeWithoutACardAndMarksEveryFigureAsFake() throws Exception {
        List<String> lines = run("--fake");
        assertThat(lines).anyMatch(line -> line.startsWith("RESULT name=gpu-check figures=FAKE strategies=60"));
        assertThat(lines).as("order and use of memory").contains("WRONG ").as("given back").contains("HELD 0 bytes, 0 streams and events");
        String markdown = Files.readString(folder.resolve("report.md"));
        assertThat(markdown).startsWith("# MemFerry without a GPU: FAKE figures").contains("## Copies", "## Weights and gradients in place",
                "## Rows of a table in place", "## Calls", "## Direct reads beside a copy", "## Recorded networks by every strategy",
                "## Not shown by this run", "copies stand in for products");
        JsonNode report = new ObjectMapper().readTree(folder.resolve("report.json").toFile());
        assertThat(report.get("facts").get("figures").asText()).startsWith("FAKE");
        JsonNode networks = table(report, "Recorded networks by every strategy");
        assertThat(networks.findValuesAsText("network")).containsAll(TracedNetwork.NAMES);
        for (JsonNode row : networks) {
            assertThat(row.get("step ms").asDouble()).as(row.toString()).isPositive();
            assertThat(row.get("vs ZERO_OFFLOAD").asDouble()).as(row.toString()).isPositive();
        }
    }

    @Test
    void theHardwareThatItFillsIsReadByThePlanner() throws Exception {
        run("--fake");
        Hardware hardware = Hardware.read(folder.resolve("hardware.json").toFile());
        assertThat(hardware.name()).isEqualTo("FAKE");
        assertThat(hardware.sources().values()).allMatch(source -> source.startsWith("FAKE"));
        assertThat(hardware.bytesPerSecondToDevice()).isPositive();
    }

    private static JsonNode table(JsonNode report, String heading) {
        for (JsonNode table : report.get("tables")) {
            if (table.get("heading").asText().equals(heading)) {
                return table.get("rows");
            }
        }
        throw new AssertionError("no table " + heading);
    }

    private List<String> run(String... options) throws IOException, InterruptedException {
        assumeTrue(Files.exists(LIBRARY_TESTS.resolve("org/memferry/device/cuda/11/libcudart.so.11.0")),
                "the CUDA runtime for tests was not compiled (no g++, or not Linux on x86-64)");
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-cp",
                classPath(), FakeRun.class.getName(), "--trial", "--minutes", "4", "--out", folder.toString()));
        command.addAll(List.of(options));
        Path output = folder.resolve("output.txt");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        int code = process.waitFor();
        List<String> lines = Files.readAllLines(output);
        assertThat(code).as(String.join("\n", lines)).isZero();
        return lines;
    }

    /** Without ND4J and DL4J, but for the interfaces of ND4J's updaters, by which the library names its rules. */
    private static String classPath() {
        return Stream.concat(Stream.of(System.getProperty("java.class.path").split(File.pathSeparator)), Stream.of(LIBRARY_TESTS.toString()))
                .filter(entry -> !entry.contains("deeplearning4j") && !entry.contains("nd4j") && !entry.contains("openblas")
                        || entry.contains("nd4j-api"))
                .collect(Collectors.joining(File.pathSeparator));
    }
}
