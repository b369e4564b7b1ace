package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingModelSaver;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.saver.LocalFileModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.InvocationType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.CheckpointListener;
import org.deeplearning4j.optimize.listeners.EvaluativeListener;
import org.deeplearning4j.optimize.listeners.PerformanceListener;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.deeplearning4j.util.CrashReportingUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.device.Device;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.plan.Placement;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** What MemFerry's listener reports, and what DL4J's own reports say of an attached network. */
class ListenerReportTest {

    private static final int STEPS = 3;
    private static final InputType INPUT = InputType.feedForward(Nets.INPUTS);

    @TempDir
    private Path directory;

    private static MemFerryListener.Builder ours(Setup setup) {
        return MemFerryListener.builder().config(setup.config());
    }

    private static List<String> lines(Logs logs, String start) {
        return logs.at(Level.INFO).stream().filter(line -> line.startsWith(start)).collect(Collectors.toList());
    }

    private static void listen(Model model, TrainingListener... listeners) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setListeners(listeners);
        } else {
            ((ComputationGraph) model).setListeners(listeners);
        }
    }

    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void anEpochIsOneLineOfWhereTheTimeWentAndWhatWasMoved(Nets.Kind kind) {
        Model net = kind.create(new Adam(1e-2));
        MemFerryListener listener = ours(Setup.PREFETCH).build();
        listen(net, listener);
        try (Logs logs = new Logs()) {
            Nets.fit(net, Nets.batches(0, STEPS));
            Nets.fit(net, Nets.batches(0, STEPS));
            assertThat(lines(logs, "epoch ")).hasSize(2).allSatisfy(line -> assertThat(line).matches("epoch [01]: 3 iterations in [\\d.]+ ms; "
                    + "compute: [\\d.]+ ms; waiting for copies: [\\d.]+ ms; CPU update: [\\d.]+ ms; waiting for steps: [\\d.]+ ms; "
                    + "to device: [\\d.]+ KB at [\\d.]+ GB/s; to host: [\\d.]+ KB at [\\d.]+ GB/s; in place: 0 B; device: [\\d.]+ KB of 64.0 MB; "
                    + "pinned host: [\\d.]+ KB; plan deviations: 0"));
            assertThat(number(lines(logs, "epoch ").get(1), "compute: ([\\d.]+)")).isPositive();
            assertThat(number(lines(logs, "epoch ").get(1), "CPU update: ([\\d.]+)")).isPositive();
        }
        // Every gradient comes to the host once in an iteration.
        assertThat(listener.ferry().metrics().device().bytesToHost())
                .isEqualTo(2 * STEPS * listener.ferry().plan().network().parameterBytes());
        listener.ferry().close();
    }

    private static double number(String line, String pattern) {
        Matcher m = Pattern.compile(pattern).matcher(line);
        assertThat(m.find()).as(line).isTrue();
        return Double.parseDouble(m.group(1));
    }

    @Test
    void linesComeAsOftenAsAskedAndAlsoForLoopsWithoutEpochs() {
        Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
        listen(net, ours(Setup.HOST).epochFrequency(2).iterationFrequency(4).build());
        try (Logs logs = new Logs()) {
            for (int epoch = 0; epoch < 4; epoch++) {
                Nets.fit(net, Nets.batches(0, STEPS));
            }
            assertThat(lines(logs, "epoch ")).map(line -> line.substring(0, 7)).containsExactly("epoch 1", "epoch 3");
            // Where the CPU computes there are no copies to speak of.
            assertThat(lines(logs, "epoch ")).noneMatch(line -> line.contains("to device"));
            assertThat(lines(logs, "iteration ")).map(line -> line.replaceAll(":.*", "")).containsExactly("iteration 3", "iteration 7", "iteration 11");
            // Neither kind of line takes iterations from the other.
            assertThat(lines(logs, "epoch ")).allSatisfy(line -> assertThat(line).contains(": 6 iterations in "));
            assertThat(lines(logs, "iteration ")).extracting(line -> line.replaceAll(".*: (\\d+) iterations in .*", "$1")).containsExactly("4", "4", "4");
        }
        MemFerry.of(net).close();
        Model silent = Nets.Kind.LAYERS.create(new Adam(1e-2));
        listen(silent, ours(Setup.HOST).epochFrequency(0).build());
        try (Logs logs = new Logs()) {
            Nets.fit(silent, Nets.batches(0, STEPS));
            assertThat(lines(logs, "epoch ")).isEmpty();
        }
        MemFerry.of(silent).close();
    }

    @ParameterizedTest(name = "{0}, ours at {1}")
    @CsvSource({"LAYERS, 0", "LAYERS, 3", "LAYERS, 5", "GRAPH, 0", "GRAPH, 2", "GRAPH, 5"})
    void amongDl4jsListenersInAnyPlaceNothingChanges(Nets.Kind kind, int place) throws IOException {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        MemFerryListener listener = ours(Setup.MIXED).build();
        InMemoryStatsStorage expected = new InMemoryStatsStorage();
        InMemoryStatsStorage actual = new InMemoryStatsStorage();
        listen(stock, others(expected, "stock").toArray(new TrainingListener[0]));
        List<TrainingListener> all = others(actual, "ours");
        all.add(place, listener);
        listen(net, all.toArray(new TrainingListener[0]));
        try (Logs logs = new Logs()) {
            for (int epoch = 0; epoch < 2; epoch++) {
                Nets.fit(stock, Nets.batches(0, STEPS));
                Nets.fit(net, Nets.batches(0, STEPS));
            }
            assertThat(lines(logs, "epoch ")).hasSize(2);
        }
        Numbers.assertSame(stock, net, "after two epochs among listeners");
        assertThat(actual.listSessionIDs()).hasSize(expected.listSessionIDs().size());
        assertThat(new File(directory.toFile(), "ours").list()).containsExactlyInAnyOrder(new File(directory.toFile(), "stock").list());
        listener.ferry().close();
    }

    private List<TrainingListener> others(InMemoryStatsStorage storage, String files) throws IOException {
        Files.createDirectory(directory.resolve(files));
        return new ArrayList<>(List.of(new ScoreIterationListener(1), new PerformanceListener(1), new StatsListener(storage, 1),
                new CheckpointListener.Builder(directory.resolve(files).toString()).keepAll().saveEveryNIterations(2).build(),
                new EvaluativeListener(Nets.batches(20, 1), 1, InvocationType.EPOCH_END)));
    }

    // A61
    @ParameterizedTest
    @ValueSource(ints = {1, 50})
    void statisticsAreReadOnTheHostWithoutAByteFromTheDevice(int frequency) {
        long[] plain = moved(null);
        long[] watched = moved(new StatsListener(new InMemoryStatsStorage(), frequency));
        assertThat(watched[1]).as("bytes to the host").isEqualTo(plain[1]);
        // A reader of parameters gets the arrays that a writer gets, so that copies under way for the next iteration may be made again.
        assertThat(watched[0]).as("bytes to the device").isBetween(plain[0], frequency == 1 ? 2 * plain[0] : plain[0]);
    }

    /** Bytes copied to the device and to the host in ten iterations. */
    private static long[] moved(StatsListener statistics) {
        Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
        try (Device device = Setup.PREFETCH.open(); MemFerry ferry = MemFerry.attach(net, Setup.PREFETCH.config(device))) {
            if (statistics != null) {
                ((MultiLayerNetwork) net).addListeners(statistics);
            }
            // The first iteration tells the statistics the network's shape.
            Nets.train(net, 0, 1);
            long[] before = {device.metrics().bytesToDevice(), device.metrics().bytesToHost()};
            Nets.train(net, 1, 10);
            assertThat(ferry.metrics().iterations()).isEqualTo(11);
            return new long[] {device.metrics().bytesToDevice() - before[0], device.metrics().bytesToHost() - before[1]};
        }
    }

    // A63
    @ParameterizedTest(name = "{0}, {1}, by listener {2}")
    @CsvSource({"LAYERS, MIXED, false", "LAYERS, HOST, true", "GRAPH, MIXED, true", "GRAPH, HOST, false"})
    void memoryInformationAndCrashDumpsWorkAndShowOurMemoryInTheSameForm(Nets.Kind kind, Setup setup, boolean byListener) throws Exception {
        Model net = kind.create(new Adam(1e-2));
        if (byListener) {
            listen(net, ours(setup).build());
            Nets.fit(net, Nets.batches(0, STEPS));
        } else {
            MemFerry.attach(net, setup.config());
            Nets.train(net, 0, STEPS);
        }
        try (MemFerry ferry = MemFerry.of(net)) {
            String own = ferry.memoryInfo();
            assertThat(own).startsWith("----- MemFerry Memory Information -----\n").contains("Host Memory: Parameters");
            assertThat(own.lines().skip(1)).allMatch(line -> line.length() > 40 && line.charAt(39) == ' ' && line.charAt(40) != '-');
            assertThat(own.contains("Device Memory: Budget")).isEqualTo(setup != Setup.HOST);
            String theirs = net instanceof MultiLayerNetwork ? ((MultiLayerNetwork) net).memoryInfo(32, INPUT)
                    : ((ComputationGraph) net).memoryInfo(32, INPUT);
            assertThat(theirs).contains("Network # Parameters", own.trim());
            CrashReportingUtil.crashDumpOutputDirectory(directory.toFile());
            try {
                CrashReportingUtil.writeMemoryCrashDump(net, new OutOfMemoryError("none left"));
            } finally {
                CrashReportingUtil.crashDumpOutputDirectory(null);
            }
            File[] dumps = directory.toFile().listFiles((d, name) -> name.startsWith("dl4j-memory-crash-dump-"));
            assertThat(dumps).hasSize(1);
            assertThat(Files.readString(dumps[0].toPath())).contains("none left", own.trim()).doesNotContain("<Error generating");
            Nets.train(net, 9, 1);
        }
        assertThat(net instanceof MultiLayerNetwork ? ((MultiLayerNetwork) net).memoryInfo(32, INPUT)
                : ((ComputationGraph) net).memoryInfo(32, INPUT)).doesNotContain("MemFerry Memory Information");
    }

    /** Case A01: what there was left for cuDNN when it asked. */
    @Test
    void whereConvolutionsAreTheReportSaysWhatWasFreeAtTheFirst() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().updater(new Adam(1e-2)).list()
                .layer(new DenseLayer.Builder().nOut(36).build())
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(2).build())
                .layer(new ConvolutionLayer.Builder(2, 2).nOut(2).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nOut(1).activation(Activation.IDENTITY).build())
                .inputPreProcessor(1, new FeedForwardToCnnPreProcessor(6, 6, 1)).setInputType(InputType.feedForward(5)).build());
        net.init();
        DataSet batch = new DataSet(Nets.gaussian(1, 2, 5), Nets.gaussian(2, 2, 1));
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:1GB").place("*", Placement.PREFETCH).build())) {
            // ND4J's counter holds the arrays of tests before this one until they are collected.
            DeviceMeter.settle();
            assertThat(ferry.memoryInfo()).doesNotContain("Free at Convolution");
            net.fit(batch);
            String first = free(ferry.memoryInfo());
            assertThat(Long.parseLong(first)).isBetween(1L, (1L << 30) - ferry.metrics().device().slabBytes());
            net.fit(batch);
            assertThat(free(ferry.memoryInfo())).as("of the first").isEqualTo(first);
        }
    }

    private static String free(String memoryInfo) {
        Matcher free = Pattern.compile("Device Memory: Free at Convolution .*\\((\\d+)\\)").matcher(memoryInfo);
        assertThat(free.find()).as(memoryInfo).isTrue();
        return free.group(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSaverThatClonesTheNetworkIntoMemoryIsNamedOnce(boolean inMemory) {
        MultiLayerNetwork net = (MultiLayerNetwork) Nets.Kind.LAYERS.create(new Adam(1e-2));
        EarlyStoppingModelSaver<MultiLayerNetwork> saver = inMemory ? new InMemoryModelSaver<>() : new LocalFileModelSaver(directory.toFile());
        EarlyStoppingConfiguration<MultiLayerNetwork> stopping = new EarlyStoppingConfiguration.Builder<MultiLayerNetwork>()
                .epochTerminationConditions(new MaxEpochsTerminationCondition(3)).scoreCalculator(new DataSetLossCalculator(Nets.batches(20, 1), true))
                .modelSaver(saver).evaluateEveryNEpochs(1).saveLastModel(true).build();
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.defaults())) {
            new EarlyStoppingTrainer(stopping, net, Nets.batches(0, STEPS)).fit();
            List<String> named = logs.at(Level.WARN).stream().filter(line -> line.contains("InMemoryModelSaver")).collect(Collectors.toList());
            assertThat(named).hasSize(inMemory ? 1 : 0);
            assertThat(named).allMatch(line -> line.contains("LocalFileModelSaver keeps them in files"));
        }
    }
}
