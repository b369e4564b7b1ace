package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

/** A network is measured while it trains, then goes on by the plan of a strategy, and nobody can tell from its numbers. */
class StrategiesTest {

    private static final String DEVICE = "emulated:1MB,poison,delay=11/100";
    private static final InputType INPUT = InputType.feedForward(Nets.INPUTS);

    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void everyStrategyTrainsLikeStockWhileItIsMeasuredAndAfterwards(Strategy strategy) {
        Nets.Kind kind = Nets.Kind.values()[strategy.ordinal() % 2];
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, config(strategy).build())) {
            for (int step = 0; step < 20; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            assertThat(ferry.profile().measured()).isTrue();
            assertThat(ferry.profile().layers().subList(0, 3)).as("DL4J's forward leaves the output layer out")
                    .allSatisfy(layer -> assertThat(layer.forwardNanos()).isPositive());
            assertThat(ferry.profile().layers()).hasSize(4).allSatisfy(layer -> {
                assertThat(layer.backwardNanos()).isPositive();
                assertThat(layer.updateNanos()).isPositive();
            });
            assertThat(strategy == Strategy.AUTO || ferry.plan().strategy() == strategy).as("the plan is the strategy's").isTrue();
            assertThat(ferry.metrics().iterations()).as("iterations, those under other plans included").isEqualTo(20);
            assertThat(ferry.metrics().device().openRegions()).as("parameters, gradients, state, slab").isLessThanOrEqualTo(4);
        }
        Nets.train(stock, 20, 1);
        Nets.train(net, 20, 1);
        Numbers.assertSame(stock, net, "after close");
    }

    /** On a card what is read in place takes part in what a layer computes: it is measured and not concluded from bytes. */
    @Test
    void aCardIsMeasuredWithParametersAndGradientsInPlaceExceptWhereTheUserFixedThem() {
        FakeCuda.start();
        Model stock = Nets.layers(new Adam(1e-2));
        Model net = Nets.layers(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, config(Strategy.AUTO).device("cuda:0,memory=1MB,poison").place("1", Placement.PREFETCH)
                .placeGradient("2", GradientHome.SLOT).build())) {
            Map<String, Integer> plans = new LinkedHashMap<>();
            long slab = 0;
            for (int step = 0; ferry.profile() == null; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
                slab = slab == 0 ? ferry.metrics().device().slabBytes() : slab;
                if (ferry.profile() == null) {
                    assertThat(ferry.metrics().device().slabBytes()).as("nobody takes it meanwhile").isEqualTo(slab);
                    plans.merge(shape(ferry.plan()), 1, Integer::sum);
                }
            }
            assertThat(plans).containsExactly(entry("RS PS RS RS", 13), entry("DS PS DS DS", 5), entry("RD PD RS RD", 5));
            assertThat(ferry.profile().layers()).allSatisfy(layer -> {
                assertThat(layer.backwardDirectNanos()).isPositive();
                assertThat(layer.gradientDirectNanos()).isPositive();
            });
        }
        FakeCuda.assertNothingWrong();
    }

    /** Of each layer the first letters of where parameters are read in forward and where the gradient is written. */
    private static String shape(Plan plan) {
        return plan.layers().stream().map(l -> "" + l.forward().name().charAt(0) + l.gradientHome().name().charAt(0))
                .collect(Collectors.joining(" "));
    }

    @Test
    void aSavedProfileSparesTheMeasurementWhereNetworkBatchAndDeviceAreTheSame(@TempDir Path directory) {
        File file = directory.resolve("net.profile.json").toFile();
        Model net = Nets.layers(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, config(Strategy.STREAM).profile(file).build())) {
            Nets.train(net, 0, 20);
        }
        assertThat(file).exists();
        Model again = Nets.layers(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(again, config(Strategy.STREAM).profile(file).build())) {
            assertThat(ferry.plan().strategy()).as("plan at attach").isEqualTo(Strategy.STREAM);
            assertThat(ferry.profile()).isNotNull();
        }
        try (MemFerry ferry = MemFerry.attach(again, MemFerryConfig.builder().device(DEVICE).expect(2 * Nets.BATCH, INPUT)
                .strategy(Strategy.STREAM).profile(file).build())) {
            assertThat(ferry.profile()).as("a profile of another batch is not used").isNull();
        }
    }

    @Test
    void thePlanTableSaysWhatWasPredictedAndWhatWasMeasuredForEveryLayer() {
        Model net = Nets.layers(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, config(Strategy.STREAM).build())) {
            assertThat(ferry.planTable()).as("by sizes").doesNotContain("simulated");
            // On a busy machine the computation may be measured again in between.
            for (int step = 0; step < 200 && !ferry.planTable().contains("measured step"); step++) {
                Nets.train(net, step, 1);
            }
            assertThat(ferry.planTable()).contains("fwd ms", "run fwd", "profiled bwd").containsPattern("simulated step [0-9.]+ ms")
                    .containsPattern("measured step [0-9.]+ ms, mean of [1-9][0-9]* iterations: [+-][0-9.]+ % of what was simulated");
        }
    }

    @Test
    void aStrategyThatDoesNotFitIsRefusedAtAttachWithItsNumbers() {
        Model net = Nets.layers(new Adam(1e-2));
        INDArray before = net.params().dup();
        assertThatThrownBy(() -> MemFerry.attach(net, MemFerryConfig.builder().device("emulated:9KB").expect(1, INPUT)
                .strategy(Strategy.NATIVE_OFFLOAD).build())).isInstanceOf(OutOfMemoryException.class)
                .hasMessageContaining("NATIVE_OFFLOAD needs").hasMessageContaining("deviceMemory");
        assertThat(net.params()).isEqualTo(before);
        Nets.train(net, 0, 1);
    }

    // B49
    @Test
    void aBatchLargerThanPlannedForShrinksWhatIsResident() {
        Model stock = Nets.layers(new Adam(1e-2));
        Model net = Nets.layers(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:24KB").expect(Nets.BATCH, INPUT).build())) {
            Plan small = ferry.plan();
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            DataSet large = new DataSet(Nets.gaussian(1, 4 * Nets.BATCH, Nets.INPUTS), Nets.classes(2, 4 * Nets.BATCH, Nets.CLASSES));
            Nets.fit(stock, large);
            Nets.fit(net, large);
            assertThat(ferry.plan().budget().activationBytes()).isGreaterThan(small.budget().activationBytes());
            assertThat(ferry.plan().slabBytes()).isLessThan(small.slabBytes()).isLessThanOrEqualTo(ferry.plan().budget().slabLimit());
            assertThat(ferry.metrics().device().slabBytes()).isEqualTo(ferry.plan().slabBytes());
            Nets.train(stock, 3, 2);
            Nets.train(net, 3, 2);
            Numbers.assertSame(stock, net, "after a batch four times as large");
        }
    }

    @Test
    void aRecurrentLayerCountsOneReadOfItsParametersPerStepOfTheSeries() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                .layer(new LSTM.Builder().nIn(3).nOut(4).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE).nIn(4).nOut(2).activation(Activation.IDENTITY).build()).build());
        net.init();
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:1MB").expect(2, InputType.recurrent(3, 7)).build())) {
            assertThat(ferry.plan().network().layers().get(0).forwardTouches()).isEqualTo(7);
            assertThat(ferry.plan().network().layers().get(0).backwardTouches()).isEqualTo(14);
            assertThat(ferry.plan().network().layers().get(1).forwardTouches()).isEqualTo(1);
        }
    }

    private static MemFerryConfig.Builder config(Strategy strategy) {
        return MemFerryConfig.builder().device(DEVICE).expect(Nets.BATCH, INPUT).strategy(strategy).updateThreads(1);
    }
}
