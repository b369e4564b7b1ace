package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.listeners.CheckpointListener;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryListener;
import org.nd4j.linalg.learning.config.Nesterovs;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** MemFerry's listener among DL4J's own: in every order the checkpoints and statistics are those of stock DL4J. */
class ListenerOrderTest {

    private static final int STEPS = 5;
    private static final String[] ORDERS = {"CSM", "CMS", "SCM", "SMC", "MCS", "MSC"};

    @TempDir
    private Path directory;

    static List<Arguments> everyOrder() {
        List<Arguments> all = new ArrayList<>();
        for (int i = 0; i < ORDERS.length; i++) {
            all.add(Arguments.of(ORDERS[i], Nets.Kind.LAYERS, Setup.values()[i % 4]));
            all.add(Arguments.of(ORDERS[i], Nets.Kind.GRAPH, Setup.values()[(i + 2) % 4]));
        }
        return all;
    }

    // A55; C = CheckpointListener, S = StatsListener, M = ours
    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("everyOrder")
    void checkpointsHoldTheFinishedIterationInEveryOrderOfListeners(String order, Nets.Kind kind, Setup setup) throws IOException {
        File stockFiles = directory.resolve("stock").toFile();
        File ourFiles = directory.resolve("ours").toFile();
        Model stock = network(kind);
        Model net = network(kind);
        MemFerryListener ours = new MemFerryListener(setup.config());
        listen(stock, order, stockFiles, null);
        listen(net, order, ourFiles, ours);
        Nets.fit(stock, Nets.batches(0, STEPS));
        Nets.fit(net, Nets.batches(0, STEPS));
        Numbers.assertSame(stock, net, "after an epoch");
        assertThat(ours.ferry().metrics().iterations()).as("iterations of the ferry").isEqualTo(STEPS);

        // The file name tells that DL4J's exact class check still recognises the network.
        String name = kind == Nets.Kind.LAYERS ? "MultiLayerNetwork" : "ComputationGraph";
        for (int checkpoint = 0; checkpoint < 2; checkpoint++) {
            String file = "checkpoint_" + checkpoint + "_" + name + ".zip";
            assertThat(new File(stockFiles, file)).exists();
            Model expected = restore(kind, new File(stockFiles, file));
            Model actual = restore(kind, new File(ourFiles, file));
            Numbers.assertSame(expected.params(), actual.params(), "parameters in " + file);
            Numbers.assertSame(Nets.updaterState(expected), Nets.updaterState(actual), "updater state in " + file);
            assertThat(Nets.iteration(actual)).isEqualTo(Nets.iteration(expected));
        }

        // After a restore nobody listens any more: attach and listeners are set again, and training goes on.
        ours.ferry().close();
        File last = new File(ourFiles, "checkpoint_1_" + name + ".zip");
        Model plain = restore(kind, last);
        Model resumed = restore(kind, last);
        listen(plain, order, directory.resolve("stock again").toFile(), null);
        MemFerryListener again = new MemFerryListener(setup.config());
        listen(resumed, order, directory.resolve("ours again").toFile(), again);
        Nets.fit(plain, Nets.batches(9, 3));
        Nets.fit(resumed, Nets.batches(9, 3));
        Numbers.assertSame(plain, resumed, "after restore, attach and listeners again");
        assertThat(again.ferry().metrics().iterations()).isEqualTo(3);
        again.ferry().close();
    }

    private static void listen(Model model, String order, File directory, MemFerryListener ours) {
        assertThat(directory.mkdirs()).isTrue();
        List<TrainingListener> listeners = new ArrayList<>();
        for (char c : order.toCharArray()) {
            if (c == 'C') {
                listeners.add(new CheckpointListener.Builder(directory).saveEveryNIterations(2).keepAll().logSaving(false).build());
            } else if (c == 'S') {
                listeners.add(new StatsListener(new InMemoryStatsStorage(), 1));
            } else if (ours != null) {
                listeners.add(ours);
            }
        }
        Nets.setListeners(model, listeners.toArray(new TrainingListener[0]));
    }

    private static Model restore(Nets.Kind kind, File file) throws IOException {
        return kind == Nets.Kind.LAYERS ? ModelSerializer.restoreMultiLayerNetwork(file, true)
                : ModelSerializer.restoreComputationGraph(file, true);
    }

    // A55: the network stays the object and the class it was, so that every exact class check of DL4J holds
    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("kindsAndSetups")
    void theNetworkIsNeverReplacedOrSubclassed(Nets.Kind kind, Setup setup) throws IOException {
        Class<?> exact = kind == Nets.Kind.LAYERS ? MultiLayerNetwork.class : ComputationGraph.class;
        Model net = network(kind);
        File file = directory.resolve("model.zip").toFile();
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            assertThat(ferry.network()).isSameAs(net);
            assertThat(net.getClass()).isEqualTo(exact);
            Nets.train(net, 0, 1);
            ferry.save(file, true);
        }
        Model restored = kind == Nets.Kind.LAYERS ? MemFerry.restoreMultiLayerNetwork(file, true, setup.config())
                : MemFerry.restoreComputationGraph(file, true, setup.config());
        try (MemFerry ferry = MemFerry.of(restored)) {
            assertThat(ferry.network().getClass()).isEqualTo(exact);
        }
    }

    static List<Arguments> kindsAndSetups() {
        List<Arguments> all = new ArrayList<>();
        for (Nets.Kind kind : Nets.Kind.values()) {
            all.add(Arguments.of(kind, Setup.HOST));
            all.add(Arguments.of(kind, Setup.MIXED));
        }
        return all;
    }

    /** With constraints, so that before and after them are two different things. */
    private static Model network(Nets.Kind kind) {
        DenseLayer first = new DenseLayer.Builder().nOut(17).constrainWeights(new MaxNormConstraint(0.8, 1)).build();
        InputType input = InputType.feedForward(Nets.INPUTS);
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(Nets.configuration(new Nesterovs(0.1, 0.9), WorkspaceMode.ENABLED).list().layer(first)
                    .layer(Nets.dense(1)).layer(Nets.dense(2)).layer(Nets.softmax()).setInputType(input).build());
        }
        return Nets.initialised(Nets.configuration(new Nesterovs(0.1, 0.9), WorkspaceMode.ENABLED).graphBuilder().addInputs("in")
                .setInputTypes(input).addLayer("0", first, "in").addLayer("1", Nets.dense(1), "0").addLayer("2", Nets.dense(2), "1")
                .addLayer("3", Nets.softmax(), "2").setOutputs("3").build());
    }
}
