package org.memferry.cases;

import com.example.PlainTraining;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.ChildJvm;
import org.memferry.Needs;
import org.memferry.device.NativeLibrary;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A program that knows nothing of MemFerry, started with its properties. */
class PropertyAttachTest {

    private static final String[] ENABLED = {"-Dorg.memferry.enabled=true", "-Dorg.memferry.device=emulated,poison",
        "-Dorg.memferry.deviceMemory=14MB"};
    /** Parameters, gradients and Adam's moments take 17 MB; two thirds of that are there. */
    private static final String LIMIT = String.valueOf(12 << 20);

    private static final Map<String, List<String>> STOCK = new HashMap<>();

    private static ChildJvm enabled() {
        Needs.that(NativeLibrary.isLoaded(), "the native library, which finds the network, was not built");
        return ChildJvm.with(ChildJvm.MANAGERS).and(ENABLED);
    }

    private static List<String> results(String output) {
        List<String> lines = output.lines().filter(l -> l.matches("(epoch \\d score|parameters|updater state) -?\\d+"))
                .collect(Collectors.toList());
        assertThat(lines).as(output).hasSize(4);
        return lines;
    }

    /** Stock DL4J's numbers are the same with and without workspaces. */
    private static synchronized List<String> stock(String kind) throws IOException, InterruptedException {
        if (!STOCK.containsKey(kind)) {
            String output = ChildJvm.with().run(PlainTraining.class, kind, "ENABLED", "0");
            assertThat(output).doesNotContain("MEMFERRY");
            STOCK.put(kind, results(output));
        }
        return STOCK.get(kind);
    }

    @ParameterizedTest(name = "{0}, workspaces {1}")
    @CsvSource({"layers, ENABLED", "graph, ENABLED", "layers, NONE"})
    void trainsBitIdenticallyWithinTheBudgetUnderThePropertiesAlone(String kind, String mode) throws IOException, InterruptedException {
        String ours = enabled().run(PlainTraining.class, kind, mode, LIMIT);
        assertThat(results(ours)).isEqualTo(stock(kind));
        assertThat(ours).contains("MEMFERRY_DEVICE", "MEMFERRY_HOST");
    }

    @Test
    void turnedOffByThePropertyItIsThePlainProgramWhichDoesNotFitTheLimit() {
        assertThatThrownBy(() -> enabled().and("-Dorg.memferry.enabled=false").run(PlainTraining.class, "layers", "ENABLED", LIMIT))
                .isInstanceOf(AssertionError.class).hasMessageContaining("exit code").hasMessageContaining("limit");
    }
}
