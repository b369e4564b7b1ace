package org.memferry.examples.forecast;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.examples.MainRun;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.Workload;
import org.memferry.MemFerry;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

import static org.assertj.core.api.Assertions.assertThat;

class ForecastCommandsTest {

    @TempDir
    Path directory;

    private Path model() throws IOException {
        MultiLayerNetwork network = network();
        network.init();
        Path file = directory.resolve("model.zip");
        network.save(file.toFile());
        return file;
    }

    private static MultiLayerNetwork network() {
        return new MultiLayerNetwork(new NeuralNetConfiguration.Builder().seed(7).list().layer(new DenseLayer.Builder().nIn(300).nOut(200).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(200).nOut(3).activation(Activation.IDENTITY).build()).build());
    }

    private static void assertRefused(MainRun run, String part) {
        assertThat(run.code()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.err().strip().lines()).hasSize(1).first().asString().startsWith("memferry").contains(part);
    }

    @Test
    void anInputBesideABuiltInNetworkIsRefused() {
        for (String command : List.of("plan", "estimate", "simulate", "trace")) {
            MainRun run = MainRun.of(command, command.equals("trace") ? "transformer" : "lenet", "--input", "784");
            assertThat(run.code()).as(command).isEqualTo(2);
            assertThat(run.err()).startsWith("memferry " + command + ": --input: 784 beside the built-in network").hasLineCount(1);
        }
    }

    @Test
    void aModelFileIsPlannedLayerByLayer() throws IOException {
        MainRun run = MainRun.of("plan", model().toString(), "--device-memory", "600KB");
        assertThat(run.code()).isZero();
        assertThat(run.out()).contains("60,803 parameters").contains("DenseLayer").contains("simulated step").contains("estimated");
    }

    @Test
    void anEstimateTellsWhatEachStrategyTakes() throws IOException {
        MainRun run = MainRun.of("estimate", "--model", model().toString(), "--batch", "16", "--device-memory", "500KB");
        assertThat(run.code()).isZero();
        assertThat(run.out()).contains("60,803 parameters").contains("STREAM").contains("moving parameters to the host helps")
                .contains("RESULT name=estimate").contains("device_memory_bytes=512000");
        assertThat(MainRun.of("estimate", model().toString(), "--device-memory", "1KB").code()).isEqualTo(1);
        assertRefused(MainRun.of("estimate", "bert-base"), "no DL4J network");
        JsonNode root = new ObjectMapper().readTree(MainRun.of("estimate", model().toString(), "--json").out());
        assertThat(root.get("strategies")).hasSize(6);
        assertThat(root.get("parameterBytes").asLong()).isEqualTo(4 * 60_803);
    }

    @Test
    void jsonHoldsThePlanOfEveryLayer() throws IOException {
        MainRun run = MainRun.of("plan", model().toString(), "--json", "--strategy", "zero_offload");
        JsonNode root = new ObjectMapper().readTree(run.out());
        assertThat(root.get("layers")).hasSize(2);
        assertThat(root.get("layers").get(0).get("forward").asText()).isEqualTo("RESIDENT");
        assertThat(root.get("stepNanos").asLong()).isPositive();
    }

    @Test
    void aProfileBesideTheModelIsPlannedFrom() throws IOException {
        Path model = model();
        Workload workload = MemFerry.describe(network(), 32, InputType.feedForward(300));
        Profile profile = Profile.builder(workload.key() + ", somewhere",
                Collections.nCopies(2, LayerProfile.builder(7_654_000, 8_765_000).build())).measured().build();
        ProfileFile.write(profile, ProfileFile.beside(model.toFile()));
        MainRun run = MainRun.of("plan", model.toString());
        assertThat(run.out()).contains("times measured").contains("7.654").contains("8.765");
        assertRefused(MainRun.of("plan", "lstm", "--profile", ProfileFile.beside(model.toFile()).toString()), "expected: a profile of");
    }

    @Test
    void strategiesAreComparedAndTheLastLineIsTheResult() {
        MainRun run = MainRun.of("simulate", "bert-base", "--strategies", "none,zero_offload,auto");
        assertThat(run.code()).isZero();
        assertThat(run.out().strip().lines().reduce((a, b) -> b).orElse(""))
                .matches("RESULT name=simulate simulated=true none_ms=\\S+ zero_offload_ms=\\S+ auto_ms=\\S+");
    }

    @Test
    void whatDoesNotFitIsSaidAndNotHidden() throws IOException {
        MainRun run = MainRun.of("simulate", "bert-large", "--device-memory", "16GB", "--strategies", "none,auto");
        assertThat(run.out()).contains("NONE            does not fit").contains("auto_ms");
        JsonNode all = new ObjectMapper().readTree(MainRun.of("simulate", "bert-large", "--device-memory", "16GB", "--strategies", "none",
                "--json").out()).get("strategies");
        assertThat(all.get(0).get("fits").asBoolean()).isFalse();
    }

    @Test
    void publishedShapesHaveTheirPublishedSizes() {
        assertThat(PaperModel.BERT_BASE.workload().network().parameterCount()).isBetween(105_000_000L, 112_000_000L);
        assertThat(PaperModel.BERT_LARGE.workload().network().parameterCount()).isBetween(330_000_000L, 342_000_000L);
        assertThat(PaperModel.ROBERTA_BASE.workload().network().parameterCount()).isBetween(122_000_000L, 127_000_000L);
        assertThat(PaperModel.GPT2_MEDIUM.workload().network().parameterCount()).isBetween(350_000_000L, 358_000_000L);
    }

    @Test
    void aDeviceThatIsTooSmallEndsInOneLine() {
        MainRun run = MainRun.of("plan", "bert-base", "--device-memory", "1MB");
        assertThat(run.code()).isEqualTo(1);
        assertThat(run.out()).isEmpty();
        assertThat(run.err().strip().lines()).hasSize(1);
    }

    @Test
    void badCommandLinesAndFilesAreRefusedInOneLine() throws IOException {
        assertRefused(MainRun.of("plan", "no-such-file.zip"), "no-such-file.zip: there is no such file");
        assertRefused(MainRun.of("plan", "mlp60m", "--bugdet", "1GB"), "--bugdet");
        assertRefused(MainRun.of("simulate"), "expected: a model file");
        assertRefused(MainRun.of("plan", "mlp60m", "--hardware", "GTX9000"), "GTX9000");
        assertRefused(MainRun.of("plan", "mlp60m", "--batch", "0"), "--batch: 0");
        assertRefused(MainRun.of("plan", "mlp60m", "--device-memory", "lots"), "lots");
        assertRefused(MainRun.of("plan", model().toString(), "--input", "3xx"), "3xx");
        assertRefused(MainRun.of("plan", model().toString(), "--input", "3x9x9"), "does not fit");
        Path foreign = directory.resolve("foreign.zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(foreign))) {
            zip.putNextEntry(new ZipEntry("readme.txt"));
        }
        assertRefused(MainRun.of("plan", foreign.toString()), "foreign.zip");
        assertRefused(MainRun.of("capacity", "--device-memory", "lots"), "lots");
    }
}
