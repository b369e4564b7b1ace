package org.memferry.examples.finetune;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.memferry.examples.Digits;
import org.memferry.examples.Screen;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.util.Map;
import java.util.TreeMap;

import static org.assertj.core.api.Assertions.assertThat;

/** The example at its small size; every claim that its last line makes is checked against the others. */
class FineTuneTest {

    private static final StringWriter OUT = new StringWriter();
    private static final Map<String, String> RESULT = new TreeMap<>();
    private static FineTune example;

    @BeforeAll
    static void run() throws IOException {
        Screen screen = new Screen(new PrintWriter(OUT), new PrintWriter(Writer.nullWriter()), false);
        example = new FineTune(Scale.SMALL, Digits.bundled(), screen);
        example.run();
        String line = example.result().toString();
        assertThat(line).startsWith("RESULT name=finetune device=emulated params=");
        for (String pair : line.substring("RESULT ".length()).split(" ")) {
            RESULT.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
    }

    private static long number(String key) {
        return Long.parseLong(RESULT.get(key));
    }

    @Test
    void everyClaimHolds() {
        assertThat(example.failures()).isEmpty();
        assertThat(RESULT).containsEntry("parity", "bit-identical");
        assertThat(Double.parseDouble(RESULT.get("accuracy"))).isBetween(0.95, 1.0);
    }

    @Test
    void thePeakIsWithinTheBudgetAndTheBudgetIsAThirdOfStock() {
        assertThat(number("peak_device_bytes")).isPositive().isLessThanOrEqualTo(number("budget_bytes"));
        assertThat(3 * number("budget_bytes")).isLessThanOrEqualTo(number("stock_device_bytes"));
    }

    @Test
    void stockTakesFourValuesPerParameterAndLittleMore() {
        assertThat(number("stock_device_bytes")).isBetween(16 * number("params"), 20 * number("params"));
    }

    @Test
    void aReaderSeesThePlanAndTheLossOfEveryEpoch() {
        assertThat(OUT.toString()).contains("PREFETCH").contains("device: budget");
        assertThat(OUT.toString().lines().filter(l -> l.contains("loss")).count())
                .isEqualTo(Scale.SMALL.pretrainEpochs + 2 * (Scale.SMALL.frozenEpochs + Scale.SMALL.openEpochs));
    }
}
