package org.memferry.examples.forecast;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.examples.MainRun;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;

/** {@code memferry trace}. */
class TraceCommandTest {

    @TempDir
    private Path folder;

    @Test
    void theBuiltInTransformerIsDrawnWithWhatWasPredictedAndMeasured() throws IOException {
        check(MainRun.of("trace", "--batch", "2", "--iterations", "2", "--strategy", "stream", "--out", folder.resolve("t").toString()), "STREAM");
        assertThat(Files.readString(folder.resolve("t.html"))).contains("predicted: ", "measured: ", "block2-up", "strategy STREAM");
    }

    @Test
    void aModelFileIsDrawnOnRandomBatches() throws IOException {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().seed(1).updater(new Adam(1e-3)).list()
                .layer(new DenseLayer.Builder().nIn(30).nOut(20).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nIn(20).nOut(3).build()).build());
        net.init();
        ModelSerializer.writeModel(net, folder.resolve("model.zip").toFile(), true);
        check(MainRun.of("trace", folder.resolve("model.zip").toString(), "--batch", "4", "--iterations", "1", "--device", "emulated:1MB", "--out",
                folder.resolve("t").toString()), "");
    }

    private void check(MainRun run, String strategy) throws IOException {
        assertThat(run.code()).as(run.err()).isZero();
        assertThat(run.out()).containsPattern("RESULT name=trace device=emulated strategy=" + strategy + ".* predicted_ms=[0-9.]+ "
                + "measured_ms=[0-9.]+ spans=[1-9][0-9]* dropped=0");
        assertThat(new ObjectMapper().readTree(Files.readString(folder.resolve("t.trace.json"))).get("traceEvents")).isNotEmpty();
        assertThat(Files.readString(folder.resolve("t.html"))).startsWith("<!DOCTYPE html>").endsWith("</html>\n");
    }

    @Test
    void whatIsWrongIsOneLineAndExitCode2() {
        for (String[] wrong : new String[][] {{"trace", folder.resolve("gone.zip").toString()}, {"trace", "--batch", "0"},
                {"trace", "--device", "emulated:much"}, {"trace", "--iteration", "2"}, {"trace", "--strategy", "NONE"}}) {
            MainRun run = MainRun.of(wrong);
            assertThat(run.code()).as(String.join(" ", wrong)).isEqualTo(2);
            assertThat(run.err().lines()).hasSize(1);
        }
    }
}
