package org.memferry.cases;

import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.device.HostMemoryMetrics;
import org.memferry.plan.Placement;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions;

import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;

/** Ferries that nobody closes (A09). */
class UnclosedTest {

    @Test
    void twoHundredAttachmentsOfRandomWidthsHalfOfThemNeverClosedLeaveNoMemoryAndNoThread() throws InterruptedException {
        awaitQuiet(0, 0);
        int regions = HostMemoryMetrics.liveRegions();
        long bytes = HostMemoryMetrics.allocatedBytes();
        long threads = threads();
        Random random = new Random(11);
        try (Logs logs = new Logs()) {
            for (int i = 0; i < 200; i++) {
                attachAndTrain(random, i % 2 == 0);
            }
        }
        awaitQuiet(regions, threads);
        assertThat(HostMemoryMetrics.liveRegions()).as("regions").isEqualTo(regions);
        assertThat(HostMemoryMetrics.allocatedBytes()).as("bytes").isEqualTo(bytes);
        assertThat(threads()).as("threads of MemFerry").isEqualTo(threads);
    }

    @Test
    void seriesOfAnyLengthTakeNoMemoryBeyondWhatTheLongestTook() {
        MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list()
                .layer(new LSTM.Builder().nIn(3).nOut(7).build())
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(7).nOut(2).build()).build());
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:4MB").place("*", Placement.PREFETCH).build())) {
            net.fit(Nets.gaussian(0, 4, 3, 500), Nets.gaussian(1, 4, 2, 500));
            long host = ferry.metrics().device().hostBytes();
            long slab = ferry.metrics().device().slabBytes();
            long tickets = ferry.metrics().device().tickets();
            long arrays = ferry.metrics().arraysCreated();
            for (int length : new int[] {10, 499, 37, 250, 500, 11}) {
                net.fit(Nets.gaussian(length, 4, 3, length), Nets.gaussian(length + 1, 4, 2, length));
            }
            assertThat(ferry.metrics().device().peakHostBytes()).isEqualTo(host);
            assertThat(ferry.metrics().device().peakSlabBytes()).isEqualTo(slab);
            assertThat(ferry.metrics().device().tickets()).isEqualTo(tickets);
            assertThat(ferry.metrics().arraysCreated()).isEqualTo(arrays);
        }
    }

    private static void attachAndTrain(Random random, boolean close) {
        MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list()
                .layer(new DenseLayer.Builder().nOut(1 + random.nextInt(64)).build()).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(random.nextBoolean() ? "emulated:4MB" : "host")
                .place("*", random.nextBoolean() ? Placement.PREFETCH : Placement.DIRECT).build());
        Nets.train(net, 0, 1);
        if (close) {
            ferry.close();
        }
    }

    private static void awaitQuiet(int regions, long threads) throws InterruptedException {
        for (int i = 0; i < 300 && (HostMemoryMetrics.liveRegions() > regions || threads() > threads); i++) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.isAlive() && t.getName().startsWith("memferry")).count();
    }

    @Test
    void aNetworkThatIsStillThereStaysAttachedAlthoughItsFerryIsForgotten() throws InterruptedException {
        MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
        MultiLayerNetwork stock = Nets.layers(new Adam(1e-2));
        MemFerry.attach(net, MemFerryConfig.builder().device("emulated:4MB,poison").place("*", Placement.PREFETCH).build());
        for (int i = 0; i < 5; i++) {
            System.gc();
            Thread.sleep(20);
            Nets.train(net, i, 1);
            Nets.train(stock, i, 1);
            Numbers.assertSame(stock, net, "step " + i);
        }
        MemFerry.of(net).close();
    }
}
