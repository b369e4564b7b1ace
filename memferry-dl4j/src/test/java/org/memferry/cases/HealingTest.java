package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.memferry.parity.UserDenseLayer;
import org.memferry.parity.UserOutputLayer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * DL4J's own calls that drop or replace what a ferry installed in a network: training goes on with the numbers that stock DL4J has after
 * the same call, and the ferry is whole again afterwards.
 */
class HealingTest {

    private static final Adam RULE = new Adam(1e-2);

    /** A call on a network, the same on the stock one and on the attached one. */
    enum Call {
        CLEAR(Model::clear),
        NO_LISTENERS(net -> Nets.setListeners(net)),
        OTHER_LISTENER(net -> Nets.setListeners(net, new BaseTrainingListener() { })),
        NO_UPDATER(net -> setUpdater(net, null, null)),
        STOCK_UPDATER(HealingTest::replaceUpdater),
        NO_ACCUMULATOR(HealingTest::dropAccumulator),
        LEARNING_RATE(HealingTest::setLearningRate),
        LAYER_RATE(HealingTest::setRateOfOneLayer),
        EVERYTHING(net -> {
            Nets.setListeners(net);
            setUpdater(net, null, null);
            dropAccumulator(net);
            net.clear();
        });

        private final Consumer<Model> call;

        Call(Consumer<Model> call) {
            this.call = call;
        }
    }

    static List<Arguments> everyCall() {
        List<Arguments> all = new ArrayList<>();
        for (Call call : Call.values()) {
            int n = call.ordinal();
            all.add(Arguments.of(call, Nets.Kind.LAYERS, Setup.values()[n % 4], WorkspaceMode.ENABLED));
            all.add(Arguments.of(call, Nets.Kind.GRAPH, Setup.values()[1 + n % 3], WorkspaceMode.ENABLED));
            all.add(Arguments.of(call, Nets.Kind.LAYERS, Setup.PREFETCH, WorkspaceMode.NONE));
            all.add(Arguments.of(call, Nets.Kind.GRAPH, Setup.MIXED, WorkspaceMode.NONE));
        }
        return all;
    }

