package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryMetrics;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.parity.UserDenseLayer;
import org.memferry.parity.UserOutputLayer;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.function.IntConsumer;

import static org.assertj.core.api.Assertions.assertThat;

/** After the second iteration nothing is allocated any more: memory, tickets and arrays stand still, and every iteration copies alike. */
class SteadyStateTest {

    private static final int ITERATIONS = 1000;
    private static final int FITS = 100;

    /** No delays and no poison here: a thousand iterations should take seconds. */
    private static Device device(boolean emulated) {
        return Devices.open(emulated ? "emulated:16MB" : "host");
    }

    private static MemFerryConfig config(Device device, boolean emulated, String resident) {
        MemFerryConfig.Builder config = MemFerryConfig.builder().device(device);
        return emulated ? config.place("*", Placement.PREFETCH).place(resident, Placement.RESIDENT).placeGradient("*", GradientHome.SLOT)
                .build() : config.build();
    }

    @ParameterizedTest(name = "{0}, emulated {1}")
    @CsvSource({"LAYERS, true", "LAYERS, false", "GRAPH, true", "GRAPH, false"})
    void aThousandIterationsHoldNoMoreThanTwo(Nets.Kind kind, boolean emulated) {
        Model net = kind.create(new Adam(1e-3));
        DataSet[] batches = {Nets.batch(0), Nets.batch(1), Nets.batch(2)};
        try (Device device = device(emulated); MemFerry ferry = MemFerry.attach(net, config(device, emulated, "1"))) {
            Meter meter = new Meter(ferry);
            meter.repeat(kind == Nets.Kind.LAYERS ? ITERATIONS : FITS, i -> Nets.fit(net, batches[i % batches.length]));
            assertThat(ferry.metrics().iterations()).isEqualTo(meter.repeats);
            assertThat(ferry.metrics().device().bytesToDevice() > 0).as("copies parameters").isEqualTo(emulated);
        }
    }

    @ParameterizedTest(name = "emulated {0}")
    @CsvSource({"true", "false"})
    void manySegmentsHoldNoMoreThanTheFirst(boolean emulated) {
        int length = 7;
        MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(1e-3), WorkspaceMode.ENABLED).list()
                .layer(new LSTM.Builder().nOut(9).build()).layer(new LSTM.Builder().nOut(8).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MSE).nOut(3).activation(Activation.IDENTITY).build())
                .setInputType(InputType.recurrent(4)).backpropType(BackpropType.TruncatedBPTT).tBPTTLength(3).build());
        DataSet data = new DataSet(Nets.gaussian(1, 2, 4, length), Nets.gaussian(2, 2, 3, length));
        try (Device device = device(emulated); MemFerry ferry = MemFerry.attach(net, config(device, emulated, "1"))) {
            new Meter(ferry).repeat(FITS, i -> net.fit(data));
            assertThat(ferry.metrics().iterations()).isEqualTo(3 * FITS);
        }
    }

    @ParameterizedTest(name = "emulated {0}")
    @CsvSource({"true", "false"})
    void layersInSameDiffHoldNoMoreThanAfterTwoIterations(boolean emulated) {
        MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(1e-3), WorkspaceMode.ENABLED).list().layer(Nets.dense(0))
                .layer(new UserDenseLayer(17, 9)).layer(Nets.dense(2)).layer(new UserOutputLayer(11, 3))
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        DataSet data = new DataSet(Nets.gaussian(1, 4, Nets.INPUTS), Nets.gaussian(2, 4, 3));
        try (Device device = device(emulated); MemFerry ferry = MemFerry.attach(net, config(device, emulated, "0"))) {
            new Meter(ferry).repeat(FITS, i -> net.fit(data));
            assertThat(ferry.metrics().iterations()).isEqualTo(FITS);
        }
    }

    // Nobody says when an inference pass ends: what was copied for it may be copied again for the iteration that follows, every time alike.
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void trainingAndInferenceInTurnCostTheSameEveryTime(Nets.Kind kind) {
        Model net = kind.create(new Adam(1e-3));
        DataSet data = Nets.batch(0);
        INDArray features = Nets.gaussian(9, 3, Nets.INPUTS);
        try (Device device = device(true); MemFerry ferry = MemFerry.attach(net, config(device, true, "1"))) {
            Meter meter = new Meter(ferry);
            meter.repeat(FITS, i -> {
                Nets.fit(net, data);
                Nets.output(net, features);
            });
            assertThat(ferry.metrics().iterations()).isEqualTo(FITS);
            assertThat(ferry.metrics().inferencePasses()).as("inference passes").isEqualTo(FITS);
            assertThat(ferry.metrics().repeatedCopies()).as("copies made again").isZero();
            // At most: every prefetched layer in forward, in backward and in inference, the resident one once; and four gradients.
            assertThat(meter.copiesEach).as("copies of one round").isLessThanOrEqualTo(3 * 3 + 1 + 4);
        }
    }

    /** Repeats something and compares the metrics after every repeat with those after the second. */
    private static final class Meter {

        private final MemFerryMetrics metrics;
        private int repeats;
        private long copiesEach;

        Meter(MemFerry ferry) {
            this.metrics = ferry.metrics();
        }

        private long[] held() {
            return new long[] {metrics.device().hostBytes(), metrics.device().slabBytes(), metrics.device().openRegions(),
                metrics.device().peakHostBytes(), metrics.device().peakSlabBytes(), metrics.device().tickets(), metrics.arraysCreated()};
        }

        private long[] done() {
            return new long[] {metrics.device().copies(), metrics.device().bytesToDevice(), metrics.device().bytesToHost(),
                metrics.parameterCopies()};
        }

        void repeat(int times, IntConsumer what) {
            long[] held = null;
            long[] before = null;
            long[] each = null;
            for (repeats = 1; repeats <= times; repeats++) {
                what.accept(repeats);
                long[] done = done();
                if (repeats == 2) {
                    held = held();
                } else if (repeats > 2) {
                    long[] difference = new long[done.length];
                    for (int i = 0; i < done.length; i++) {
                        difference[i] = done[i] - before[i];
                    }
                    each = each == null ? difference : each;
                    assertThat(difference).as("copies, bytes to the device, bytes to the host, parameter copies of repeat %d", repeats)
                            .isEqualTo(each);
                    assertThat(held()).as("host bytes, slab bytes, regions, peaks, tickets, arrays after repeat %d", repeats)
                            .isEqualTo(held);
                }
                before = done;
            }
            repeats = times;
            copiesEach = each[0];
            assertThat(metrics.unplannedReads()).as("reads out of order").isZero();
            assertThat(metrics.abortedPasses()).as("passes cut short").isZero();
            assertThat(metrics.device().leakedRegions()).as("leaked regions").isZero();
        }
    }
}
