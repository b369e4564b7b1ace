package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.Region;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.LayerWork;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** What users do between iterations, and what goes wrong in them, while a network is measured and its plan changes every five of them. */
class MeasuringRoundsTest {

    private static final String EMULATED = "emulated:1MB,poison,delay=5/100";
    private static final String CARD = "cuda:0,memory=1MB,poison";
    private static final InputType INPUT = InputType.feedForward(Nets.INPUTS);
    private static final int ROUND = 5;
    /** The measuring rounds of either device, and some iterations of the plan that comes of them. */
    private static final int STEPS = 3 + 3 + 4 * ROUND + 2;

    /** What happens in the middle of every round. */
    enum Event {
        OUTPUT, LARGER_BATCH, SMALLER_BATCH, SAVED_AND_RESTORED, ATTACHED_AGAIN, LEARNING_RATE, FERRY_LEARNING_RATE, CLEARED, FAILED_FORWARD,
        FAILED_BACKWARD, RECORDED, PARAMETERS_WRITTEN
    }

    static List<Arguments> events() {
        List<Arguments> all = new ArrayList<>();
        for (Event event : Event.values()) {
            Nets.Kind[] kinds = Nets.Kind.values();
            all.add(Arguments.of(event, EMULATED, kinds[event.ordinal() / 2 % 2]));
            if (event.ordinal() % 2 == 1) {
                all.add(Arguments.of(event, CARD, kinds[1 - event.ordinal() / 2 % 2]));
            }
        }
        return all;
    }

    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("events")
    void whateverHappensInTheMiddleOfARoundTheNumbersAreStocksAndNothingLeaks(Event event, String specification, Nets.Kind kind,
            @TempDir Path directory) throws IOException {
        startIfCard(specification);
        boolean fails = event == Event.FAILED_FORWARD || event == Event.FAILED_BACKWARD;
        // An activation of the program's own is not verified.
        Model stock = fails ? network(kind) : kind.create(new Adam(1e-2));
        Model net = fails ? network(kind) : kind.create(new Adam(1e-2));
        int verified = specification.equals(EMULATED) ? 30 : 0;
        try (Device device = Devices.open(specification)) {
            MemFerry ferry = MemFerry.attach(net, config(device).eagerUpdate(!fails).verifyFirstSteps(verified).build());
            for (int step = 0; step < STEPS; step++) {
                train(event, step, stock, net);
                assertSame(stock, net, "after step " + (step + 1));
                assertThat(device.metrics().openRegions()).as("parameters, gradients, state, slab, scratch").isLessThanOrEqualTo(6);
                if (step % ROUND == 2) {
                    happen(event, step, stock, net, ferry, directory);
                    if (event == Event.ATTACHED_AGAIN) {
                        ferry.close();
                        assertThat(device.metrics().openRegions()).as("regions after close").isZero();
                        Nets.train(stock, 90 + step, 1);
                        Nets.train(net, 90 + step, 1);
                        ferry = MemFerry.attach(net, config(device).eagerUpdate(!fails).verifyFirstSteps(verified).build());
                    }
                }
            }
            // After clear() a network begins its iteration without us, which is not measured.
            assertThat(ferry.profile() != null || event == Event.ATTACHED_AGAIN || event == Event.CLEARED).as("measured to the end").isTrue();
            assertThat(ferry.metrics().unplannedReads()).as("reads out of order").isZero();
            if (verified > 0 && !fails && event != Event.ATTACHED_AGAIN) {
                assertThat(ferry.verification().steps()).isBetween(event == Event.CLEARED ? STEPS - STEPS / ROUND - 1 : STEPS, STEPS);
            }
            assertThat(ferry.verification().difference()).isEmpty();
            ferry.close();
            assertThat(device.metrics().openRegions()).as("regions after close").isZero();
        }
        Nets.train(stock, STEPS, 2);
        Nets.train(net, STEPS, 2);
        assertSame(stock, net, "after close");
        endIfCard(specification);
    }

    private static void train(Event event, int step, Model stock, Model net) {
        int examples = step % ROUND != 3 ? Nets.BATCH : event == Event.LARGER_BATCH ? 3 * Nets.BATCH : event == Event.SMALLER_BATCH ? 1
                : Nets.BATCH;
        Nets.fit(stock, batch(step, examples));
        Nets.fit(net, batch(step, examples));
    }

