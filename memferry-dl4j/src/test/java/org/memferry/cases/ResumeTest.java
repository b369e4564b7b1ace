package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

/** Stopping and going on from a file: with the updater state nothing shows, without it one warning says so. */
class ResumeTest {

    private static final int BEFORE = 5;
    private static final int AFTER = 5;
    private static final String RESTART = "moments start from zero at iteration " + BEFORE;

    @TempDir
    private Path directory;

    // A50, A59 without drop-out: every writer with every reader
    @ParameterizedTest(name = "{0}, written by MemFerry {1}, read by MemFerry {2}")
    @CsvSource({"HOST, true, true", "HOST, false, false", "MIXED, true, true", "MIXED, true, false", "MIXED, false, true",
        "MIXED, false, false", "PREFETCH, true, true"})
    void resumedTrainingIsTheUninterruptedOne(Setup setup, boolean ourWriter, boolean ourReader) throws IOException {
        MultiLayerNetwork uninterrupted = regression();
        train(uninterrupted, 0, BEFORE + AFTER);

        File file = directory.resolve("stopped.zip").toFile();
        stopAfterFive(setup, file, true, ourWriter);
        MultiLayerNetwork resumed = ourReader ? MemFerry.restoreMultiLayerNetwork(file, true, setup.config())
                : ModelSerializer.restoreMultiLayerNetwork(file, true);
        try (MemFerry ferry = ourReader ? MemFerry.of(resumed) : MemFerry.attach(resumed, setup.config())) {
            assertThat(Nets.iteration(resumed)).as("counter after restore").isEqualTo(BEFORE);
            train(resumed, BEFORE, AFTER);
            assertThat(ferry.metrics().iterations()).isEqualTo(AFTER);
            Numbers.assertSame(uninterrupted, resumed, "after resuming");
        }
    }

    // A51: forgetting to attach is no error, the file is DL4J's
    @ParameterizedTest
    @EnumSource(Setup.class)
    void aRestoredNetworkThatNobodyAttachesTrainsOn(Setup setup) throws IOException {
        MultiLayerNetwork uninterrupted = regression();
        train(uninterrupted, 0, BEFORE + AFTER);
        File file = directory.resolve("stopped.zip").toFile();
        stopAfterFive(setup, file, true, true);
        MultiLayerNetwork plain = ModelSerializer.restoreMultiLayerNetwork(file, true);
        train(plain, BEFORE, AFTER);
        assertThat(MemFerry.of(plain)).isNull();
        Numbers.assertSame(uninterrupted, plain, "trained on without attaching");
    }

    // A51
    @ParameterizedTest(name = "{0}, read by MemFerry {1}")
    @CsvSource({"HOST, true", "HOST, false", "MIXED, true", "MIXED, false"})
    void missingUpdaterStateIsSaidOnceWithTheIteration(Setup setup, boolean ourReader) throws IOException {
        File file = directory.resolve("stateless.zip").toFile();
        stopAfterFive(setup, file, false, true);
        MultiLayerNetwork stock = ModelSerializer.restoreMultiLayerNetwork(file, true);
        train(stock, BEFORE, AFTER);
        try (Logs logs = new Logs()) {
            MultiLayerNetwork resumed = ourReader ? MemFerry.restoreMultiLayerNetwork(file, true, setup.config())
                    : ModelSerializer.restoreMultiLayerNetwork(file, true);
            try (MemFerry ferry = ourReader ? MemFerry.of(resumed) : MemFerry.attach(resumed, setup.config())) {
                train(resumed, BEFORE, AFTER);
                assertThat(ferry.metrics().iterations()).isEqualTo(AFTER);
                Numbers.assertSame(stock, resumed, "with moments from zero");
            }
            assertThat(logs.at(Level.WARN)).singleElement().asString().contains(RESTART);
        }
    }

    // A51: who asks for no state is told nothing
    @Test
    void restoringWithoutTheUpdaterOnPurposeIsSilent() throws IOException {
        File file = directory.resolve("full.zip").toFile();
        stopAfterFive(Setup.MIXED, file, true, true);
        MultiLayerNetwork stock = ModelSerializer.restoreMultiLayerNetwork(file, false);
        train(stock, BEFORE, AFTER);
        try (Logs logs = new Logs()) {
            MultiLayerNetwork resumed = MemFerry.restoreMultiLayerNetwork(file, false, Setup.MIXED.config());
            try (MemFerry ferry = MemFerry.of(resumed)) {
                train(resumed, BEFORE, AFTER);
                Numbers.assertSame(stock, resumed, "without state, as asked");
                assertThat(ferry.isOpen()).isTrue();
            }
            assertThat(logs.at(Level.WARN)).isEmpty();
        }
    }

