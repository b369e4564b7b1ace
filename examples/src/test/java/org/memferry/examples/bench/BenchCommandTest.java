package org.memferry.examples.bench;

import org.junit.jupiter.api.Test;
import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;

import static org.assertj.core.api.Assertions.assertThat;

class BenchCommandTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return new CommandLine(new BenchCommand()).setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true))
                .setCaseInsensitiveEnumValuesAllowed(true).execute(args);
    }

    @Test
    void theLastLineIsTheResult() {
        assertThat(run("updater", "--rule", "rmsprop", "--params", "1003", "--threads", "1", "--rounds", "3")).isZero();
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .startsWith("RESULT name=bench-updater rule=rmsprop params=1003 threads=1 ").contains(" ulp_vs_dl4j=0 stream_vs_memcpy=");
    }

    /** Case B55. */
    @Test
    void theEstimateIsWhatTrainingTakes() {
        assertThat(run("estimate", "--models", "lenet")).isZero();
        assertThat(out.toString()).contains("device = slab + workspaces + arrays").contains("host = parameters, gradients, updater state");
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse("")).matches("RESULT name=bench-estimate nets=1 emulated=true"
                + " max_device_error=0\\.0\\d+ max_host_error=0\\.0\\d+ max_activation_error=0\\.0\\d+ within_budget=true managers=(true|false)");
    }

    @Test
    void aStateOfAnySizeHasTheBitsOfDl4jsRule() {
        assertThat(run("big-state", "--params", "50000", "--steps", "2")).isZero();
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .matches("RESULT name=bench-big-state params=51076 state_elements=102152 checked=\\d+ identical=true iteration_s=\\d.*");
    }

    @Test
    void everyStrategyTrainsToPlainDl4jsBitsInAProcessOfItsOwn() {
        assertThat(run("schedule", "--quick")).isZero();
        String[] lines = out.toString().strip().split("\\R");
        assertThat(out.toString()).contains("ZERO_OFFLOAD").contains("NATIVE_OFFLOAD").contains("GO_MEMFERRY").contains("STREAM");
        assertThat(lines[lines.length - 2]).matches("RESULT name=bench-schedule model=tiny device=emulated dilation=2.0 link_gbps=[\\d.]+"
                + " transfer_over_compute=[\\d.]+ bound=(transfer|compute|other) vs_zero_offload=[\\d.]+ vs_native_offload=[\\d.]+"
                + " vs_lower_bound=[\\d.]+ parity=bit-identical");
        assertThat(lines[lines.length - 1]).matches("RESULT name=bench-schedule-mean vs_zero_offload=[\\d.]+");
    }

    @Test
    void theSimulatorSaysTheDeviceBytesOfEveryStrategyFromAnotherProcesssProfile() {
        assertThat(run("simulator", "--quick")).isZero();
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .matches("RESULT name=bench-simulator runs=6 median_error=[\\d.]+ worst_error=[\\d.]+ peak_exact=true");
    }

    @Test
    void onTheBackendThatIsLoadedEveryPlacementHasPlainDl4jsScoresAndGradientsAndEndsWithTheSameBits() {
        assertThat(run("backend", "--quick")).isZero();
        assertThat(out.toString().lines().filter(line -> line.startsWith("RESULT name=bench-backend-placement")))
                .hasSize(6).allMatch(line -> line.contains(" backend=CpuBackend "))
                .allMatch(line -> line.contains("score_equal=true gradients_equal=true equal_to_other_placements=true ulp_vs_plain=0 "));
        assertThat(out.toString()).contains("strategy=PLAIN ", "strategy=ZERO_OFFLOAD ", "strategy=AUTO ");
        assertThat(out.toString().lines().filter(line -> line.startsWith("RESULT name=bench-backend-strategy"))).isNotEmpty()
                .allMatch(line -> line.contains(" backend=CpuBackend "));
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .isEqualTo("RESULT name=bench-backend backend=CpuBackend device=emulated:64MB parity=bit-identical");
    }

    @Test
    void everyPlacementTrainsToPlainDl4jsBits() {
        assertThat(run("placements", "--quick")).isZero();
        assertThat(out.toString()).contains("RESIDENT").contains("PREFETCH").contains("DIRECT");
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .isEqualTo("RESULT name=bench-placements device=emulated direct=modelled parity=bit-identical");
    }

    @Test
    void whatIsSavedIsReadByBothSides() {
        assertThat(run("save", "--model", "cnn", "--rounds", "1")).isZero();
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .matches("RESULT name=bench-save params=\\d+ bytes=\\d+ vs_disk=[\\d.]+ save_vs_dl4j=[\\d.]+ restore_vs_dl4j=[\\d.]+ identical=true");
    }

    @Test
    void noBenchIsRefused() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString()).contains("no bench given (expected: updater or fit or big-state or schedule or simulator or placements or estimate or vgg16 or backend or save)");
    }

    @Test
    void badNumbersAreRefused() {
        assertThat(run("updater", "--params", "0")).isEqualTo(2);
        assertThat(run("updater", "--threads", "0")).isEqualTo(2);
        assertThat(run("updater", "--rounds", "0")).isEqualTo(2);
        assertThat(run("updater", "--params", "1000000000000000")).isEqualTo(2);
        assertThat(run("fit", "--pairs", "0")).isEqualTo(2);
        assertThat(run("schedule", "--rounds", "0")).isEqualTo(2);
        assertThat(run("simulator", "--rounds", "0")).isEqualTo(2);
        assertThat(run("placements", "--rounds", "0")).isEqualTo(2);
        assertThat(run("big-state", "--steps", "0")).isEqualTo(2);
        assertThat(run("big-state", "--params", "-1")).isEqualTo(2);
        assertThat(run("big-state", "--params", "1000000000000")).isEqualTo(2);
        assertThat(err.toString()).contains("--params: 0 (expected: >= 1)").contains("--threads: 0").contains("--rounds: 0")
                .contains("are available (expected: fewer)").contains("--pairs: 0");
    }

    @Test
    void anUnknownModelIsRefused() {
        assertThat(run("fit", "--model", "huge")).isEqualTo(2);
        assertThat(err.toString()).contains("huge");
    }
}
