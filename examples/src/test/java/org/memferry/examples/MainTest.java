package org.memferry.examples;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;

class MainTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    private void assertRefused(int code, String part) {
        assertThat(code).isEqualTo(2);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString().strip().lines()).hasSize(1).first().asString().startsWith("memferry").contains(part);
    }

    @Test
    void helpGoesToStdout() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString()).contains("finetune");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void helpOfACommandNamesItsOptions() {
        assertThat(run("finetune", "--help")).isZero();
        assertThat(out.toString()).contains("--scale").contains("--data");
    }

    @Test
    void noCommandIsRefusedInOneLine() {
        assertRefused(run(), "finetune");
    }

    @Test
    void anUnknownCommandIsRefusedInOneLine() {
        assertRefused(run("finetun"), "finetun");
    }

    @Test
    void anUnknownOptionIsRefusedInOneLine() {
        assertRefused(run("finetune", "--bugdet=1GB"), "--bugdet=1GB");
    }

    @Test
    void aBadValueIsRefusedInOneLine() {
        assertRefused(run("finetune", "--scale", "huge"), "huge");
    }

    @Test
    void aFileWithoutSomeDigitIsRefusedInOneLine(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("threes.csv");
        Files.writeString(file, "0,".repeat(64) + "3\n");
        assertRefused(run("finetune", "--data", file.toString()), "has no digit 0");
    }

    @Test
    void aMissingFileIsRefusedInOneLine() {
        assertRefused(run("finetune", "--data", "no-such-file.csv"), "no-such-file.csv: there is no such file");
    }
}
