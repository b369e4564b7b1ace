package org.memferry.cases;

import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingModelSaver;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.saver.LocalFileGraphSaver;
import org.deeplearning4j.earlystopping.saver.LocalFileModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingGraphTrainer;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.nd4j.linalg.learning.config.Adam;

import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;

/** Early stopping trains, scores and saves an attached network in turn, and finds the same best model. */
class EarlyStoppingTest {

    private static final int EPOCHS = 4;

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}, {1}, saved in memory {2}")
    @CsvSource({"LAYERS, HOST, true", "LAYERS, MIXED, true", "LAYERS, PREFETCH, false", "GRAPH, RESIDENT, true", "GRAPH, MIXED, false"})
    void theSameEpochsTheSameScoresAndTheSameBestModel(Nets.Kind kind, Setup setup, boolean inMemory) {
        Model stock = kind.create(new Adam(5e-2));
        Model net = kind.create(new Adam(5e-2));
        EarlyStoppingResult<? extends Model> expected = run(stock, directory.resolve("stock"), inMemory);
        EarlyStoppingResult<? extends Model> actual;
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            long host = device.metrics().hostBytes();
            actual = run(net, directory.resolve("ours"), inMemory);
            assertThat(ferry.metrics().iterations()).isEqualTo(EPOCHS * 3);
            assertThat(device.metrics().hostBytes()).as("host bytes").isEqualTo(host);
            Numbers.assertSame(stock, net, "the trained network");
        }
        assertThat(actual.getTerminationReason()).as(actual.getTerminationDetails())
                .isEqualTo(EarlyStoppingResult.TerminationReason.EpochTerminationCondition).isEqualTo(expected.getTerminationReason());
        assertThat(actual.getBestModelEpoch()).isEqualTo(expected.getBestModelEpoch());
        assertThat(actual.getScoreVsEpoch()).isEqualTo(expected.getScoreVsEpoch());
        assertThat(actual.getTotalEpochs()).isEqualTo(expected.getTotalEpochs());
        Numbers.assertSame(expected.getBestModel().params(), actual.getBestModel().params(), "parameters of the best model");
        Numbers.assertSame(Nets.updaterState(expected.getBestModel()), Nets.updaterState(actual.getBestModel()), "its updater state");
        // The best model is an ordinary network that trains on.
        assertThat(MemFerry.of(actual.getBestModel())).isNull();
        Nets.train(expected.getBestModel(), 50, 2);
        Nets.train(actual.getBestModel(), 50, 2);
        Numbers.assertSame(expected.getBestModel(), actual.getBestModel(), "the best model, trained on");
    }

    private static EarlyStoppingResult<? extends Model> run(Model model, Path directory, boolean inMemory) {
        if (model instanceof MultiLayerNetwork) {
            EarlyStoppingModelSaver<MultiLayerNetwork> saver =
                    inMemory ? new InMemoryModelSaver<>() : new LocalFileModelSaver(directory.toFile());
            return new EarlyStoppingTrainer(configuration(saver), (MultiLayerNetwork) model, Nets.batches(0, 3)).fit();
        }
        EarlyStoppingModelSaver<ComputationGraph> saver =
                inMemory ? new InMemoryModelSaver<>() : new LocalFileGraphSaver(directory.toString());
        return new EarlyStoppingGraphTrainer(configuration(saver), (ComputationGraph) model, Nets.batches(0, 3)).fit();
    }

    private static <T extends Model> EarlyStoppingConfiguration<T> configuration(EarlyStoppingModelSaver<T> saver) {
        return new EarlyStoppingConfiguration.Builder<T>().epochTerminationConditions(new MaxEpochsTerminationCondition(EPOCHS))
                .scoreCalculator(new DataSetLossCalculator(Nets.batches(20, 2), true)).modelSaver(saver).evaluateEveryNEpochs(1).build();
    }
}
