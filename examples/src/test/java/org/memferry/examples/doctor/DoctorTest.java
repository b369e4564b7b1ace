package org.memferry.examples.doctor;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;
import org.memferry.examples.MainRun;
import org.memferry.examples.doctor.Finding.Verdict;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;

import static org.assertj.core.api.Assertions.assertThat;

/** {@code memferry doctor}: on this machine, and on machines that are files. */
class DoctorTest {

    private static final long GB = 1L << 30;

    @TempDir
    private Path root;

    private void file(String name, String content) throws IOException {
        Files.createDirectories(root.resolve(name).getParent());
        Files.writeString(root.resolve(name), content);
    }

    private Surroundings surroundings(Map<String, String> environment, String... properties) {
        Properties set = new Properties();
        for (int i = 0; i < properties.length; i += 2) {
            set.setProperty(properties[i], properties[i + 1]);
        }
        return new Surroundings(root, set, environment);
    }

    private static Finding one(List<Finding> findings, String thing) {
        assertThat(findings).filteredOn(finding -> finding.thing().equals(thing)).hasSize(1);
        return findings.stream().filter(finding -> finding.thing().equals(thing)).findFirst().orElseThrow();
    }

    private static void assertFinding(Finding finding, Verdict verdict, String found, String wayOut) {
        assertThat(finding.verdict()).as(finding.toString()).isEqualTo(verdict);
        assertThat(finding.found()).contains(found);
        assertThat(finding.wayOut()).contains(wayOut);
    }

