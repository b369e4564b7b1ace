package org.memferry.examples.charlm;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

import java.io.PrintWriter;
import java.io.StringWriter;

import static org.assertj.core.api.Assertions.assertThat;

class CharLmCommandTest {

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return new CommandLine(new CharLmCommand()).setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true))
                .setCaseInsensitiveEnumValuesAllowed(true).execute(arguments);
    }

    @ParameterizedTest
    @EnumSource
    void bothNetworksLearnSomethingInAFewIterationsAndWriteLetters(CharacterModel model) {
        assertThat(run("--network", model.name(), "--iterations", "4", "--letters", "5")).isZero();
        assertThat(out.toString()).contains("It writes: ");
        assertThat(out.toString().strip().lines().reduce((a, b) -> b).orElse("")).matches("RESULT name=charlm network="
                + model.name().toLowerCase() + " params=\\d+ iterations=4 bits_untrained=[\\d.]+ bits_trained=[\\d.]+ slab_bytes=[1-9]\\d*");
    }

    @Test
    void badNumbersAreRefused() {
        assertThat(run("--iterations", "0")).isEqualTo(2);
        assertThat(err.toString()).contains("--iterations: 0");
    }
}
