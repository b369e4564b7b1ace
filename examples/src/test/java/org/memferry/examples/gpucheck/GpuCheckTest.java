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
    private static final Path RUNTIME = LIBRARY_TESTS.resolve("org/memferry/device/cuda/11");

    @TempDir
    Path folder;

    @Test
    void itRunsEndToEndOnARuntimeWithoutACardAndMarksEveryFigureAsFake() throws Exception {
        List<String> lines = check();
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
            assertThat(row.get("device bytes").asLong()).as(row.toString()).isPositive();
        }
        assertThat(lines).filteredOn(line -> line.startsWith("RESULT name=gpu-check-replay figures=FAKE network=")).hasSize(networks.size());
    }

    @Test
    void withCublasTheHardwareThatItFillsIsReadByThePlanner() throws Exception {
        cublas();
        assertThat(check()).contains("HELD 0 bytes, 0 streams and events");
        assertThat(Files.readString(folder.resolve("report.md"))).contains("cuBLAS sgemm").doesNotContain("copies stand in for products");
        Hardware hardware = Hardware.read(folder.resolve("hardware.json").toFile());
        assertThat(hardware.name()).isEqualTo("FAKE");
        assertThat(hardware.sources().values()).allMatch(source -> source.startsWith("FAKE"));
        assertThat(hardware.deviceFlopsPerSecond()).isPositive();
    }

    @Test
    void productsThroughCublasAreThoseOfADenseLayer() throws Exception {
        cublas();
        List<String> lines = run(ProductsRun.class);
        assertThat(lines).contains("forward right", "vector right", "input gradient right", "weight gradient right", "gather right");
    }

    private static JsonNode table(JsonNode report, String heading) {
        for (JsonNode table : report.get("tables")) {
            if (table.get("heading").asText().equals(heading)) {
                return table.get("rows");
            }
        }
        throw new AssertionError("no table " + heading);
    }

    /** Compiles the cuBLAS for tests. */
    private void cublas() throws IOException, InterruptedException {
        requireRuntime();
        Process build = new ProcessBuilder("sh", "src/test/cpp/build.sh", RUNTIME.toString(), folder.resolve("cublas").toString())
                .redirectErrorStream(true).redirectOutput(folder.resolve("build.txt").toFile()).start();
        assertThat(build.waitFor()).as(Files.readString(folder.resolve("build.txt"))).isZero();
    }

    private static void requireRuntime() {
        boolean there = Files.exists(RUNTIME.resolve("libcudart.so.11.0"));
        if (Boolean.getBoolean("memferry.requireAll")) {
            assertThat(there).isTrue();
        }
        assumeTrue(there, "the CUDA runtime for tests was not compiled (no g++, or not Linux on x86-64)");
    }

    private List<String> check() throws IOException, InterruptedException {
        List<String> lines = run(FakeRun.class, "--fake", "--trial", "--minutes", "4", "--out", folder.toString());
        assertThat(lines).anyMatch(line -> line.startsWith("RESULT name=gpu-check figures=FAKE strategies=60"));
        return lines;
    }

    private List<String> run(Class<?> main, String... arguments) throws IOException, InterruptedException {
        requireRuntime();
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"), "-cp", classPath(), main.getName()));
        command.addAll(List.of(arguments));
        Path output = folder.resolve("output.txt");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LD_LIBRARY_PATH", folder.resolve("cublas").toString());
        int code = builder.start().waitFor();
        List<String> lines = Files.readAllLines(output);
        assertThat(code).as(String.join("\n", lines)).isZero();
        return lines;
    }

    /** Without ND4J and DL4J, but for the interfaces of ND4J's updaters, by which the library names its rules. */
    private static String classPath() {
        return Stream.concat(Stream.of(System.getProperty("java.class.path").split(File.pathSeparator)), Stream.of(LIBRARY_TESTS.toString()))
                .filter(entry -> isCarried(new File(entry).getName())).collect(Collectors.joining(File.pathSeparator));
    }

    private static boolean isCarried(String name) {
        return name.startsWith("nd4j-api") || !name.startsWith("nd4j-") && !name.startsWith("deeplearning4j-") && !name.startsWith("openblas-");
    }
}
