package org.memferry.cases;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.parallelism.ParallelWrapper;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * ParallelWrapper trains the attached network itself as its first worker, on a thread of its own, and drops that worker's updater at the
 * end: numbers are stock's, and the ferry is whole before, during and after.
 */
@Timeout(120) // A worker that dies while it starts would leave the others waiting for ever.
class ParallelWrapperTest {

    // A66
    @ParameterizedTest(name = "{0}, {1}, updaters averaged {2}")
    @CsvSource({"LAYERS, HOST, true", "LAYERS, MIXED, true", "LAYERS, PREFETCH, false", "GRAPH, HOST, true", "GRAPH, RESIDENT, true",
        "GRAPH, MIXED, false"})
    void averagingWithTwoWorkersHasStocksNumbersAndLeavesTheNetworkAttached(Nets.Kind kind, Setup setup, boolean averageUpdaters)
            throws Exception {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (Device device = setup.open()) {
            MemFerry ferry = MemFerry.attach(net, setup.config(device));
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            long regions = device.metrics().openRegions();
            long host = device.metrics().hostBytes();

            wrap(stock, averageUpdaters);
            wrap(net, averageUpdaters);
            Numbers.assertSame(stock.params(), net.params(), "parameters after parallel training");
            assertThat(net.score()).as("score after parallel training").isEqualTo(stock.score());
            assertThat(ferry.isOpen()).isTrue();
            // Whole, not half: the other worker was an ordinary network that came and went.
            assertThat(MemFerry.of(net)).isNotNull();
            assertThat(device.metrics().openRegions()).as("regions").isEqualTo(regions);
            assertThat(device.metrics().hostBytes()).as("host bytes").isEqualTo(host);

            for (int step = 10; step < 13; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "on the caller's thread again, step " + step);
            }
            assertThat(Nets.updater(net).getClass().getName()).as("updater in force").startsWith("org.memferry.");
            INDArray features = Nets.gaussian(3, 5, Nets.INPUTS);
            Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
            long iterations = ferry.metrics().iterations();
            Nets.train(stock, 13, 1);
            Nets.train(net, 13, 1);
            assertThat(ferry.metrics().iterations()).as("served as before").isEqualTo(iterations + 1);
            ferry.close();
            assertThat(device.metrics().openRegions()).as("regions after close").isZero();
        }
        Nets.train(stock, 14, 2);
        Nets.train(net, 14, 2);
        Numbers.assertSame(stock, net, "detached");
    }

    private static void wrap(Model model, boolean averageUpdaters) throws Exception {
        try (ParallelWrapper wrapper = new ParallelWrapper.Builder<>(model).workers(2).averagingFrequency(1).prefetchBuffer(0)
                .averageUpdaters(averageUpdaters).trainingMode(ParallelWrapper.TrainingMode.AVERAGING).build()) {
            List<DataSet> batches = new ArrayList<>();
            for (int step = 2; step < 8; step++) {
                batches.add(Nets.batch(step));
            }
            wrapper.fit(new ExistingDataSetIterator(() -> new WhenWorkersWait(batches.iterator())));
        }
    }

    /**
     * Hands out the first batch when both workers wait for it. The second worker copies the network on its own thread: without this, DL4J
     * lets it copy what the first one has trained on already, or not, as it happens.
     */
    private static final class WhenWorkersWait implements Iterator<DataSet> {

        private final Iterator<DataSet> batches;
        private boolean ready;

        WhenWorkersWait(Iterator<DataSet> batches) {
            this.batches = batches;
        }

        @Override
        public boolean hasNext() {
            return batches.hasNext();
        }

        @Override
        public DataSet next() {
            while (!ready) {
                Thread.onSpinWait();
                ready = waiting() == 2;
            }
            return batches.next();
        }

        private static long waiting() {
            return Thread.getAllStackTraces().entrySet().stream()
                    .filter(e -> e.getKey().getName().startsWith("ParallelWrapper training thread"))
                    .filter(e -> Arrays.stream(e.getValue()).anyMatch(frame -> frame.getMethodName().equals("poll"))).count();
        }
    }
}