    @ParameterizedTest(name = "{0}, {1}, {2}, workspaces {3}")
    @MethodSource("everyCall")
    void droppingOrReplacingAnythingHasStocksNumbersAndHeals(Call call, Nets.Kind kind, Setup setup, WorkspaceMode mode) {
        Model stock = kind.create(RULE.clone(), mode);
        Model net = kind.create(RULE.clone(), mode);
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            call.call.accept(stock);
            call.call.accept(net);
            for (int step = 2; step < 5; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after " + call + " and step " + (step + 1));
            }
            assertThat(Nets.updater(net).getClass().getName()).as("updater in force").startsWith("org.memferry.");
            INDArray features = Nets.gaussian(3, 5, Nets.INPUTS);
            Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
            // Whole again: an iteration is served as before.
            long iterations = ferry.metrics().iterations();
            long copies = ferry.metrics().device().copies();
            Nets.train(stock, 5, 1);
            Nets.train(net, 5, 1);
            Numbers.assertSame(stock, net, "after healing");
            assertThat(ferry.metrics().iterations()).as("iterations of the ferry").isEqualTo(iterations + 1);
            if (setup != Setup.HOST) {
                assertThat(ferry.metrics().device().copies()).as("copies").isGreaterThan(copies);
            }
        }
        Nets.train(stock, 6, 1);
        Nets.train(net, 6, 1);
        Numbers.assertSame(stock, net, "after close");
    }

    @ParameterizedTest(name = "{0}, {1}, {2}, workspaces {3}")
    @MethodSource("everyCall")
    void closingRightAfterSuchACallGivesBackWhatStockHas(Call call, Nets.Kind kind, Setup setup, WorkspaceMode mode) {
        Model stock = kind.create(RULE.clone(), mode);
        Model net = kind.create(RULE.clone(), mode);
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            assertThat(ferry.isOpen()).isTrue();
            call.call.accept(stock);
            call.call.accept(net);
        }
        Nets.train(stock, 2, 2);
        Nets.train(net, 2, 2);
        Numbers.assertSame(stock, net, "after " + call + " and close");
    }

    // The thread that trains need not be the one that trained before, and what was dropped is noticed on whichever it is.
    @ParameterizedTest(name = "{0}, workspaces {1}")
    @CsvSource({"CLEAR, ENABLED", "CLEAR, NONE", "NO_ACCUMULATOR, ENABLED", "NO_ACCUMULATOR, NONE", "NO_UPDATER, ENABLED"})
    void droppingOnOneThreadAndTrainingOnAnotherHasStocksNumbers(Call call, WorkspaceMode mode) throws InterruptedException {
        Model stock = Nets.Kind.LAYERS.create(RULE.clone(), mode);
        Model net = Nets.Kind.LAYERS.create(RULE.clone(), mode);
        try (MemFerry ferry = MemFerry.attach(net, Setup.PREFETCH.config())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            call.call.accept(stock);
            call.call.accept(net);
            for (int step = 2; step < 5; step++) {
                int now = step;
                Nets.train(stock, step, 1);
                Thread other = new Thread(() -> Nets.train(net, now, 1), "trainer " + step);
                other.start();
                other.join();
                Numbers.assertSame(stock, net, "after " + call + " and step " + (step + 1) + " on a thread of its own");
            }
            assertThat(ferry.metrics().iterations()).as("iterations that were served").isGreaterThanOrEqualTo(4);
        }
    }

    // A user may go on using what he handed in.
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void theStateArrayOfAnUpdaterThatAUserSetIsCopiedAndLeftAlone(Nets.Kind kind) {
        Model net = kind.create(RULE.clone());
        try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
            Nets.train(net, 0, 2);
            INDArray state = Nets.updaterState(net).dup();
            INDArray before = state.dup();
            setUpdater(net, state);
            Nets.train(net, 2, 2);
            assertThat(ferry.metrics().iterations()).isEqualTo(4);
            assertThat(state.wasClosed()).as("closed by the ferry").isFalse();
            Numbers.assertSame(before, state, "the user's array");
        }
    }

    // A layer that computes in SameDiff reads no parameter table: nothing but the graph itself can tell that something was dropped.
    @ParameterizedTest
    @EnumSource(value = Setup.class, names = {"HOST", "RESIDENT", "PREFETCH"})
    void droppingEverythingHealsWhereEveryLayerComputesInSameDiff(Setup setup) {
        MultiLayerNetwork stock = graphLayersOnly();
        MultiLayerNetwork net = graphLayersOnly();
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            for (int step = 0; step < 6; step++) {
                DataSet batch = new DataSet(Nets.gaussian(step, 5, 6), Nets.gaussian(90 + step, 5, 3));
                if (step == 2) {
                    stock.clear();
                    net.clear();
                } else if (step == 4) {
                    stock.setUpdater(null);
                    net.setUpdater(null);
                }
                stock.fit(batch);
                net.fit(batch);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            assertThat(net.getUpdater().getClass().getName()).as("updater in force").startsWith("org.memferry.");
            assertThat(ferry.metrics().iterations()).as("iterations that were served, all but the one after clear()").isEqualTo(5);
        }
    }

    private static MultiLayerNetwork graphLayersOnly() {
        return Nets.initialised(Nets.configuration(RULE.clone(), WorkspaceMode.ENABLED).list().layer(new UserDenseLayer(6, 9))
                .layer(new UserDenseLayer(9, 7)).layer(new UserOutputLayer(7, 3)).setInputType(InputType.feedForward(6)).build());
    }

    private static void setUpdater(Model model, Updater layers, ComputationGraphUpdater graph) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setUpdater(layers);
        } else {
            ((ComputationGraph) model).setUpdater(graph);
        }
    }

    /** As a user would: a stock updater with a copy of the state. */
    private static void replaceUpdater(Model model) {
        setUpdater(model, Nets.updaterState(model).dup());
    }

    private static void setUpdater(Model model, INDArray state) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setUpdater(new MultiLayerUpdater((MultiLayerNetwork) model, state));
        } else {
            ((ComputationGraph) model).setUpdater(new ComputationGraphUpdater((ComputationGraph) model, state));
        }
    }

    private static void dropAccumulator(Model model) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setGradientsAccumulator(null);
        } else {
            ((ComputationGraph) model).setGradientsAccumulator(null);
        }
    }

    private static void setLearningRate(Model model) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setLearningRate(3e-3);
        } else {
            ((ComputationGraph) model).setLearningRate(3e-3);
        }
    }

    private static void setRateOfOneLayer(Model model) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setLearningRate(1, 3e-3);
        } else {
            ((ComputationGraph) model).setLearningRate("1", 3e-3);
        }
    }
}
