package org.memferry.examples.bench;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.examples.Screen;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateYardsticks;
import org.nd4j.linalg.factory.Nd4j;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.util.Locale;

import static org.assertj.core.api.Assertions.assertThat;

class UpdaterBenchTest {

    private static final long PARAMETERS = 100_003;
    private static final String FIGURE = "\\d+\\.\\d+";

    private final StringWriter out = new StringWriter();
    private final Screen screen = new Screen(new PrintWriter(out), new PrintWriter(Writer.nullWriter()), false);

    private UpdaterBench run(UpdateRule rule, int threads, String nativeFailure) {
        UpdaterBench bench = new UpdaterBench(rule, PARAMETERS, threads, 3, nativeFailure, screen);
        bench.run();
        return bench;
    }

    private static String line(UpdateRule rule, int threads, String ofStream, String ofStock, String ulp) {
        return "RESULT name=bench-updater rule=" + rule.name().toLowerCase(Locale.ROOT) + " params=" + PARAMETERS + " threads=" + threads
                + " stream_gbps=" + ofStream + " vs_stream=" + ofStream + " vs_memcpy=" + FIGURE + " vs_dl4j=" + ofStock + " vs_java="
                + FIGURE + " ulp_vs_dl4j=" + ulp + " stream_vs_memcpy=" + ofStream + " vs_dl4j_in_our_memory=" + ofStock;
    }

    // B60
    @ParameterizedTest
    @EnumSource(value = UpdateRule.class, mode = EnumSource.Mode.EXCLUDE, names = "ADABELIEF")
    void everyRuleHasStocksBitsAndAFigureForEveryYardstick(UpdateRule rule) {
        String failure = UpdateYardsticks.nativeLibraryFailure().orElse(null);
        UpdaterBench bench = run(rule, 2, failure);
        assertThat(bench.result().toString()).matches(line(rule, 2, failure == null ? FIGURE : "none", FIGURE, "0"));
        assertThat(bench.equalsStock()).isTrue();
        assertThat(out.toString()).contains("memcpy").contains("kernel in Java").contains("plain DL4J");
    }

    @Test
    void aRuleThatStockCannotRunHasNoFigureAgainstIt() {
        String failure = UpdateYardsticks.nativeLibraryFailure().orElse(null);
        UpdaterBench bench = run(UpdateRule.ADABELIEF, 1, failure);
        assertThat(bench.result().toString()).matches(line(UpdateRule.ADABELIEF, 1, failure == null ? FIGURE : "none", "none", "none"));
        assertThat(out.toString()).contains("cannot train with adabelief");
    }

    @Test
    void withoutTheNativeLibraryTheJavaKernelIsMeasuredAndTheCauseGiven() {
        UpdaterBench bench = run(UpdateRule.ADAM, 1, "it is for another machine");
        assertThat(bench.result().toString()).matches(line(UpdateRule.ADAM, 1, "none", FIGURE, "0"));
        assertThat(out.toString()).contains("kernel: Java, 1 thread").contains("No native library: it is for another machine");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void nd4jHasItsThreadsBackAfterwards(int threads) {
        int all = Nd4j.getEnvironment().maxThreads();
        int perOperation = Nd4j.getEnvironment().maxMasterThreads();
        run(UpdateRule.SGD, threads, "not needed here");
        assertThat(Nd4j.getEnvironment().maxThreads()).isEqualTo(all);
        assertThat(Nd4j.getEnvironment().maxMasterThreads()).isEqualTo(perOperation);
    }
}