    private static DataSet batch(int step, int examples) {
        return new DataSet(Nets.gaussian(100 + step, examples, Nets.INPUTS), Nets.classes(200 + step, examples, Nets.CLASSES));
    }

    private static void happen(Event event, int step, Model stock, Model net, MemFerry ferry, Path directory) throws IOException {
        switch (event) {
            case OUTPUT:
                INDArray features = Nets.gaussian(5 + step, 3 * Nets.BATCH, Nets.INPUTS);
                Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output after step " + (step + 1));
                return;
            case SAVED_AND_RESTORED:
                restored(step, stock, ferry, directory);
                return;
            case LEARNING_RATE:
                rate(stock, 1e-2 / (step + 2));
                rate(net, 1e-2 / (step + 2));
                return;
            case FERRY_LEARNING_RATE:
                rate(stock, 1e-2 / (step + 2));
                ferry.setLearningRate(1e-2 / (step + 2));
                return;
            case CLEARED:
                stock.clear();
                net.clear();
                return;
            case FAILED_FORWARD:
            case FAILED_BACKWARD:
                for (Model model : List.of(stock, net)) {
                    Tripwire.failsForward = event == Event.FAILED_FORWARD;
                    Tripwire.failsBackward = event == Event.FAILED_BACKWARD;
                    assertThatThrownBy(() -> Nets.fit(model, Nets.batch(step))).hasMessageContaining("on purpose");
                    Tripwire.failsForward = false;
                    Tripwire.failsBackward = false;
                }
                return;
            case RECORDED:
                // Across the limit between two rounds.
                ferry.recordTimeline(4);
                assertThat(ferry.timelines()).isEmpty();
                return;
            case PARAMETERS_WRITTEN:
                stock.params().muli(0.5);
                net.params().muli(0.5);
                return;
            default:
        }
    }

