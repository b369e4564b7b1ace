package org.memferry.examples.bench;

import org.junit.jupiter.api.Test;
import org.memferry.examples.Screen;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;

import static org.assertj.core.api.Assertions.assertThat;

class FitBenchTest {

    @Test
    void bothNetworksEndWithTheSameBits() {
        StringWriter out = new StringWriter();
        FitBench bench = new FitBench(FitModel.mlp("tiny", 20, 30, 2), 3,
                new Screen(new PrintWriter(out), new PrintWriter(Writer.nullWriter()), false));
        bench.run();
        assertThat(bench.result().toString()).matches("RESULT name=bench-fit model=tiny speedup_vs_stock=\\d+\\.\\d+ parity=bit-identical");
        assertThat(bench.isIdentical()).isTrue();
        String speedup = bench.result().toString().replaceAll(".* speedup_vs_stock=(\\S+) .*", "$1");
        assertThat(out.toString()).contains("1,870 parameters", "(median of each); median of the pairs' ratios: " + speedup + "; scores,");
    }
}
