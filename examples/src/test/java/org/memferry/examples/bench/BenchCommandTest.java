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

    @Test
    void aStateOfAnySizeHasTheBitsOfDl4jsRule() {
        assertThat(run("big-state", "--params", "50000", "--steps", "2")).isZero();
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse(""))
                .matches("RESULT name=bench-big-state params=51076 state_elements=102152 checked=\\d+ identical=true iteration_s=\\d.*");
    }

    @Test
    void noBenchIsRefused() {
        assertThat(run()).isEqualTo(2);
        assertThat(err.toString()).contains("no bench given (expected: updater or fit or big-state)");
    }

    @Test
    void badNumbersAreRefused() {
        assertThat(run("updater", "--params", "0")).isEqualTo(2);
        assertThat(run("updater", "--threads", "0")).isEqualTo(2);
        assertThat(run("updater", "--rounds", "0")).isEqualTo(2);
        assertThat(run("updater", "--params", "1000000000000000")).isEqualTo(2);
        assertThat(run("fit", "--pairs", "0")).isEqualTo(2);
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