    private static void rate(Model model, double rate) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setLearningRate(rate);
        } else {
            ((ComputationGraph) model).setLearningRate(rate);
        }
    }

    /** The file is the one that stock DL4J would have written, and what comes of it goes on like stock, attached in the middle of it all. */
    private static void restored(int step, Model stock, MemFerry ferry, Path directory) throws IOException {
        File ours = directory.resolve("ours" + step + ".zip").toFile();
        File theirs = directory.resolve("theirs" + step + ".zip").toFile();
        ferry.save(ours, true);
        ModelSerializer.writeModel(stock, theirs, true);
        boolean layers = stock instanceof MultiLayerNetwork;
        Model expected = layers ? ModelSerializer.restoreMultiLayerNetwork(theirs, true) : ModelSerializer.restoreComputationGraph(theirs, true);
        Model restored = layers ? ModelSerializer.restoreMultiLayerNetwork(ours, true) : ModelSerializer.restoreComputationGraph(ours, true);
        Nets.train(expected, step + 1, 1);
        try (MemFerry again = MemFerry.attach(restored, MemFerryConfig.builder().device(EMULATED).strategy(Strategy.AUTO).build())) {
            Nets.train(restored, step + 1, 1);
            assertSame(expected, restored, "restored after step " + (step + 1));
        }
    }

    private static MemFerryConfig.Builder config(Device device) {
        return MemFerryConfig.builder().device(device).expect(Nets.BATCH, INPUT).strategy(Strategy.AUTO).updateThreads(1);
    }

    private static void startIfCard(String specification) {
        if (specification.equals(CARD)) {
            FakeCuda.start();
            FakeCuda.delays(7, 100);
        }
    }

    private static void endIfCard(String specification) {
        if (specification.equals(CARD)) {
            FakeCuda.assertNothingWrong();
            FakeCuda.assertNothingHeld();
        }
    }

    /** Four layers; the second one's activation can fail. */
    private static Model network(Nets.Kind kind) {
        DenseLayer second = new DenseLayer.Builder().nOut(11).activation(new Tripwire()).build();
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list().layer(Nets.dense(0)).layer(second)
                    .layer(Nets.dense(2)).layer(Nets.softmax()).setInputType(INPUT).build());
        }
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).graphBuilder().addInputs("in").setInputTypes(INPUT)
                .addLayer("0", Nets.dense(0), "in").addLayer("1", second, "0").addLayer("2", Nets.dense(2), "1")
                .addLayer("3", Nets.softmax(), "2").setOutputs("3").build());
    }

    /** An activation that fails when it is told to. */
    public static final class Tripwire extends ActivationTanH {

        private static final long serialVersionUID = 1L;
        private static boolean failsForward;
        private static boolean failsBackward;
        /** What it waits for before it fails, ten seconds at most. */
        private static BooleanSupplier mayFail = () -> true;
        private static long backwardNanos;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            if (failsForward) {
                throw new IllegalStateException("forward, on purpose");
            }
            return super.getActivation(in, training);
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            if (failsBackward) {
                for (int i = 0; i < 10_000 && !mayFail.getAsBoolean(); i++) {
                    LockSupport.parkNanos(1_000_000);
                }
                throw new IllegalStateException("backward, on purpose");
            }
            long end = System.nanoTime() + backwardNanos;
            while (System.nanoTime() < end) {
                Thread.onSpinWait();
            }
            return super.backprop(in, epsilon);
        }
    }

    /** The network is torn for good, whichever plan comes next. */
    @Test
    void aPlanThatChangesDoesNotForgetThatAnIterationWasGivenUpAfterAStep() {
        Model net = network(Nets.Kind.LAYERS);
        try (Device device = Devices.open(EMULATED); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(device)
                .expect(Nets.BATCH, INPUT).strategy(Strategy.AUTO).updateThreads(1).build())) {
            // Into the round whose steps are taken while backward goes on.
            for (int step = 0; ferry.plan().updateTiming() != UpdateTiming.EAGER; step++) {
                Nets.train(net, step, 1);
            }
            INDArray before = net.params().dup();
            Tripwire.failsBackward = true;
            // Steps are taken by a thread of their own, and one that has not begun is not taken any more.
            Tripwire.mayFail = () -> !net.params().equals(before);
            assertThatThrownBy(() -> Nets.train(net, 9, 1)).hasMessageContaining("on purpose");
            Tripwire.failsBackward = false;
            Tripwire.mayFail = () -> true;
            assertThat(net.params()).as("a step was taken").isNotEqualTo(before);
            for (int i = 0; i < 2; i++) {
                // A larger batch is measured anew, under another plan.
                assertThatThrownBy(() -> Nets.fit(net, batch(9, 2 * Nets.BATCH))).isInstanceOf(MemFerryException.class).hasMessageContaining("given up");
                assertThat(ferry.plan().updateTiming()).isEqualTo(UpdateTiming.IN_CHUNKS);
            }
        }
    }

    /** A batch needs its memory at once, and a plan that is measured must not keep it. */
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void aLargerBatchShrinksTheSlabAlsoWhileTheNetworkIsMeasured(Nets.Kind kind) {
        Model stock = network(kind);
        Model net = network(kind);
        try (Device device = Devices.open("emulated:9300B,poison"); MemFerry ferry = MemFerry.attach(net, config(device).build())) {
            for (int step = 0; step < STEPS; step++) {
                int examples = step < 3 ? Nets.BATCH : Nets.BATCH * 3 / 2;
                Nets.fit(stock, batch(step, examples));
                Nets.fit(net, batch(step, examples));
                assertSame(stock, net, "after step " + (step + 1));
                Plan plan = ferry.plan();
                assertThat(device.metrics().slabBytes()).as("slab in step %d", step + 1).isLessThanOrEqualTo(plan.budget().slabLimit());
            }
        }
    }

    /** What was refused once is refused again. */
    @Test
    void aBatchThatDoesNotFitIsRefusedEveryTimeAndOneThatFitsTrainsOn() {
        Model stock = network(Nets.Kind.LAYERS);
        Model net = network(Nets.Kind.LAYERS);
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:24KB,poison").expect(Nets.BATCH, INPUT)
                .strategy(Strategy.AUTO).build())) {
            Nets.train(stock, 0, 3);
            Nets.train(net, 0, 3);
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> Nets.fit(net, batch(3, 100 * Nets.BATCH))).isInstanceOf(OutOfMemoryException.class);
            }
            Nets.train(stock, 3, STEPS);
            Nets.train(net, 3, STEPS);
            assertSame(stock, net, "after a batch that did not fit");
            assertThatThrownBy(() -> Nets.fit(net, batch(3, 100 * Nets.BATCH))).isInstanceOf(OutOfMemoryException.class);
            assertThatThrownBy(() -> Nets.fit(net, batch(3, 100 * Nets.BATCH))).isInstanceOf(OutOfMemoryException.class);
        }
    }

    /** A network is measured again where its computation has become slower, whatever others have taken of the device meanwhile. */
    @ParameterizedTest
    @EnumSource(names = {"MEMFERRY", "AUTO"})
    void whatOthersHaveTakenOfTheDeviceMeanwhileIsNotNeededToMeasureAgain(Strategy strategy) {
        Model stock = network(Nets.Kind.LAYERS);
        Model net = network(Nets.Kind.LAYERS);
        Tripwire.backwardNanos = 1_000_000;
        try (Device device = Devices.open("emulated:24KB,poison"); MemFerry ferry = MemFerry.attach(net, config(device).strategy(strategy).build())) {
            train(stock, net, 0, STEPS);
            long measured = ferry.profile().layers().get(1).backwardNanos();
            try (Region others = device.allocateSlab(device.freeBytes(), "others")) {
                Tripwire.backwardNanos = 10_000_000;
                train(stock, net, STEPS, 40);
                assertThat(ferry.profile().layers().get(1).backwardNanos()).as("measured again").isGreaterThan(2 * measured);
            }
        } finally {
            Tripwire.backwardNanos = 0;
        }
    }

    /** Two networks on one device, in turn. */
    @Test
    void twoNetworksAreMeasuredOnOneDevice() {
        Adam adam = new Adam(1e-2);
        Model[] stock = {Nets.Kind.LAYERS.create(adam), Nets.Kind.GRAPH.create(adam)};
        Model[] net = {Nets.Kind.LAYERS.create(adam), Nets.Kind.GRAPH.create(adam)};
        try (Device device = Devices.open(EMULATED)) {
            try (MemFerry first = MemFerry.attach(net[0], config(device).verifyFirstSteps(30).build());
                    MemFerry second = MemFerry.attach(net[1], config(device).verifyFirstSteps(30).build())) {
                for (int step = 0; step < STEPS; step++) {
                    train(stock[0], net[0], step, 1);
                    train(stock[1], net[1], step, 1);
                }
                assertThat(first.profile()).isNotNull();
                assertThat(second.profile()).isNotNull();
                // What a layer puts out is no matter of time: measured or estimated, it is the same.
                assertThat(first.profile().layers()).extracting(LayerProfile::activationBytes).allMatch(bytes -> bytes > 0)
                        .isEqualTo(MemFerry.describe(Nets.Kind.LAYERS.create(adam), Nets.BATCH, INPUT).work().stream()
                                .map(LayerWork::activationBytes).collect(Collectors.toList()));
                assertThat(first.verification().steps() + second.verification().steps()).isEqualTo(2 * STEPS);
            }
            assertThat(device.metrics().openRegions()).isZero();
        }
    }

    private static void train(Model stock, Model net, int first, int count) {
        for (int step = first; step < first + count; step++) {
            Nets.train(stock, step, 1);
            Nets.train(net, step, 1);
            assertSame(stock, net, "after step " + (step + 1));
        }
    }

    private static void assertSame(Model stock, Model net, String when) {
        assertThat(Double.doubleToRawLongBits(net.score())).as("score %s: %s, stock %s", when, net.score(), stock.score())
                .isEqualTo(Double.doubleToRawLongBits(stock.score()));
        assertThat(Nets.iteration(net)).as("iteration count %s", when).isEqualTo(Nets.iteration(stock));
        Twins.assertSameBits(stock.params(), net.params(), "parameters " + when);
        Twins.assertSameBits(Nets.updaterState(stock), Nets.updaterState(net), "updater state " + when);
    }
}
