package org.memferry.examples.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.engine.AccessTrace;
import org.memferry.examples.gpucheck.TracedNetwork;
import org.memferry.network.Ferry;
import org.nd4j.linalg.dataset.DataSet;

/**
 * The recorded networks that the check of a card serves are what DL4J does with these networks today. With
 * {@code -Dmemferry.recordTraces=<folder>} they are written there instead of compared.
 */
class TracedNetworksTest {

    private static final int ITERATIONS = 2;

    static Stream<String> names() {
        return TracedNetwork.NAMES.stream();
    }

    @ParameterizedTest
    @MethodSource("names")
    void aRecordedNetworkIsWhatDl4jDoesWithItToday(String name) throws IOException {
        String recorded = record(OffloadModel.valueOf(name.toUpperCase(Locale.ROOT))).json();
        String folder = System.getProperty("memferry.recordTraces");
        if (folder != null) {
            Path file = Paths.get(folder, name + ".json");
            Files.writeString(file, recorded);
        } else {
            assertThat(recorded).isEqualTo(TracedNetwork.named(name).json());
        }
    }

    private static TracedNetwork record(OffloadModel model) {
        NeuralNetwork network = model.configured();
        List<DataSet> batches = model.batches();
        MemFerryConfig config = MemFerryConfig.builder().device("host").expect(model.minibatch, model.input).build();
        try (MemFerry ferry = MemFerry.init((Model) network, config)) {
            network.fit(batches.get(0));
            AccessTrace trace = new AccessTrace(ferry.plan().layers().size());
            Ferry.of(ferry.network()).engine().record(trace);
            for (int i = 0; i < ITERATIONS; i++) {
                network.fit(batches.get(i % batches.size()));
            }
            Ferry.of(ferry.network()).engine().record(AccessTrace.OFF);
            return TracedNetwork.of(model.title(), MemFerry.describe((Model) model.configured(), model.minibatch, model.input), trace);
        }
    }
}