    private void card(String model, String driver) throws IOException {
        file("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t " + model + "\nIRQ: 55\n");
        file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + driver + "  Sat Aug 19 01:15:15 UTC 2023\n");
        file("usr/lib/x86_64-linux-gnu/libcuda.so.1", "");
    }

    /** A program that prints what the driver's own would. */
    private Map<String, String> nvidiaSmi(String... lines) throws IOException {
        file("bin/nvidia-smi", "#!/bin/sh\ncat <<'END'\n" + String.join("\n", lines) + "\nEND\n");
        assertThat(root.resolve("bin/nvidia-smi").toFile().setExecutable(true)).isTrue();
        return Map.of("PATH", "/bin");
    }

    private CardFindings cards(Map<String, String> environment, String nd4j, String cuda) {
        return new CardFindings(surroundings(environment), nd4j, Optional.ofNullable(cuda));
    }

    @Test
    void onThisMachineTrainingWorks() throws IOException {
        MainRun run = MainRun.of("doctor");
        assertThat(run.code()).as(run.out()).isZero();
        assertThat(run.out()).contains("ok    Java ", "ok    ND4J ", "ND4J 1.0.0-M", "update kernel: ", "on host beside plain DL4J: scores, gradients and")
                .doesNotContain("fix ");
        assertThat(run.out().strip().lines().reduce((a, b) -> b).orElse("")).matches("RESULT name=doctor works=true ok=\\d+ notes=\\d+ fixes=0");
        MainRun json = MainRun.of("doctor", "--json", "--device", "emulated:1KB");
        assertThat(json.code()).isEqualTo(1);
        JsonNode document = new ObjectMapper().readTree(json.out());
        assertThat(document.get("results").get(0).get("works").asBoolean()).isFalse();
        assertThat(document.get("findings")).hasSameSizeAs(run.out().lines().filter(line -> line.matches("(ok|note|fix) .*")).toArray());
        assertThat(document.get("findings")).allSatisfy(row -> assertThat(row.get("wayOut").asText().isEmpty()).as(row.toString())
                .isEqualTo(row.get("verdict").asText().equals("ok")));
        JsonNode training = document.get("findings").get(document.get("findings").size() - 1);
        assertThat(training.get("verdict").asText()).isEqualTo("fix");
        assertThat(training.get("wayOut").asText()).contains("Train with a smaller batch, or give the device more memory");
    }

    @Test
    void aSettingThatIsWrongMustBeMendedAndOneThatMeansNothingIsNamed() {
        System.setProperty("org.memferry.device", "emulated:much");
        try {
            assertFinding(one(new SettingFindings(surroundings(Map.of(), "org.memferry.strategy", "auto"), 4).findings(), "settings"), Verdict.OK,
                    "-Dorg.memferry.strategy=auto", "");
            MainRun run = MainRun.of("doctor");
            assertThat(run.code()).isEqualTo(1);
            assertThat(run.out()).contains("fix   training", "'much' (expected: a size such as");
        } finally {
            System.clearProperty("org.memferry.device");
        }
        List<Finding> findings = new SettingFindings(surroundings(Map.of("MEMFERRY_DEVICES", "2", "MEMFERRY_HEADROOM", "1MB", "MEMFERRY_PREFLIGHT", "warn"),
                "org.memferry.devicememory", "1GB", "org.memferry.fast", "true", "memferry.log", "WARN"), 4).findings();
        assertThat(findings).filteredOn(finding -> finding.thing().equals("setting")).extracting(Finding::toString)
                .containsExactlyInAnyOrder(
                        "NOTE setting: -Dorg.memferry.devicememory is no setting of MemFerry -> Did you mean org.memferry.deviceMemory?",
                        findings.stream().filter(f -> f.found().contains("org.memferry.fast")).findFirst().orElseThrow().toString(),
                        "NOTE setting: MEMFERRY_DEVICES in the environment is no setting of MemFerry -> Did you mean MEMFERRY_DEVICE?",
                        "NOTE setting: MEMFERRY_PREFLIGHT in the environment is no setting of MemFerry -> It has no environment variable: set "
                                + "-Dorg.memferry.preflight=warn.");
        assertFinding(one(findings, "settings"), Verdict.OK, "MEMFERRY_HEADROOM=1MB", "");
    }

    @Test
    void oneThreadOfManyProcessorsIsNoted() {
        assertFinding(one(new SettingFindings(surroundings(Map.of("OMP_NUM_THREADS", "1", "OMP_WAIT_POLICY", "PASSIVE")), 8).findings(), "threads"),
                Verdict.NOTE, "8 processors; OMP_NUM_THREADS=1", "unset it");
        assertFinding(one(new SettingFindings(surroundings(Map.of("OMP_WAIT_POLICY", "passive")), 8).findings(), "threads"), Verdict.OK, "", "");
        assertFinding(one(new SettingFindings(surroundings(Map.of()), 8).findings(), "threads"), Verdict.NOTE, "", "OMP_WAIT_POLICY=PASSIVE");
    }

    @Test
    void withoutACardTrainingIsOnTheCpu() throws IOException {
        List<Finding> findings = cards(Map.of(), "1.0.0-M2.1", null).findings();
        assertFinding(one(findings, "card"), Verdict.NOTE, "none: training is on the CPU", "Devices host and emulated:<size> need none");
        assertFinding(one(findings, "CUDA backend"), Verdict.OK, "not on the class path", "");
        assertFinding(one(cards(Map.of(), "1.0.0-M2.1", "11.6").findings(), "CUDA backend"), Verdict.NOTE, "there is no card", "leave nd4j-cuda out");
        file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
        file("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
        assertFinding(one(cards(Map.of(), "1.0.0-M2.1", null).findings(), "card"), Verdict.NOTE, "on the bus", "Install NVIDIA's driver");
    }

    @Test
    void aCardIsKnownByTheDriversFilesWhereItsProgramIsNotThere() throws IOException {
        card("Tesla V100-SXM2-32GB", "535.104.05");
        List<Finding> findings = cards(Map.of(), "1.0.0-M2.1", null).findings();
        assertFinding(one(findings, "driver"), Verdict.OK, "version 535.104.05, libcuda.so.1 found", "");
        assertFinding(one(findings, "card"), Verdict.OK, "Tesla V100-SXM2-32GB", "");
        assertFinding(one(findings, "CUDA backend"), Verdict.NOTE, "the card is not used", "nd4j-cuda-11.6 of 1.0.0-M2.1");
        Files.delete(root.resolve("usr/lib/x86_64-linux-gnu/libcuda.so.1"));
        assertFinding(one(cards(Map.of(), "1.0.0-M2.1", null).findings(), "driver"), Verdict.NOTE, "libcuda.so.1 not found", "NVIDIA_DRIVER_CAPABILITIES");
        card("Tesla K80", "418.226.00");
        assertFinding(one(cards(Map.of(), "1.0.0-M2.1", null).findings(), "driver"), Verdict.NOTE, "418.226", "450.80 or later");
    }

    @Test
    void aCardIsHeldAgainstTheBuildOnTheClassPath() throws IOException {
        card("NVIDIA H200", "550.54.15");
        Map<String, String> hopper = nvidiaSmi("NVIDIA H200, 9.0, 143771 MiB, 550.54.15");
        assertFinding(one(cards(hopper, "1.0.0-M2.1", "11.6").findings(), "CUDA backend"), Verdict.FIX, "nothing in it runs on this card",
                "nd4j-cuda-11.2");
        assertFinding(one(cards(hopper, "1.0.0-M1.1", "11.2").findings(), "CUDA backend"), Verdict.NOTE, "compiles it", "CUDA_CACHE_MAXSIZE");
        assertFinding(one(cards(hopper, "1.0.0-M2.1", null).findings(), "CUDA backend"), Verdict.NOTE, "not used", "nd4j-cuda-11.2");
        Map<String, String> ampere = nvidiaSmi("NVIDIA A100, 8.0, 40960 MiB, 550.54.15", "NVIDIA A100, 8.0, 40960 MiB, 550.54.15");
        List<Finding> findings = cards(ampere, "1.0.0-M2.1", "11.6").findings();
        assertFinding(one(findings, "CUDA backend"), Verdict.OK, "nd4j-cuda-11.6", "");
        assertFinding(one(findings, "card"), Verdict.NOTE, "NVIDIA A100", "CUDA_VISIBLE_DEVICES=0");
    }

    @Test
    void theTightestLimitsAreShownAndOnePastUseMustBeMended() throws IOException {
        file("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
        file("proc/self/status", "VmRSS: 1024 kB\n");
        file("proc/self/limits", "Max locked memory         8388608              8388608              bytes\n");
        file("proc/self/cgroup", "0::/box\n");
        file("sys/fs/cgroup/memory.max", String.valueOf(GB));
        file("sys/fs/cgroup/memory.current", String.valueOf(GB - (1 << 20)));
        HostMemory memory = JavaCppLimits.addTo(HostMemory.read(root), 2 * GB, GB);
        List<Finding> findings = limits(memory, true, "maxPhysicalBytes", "4g");
        assertFinding(one(findings, "memory of the machine"), Verdict.OK, "8.00 GB free of 16.0 GB", "");
        assertFinding(one(findings, "control group (container)"), Verdict.FIX, "1.00 MB free of 1.00 GB", "at least 256 MB more");
        assertFinding(one(findings, "JavaCPP's maxphysicalbytes"), Verdict.NOTE, "1.00 GB free of 2.00 GB", "maxphysicalbytes=0");
        assertFinding(one(findings, "setting"), Verdict.NOTE, "-DmaxPhysicalBytes is not read by JavaCPP", "org.bytedeco.javacpp.maxphysicalbytes");
        assertFinding(one(findings, "pinned memory"), Verdict.NOTE, "ulimit -l is 8.00 MB", "ulimit -l unlimited");
        assertFinding(one(limits(memory, false), "pinned memory"), Verdict.OK, "beside a card only", "");
        file("proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n");
        file("proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
        assertFinding(one(limits(HostMemory.read(root), true), "pinned memory"), Verdict.NOTE, "unlimited; Windows (WSL)", ".wslconfig");
    }

    private List<Finding> limits(HostMemory memory, boolean hasCard, String... properties) {
        return new LimitFindings(surroundings(Map.of(), properties), memory, hasCard).findings();
    }

    @Test
    void whatCannotEvenBeLoadedIsOneRow() {
        Finding broken = DoctorCommand.broken("ND4J", new NoClassDefFoundError("Could not initialize class Nd4j"));
        assertFinding(broken, Verdict.FIX, "NoClassDefFoundError", "one backend of ND4J");
    }
}