    // A51: rules that keep no state have none to miss, and a new network has none yet
    @Test
    void nothingIsMissingWhereThereIsNoStateToMiss() {
        MultiLayerNetwork stateless = Nets.layers(new Sgd(0.1));
        Nets.train(stateless, 0, BEFORE);
        MultiLayerNetwork fresh = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs()) {
            MemFerry.attach(stateless, Setup.MIXED.config()).close();
            MemFerry.attach(fresh, Setup.MIXED.config()).close();
            assertThat(logs.at(Level.WARN)).isEmpty();
        }
    }

    // A50: what a checkpoint holds is the finished iteration, however late the copies of its gradients were
    @ParameterizedTest
    @EnumSource(Setup.class)
    void theSavedStateIsThatOfTheLastFinishedIteration(Setup setup) throws IOException {
        MultiLayerNetwork stock = regression();
        train(stock, 0, BEFORE);
        File file = directory.resolve("state.zip").toFile();
        for (boolean ourWriter : new boolean[] {true, false}) {
            stopAfterFive(setup, file, true, ourWriter);
            MultiLayerNetwork read = ModelSerializer.restoreMultiLayerNetwork(file, true);
            for (Map.Entry<String, INDArray> e : stock.paramTable().entrySet()) {
                Numbers.assertSame(e.getValue(), read.getParam(e.getKey()), e.getKey());
            }
            Numbers.assertSame(Nets.updaterState(stock), Nets.updaterState(read), "updater state");
            assertThat(Nets.iteration(read)).isEqualTo(BEFORE);
        }
    }

    // A59: ND4J's generator is not in the file. With its state the same, drop-out is no exception to an exact resume; without, it is
    @ParameterizedTest(name = "seeded again {0}")
    @ValueSource(booleans = {true, false})
    void dropoutResumesExactlyWhereTheGeneratorDoes(boolean seeded) throws IOException {
        MultiLayerNetwork uninterrupted = Nets.initialised(dropout());
        File file = directory.resolve("dropout.zip").toFile();
        trainSeeded(uninterrupted, 0, BEFORE, true);
        MultiLayerNetwork stopped = Nets.initialised(dropout());
        try (MemFerry ferry = MemFerry.attach(stopped, Setup.MIXED.config())) {
            trainSeeded(stopped, 0, BEFORE, true);
            Numbers.assertSame(uninterrupted, stopped, "before stopping");
            ferry.save(file, true);
        }
        trainSeeded(uninterrupted, BEFORE, AFTER, true);
        MultiLayerNetwork resumed = MemFerry.restoreMultiLayerNetwork(file, true, Setup.MIXED.config());
        try (MemFerry ferry = MemFerry.of(resumed)) {
            Nd4j.getRandom().setSeed(1);
            trainSeeded(resumed, BEFORE, AFTER, seeded);
            assertThat(ferry.metrics().iterations()).isEqualTo(AFTER);
            if (seeded) {
                Numbers.assertSame(uninterrupted, resumed, "after resuming");
            } else {
                assertThat(resumed.params()).isNotEqualTo(uninterrupted.params());
            }
        }
    }

    private static MultiLayerConfiguration dropout() {
        return new NeuralNetConfiguration.Builder().seed(4711).updater(new Adam(1e-2)).activation(Activation.TANH).dropOut(0.5).list()
                .layer(Nets.dense(0)).layer(Nets.dense(1)).layer(Nets.dense(2)).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build();
    }

    private static void trainSeeded(MultiLayerNetwork net, int first, int count, boolean seeded) {
        for (int i = first; i < first + count; i++) {
            if (seeded) {
                Nd4j.getRandom().setSeed(100 + i);
            }
            net.fit(Nets.batch(i));
        }
    }

    private static void stopAfterFive(Setup setup, File file, boolean saveUpdater, boolean ourWriter) throws IOException {
        MultiLayerNetwork net = regression();
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            train(net, 0, BEFORE);
            if (ourWriter) {
                ferry.save(file, saveUpdater);
            } else {
                ModelSerializer.writeModel(net, file, saveUpdater);
            }
        }
    }

    /** The network of the report: 7 inputs, two hidden layers of 14, one of 5, one output. */
    private static MultiLayerNetwork regression() {
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list()
                .layer(new DenseLayer.Builder().nIn(7).nOut(14).build()).layer(new DenseLayer.Builder().nIn(14).nOut(14).build())
                .layer(new DenseLayer.Builder().nIn(14).nOut(5).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(5).nOut(1).activation(Activation.IDENTITY).build()).build());
    }

    private static void train(MultiLayerNetwork net, int first, int count) {
        for (int i = first; i < first + count; i++) {
            net.fit(new DataSet(Nets.gaussian(i, 6, 7), Nets.gaussian(1000 + i, 6, 1)));
        }
    }
}
