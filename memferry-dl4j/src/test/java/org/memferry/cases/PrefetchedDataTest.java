package org.memferry.cases;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.nd4j.DeviceUse;
import org.memferry.nd4j.LayerScopes;
import org.memferry.nd4j.ThreadWorkspaces;
import org.memferry.plan.Placement;
import org.nd4j.linalg.dataset.AsyncDataSetIterator;
import org.nd4j.linalg.dataset.AsyncMultiDataSetIterator;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.adapter.MultiDataSetIteratorAdapter;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * The data sets that DL4J's threads fetch ahead lie on the device, in workspaces of these threads: they count against its budget. Runs in
 * one child program, since ND4J takes its managers once, when it starts.
 */
class PrefetchedDataTest {

    /** DL4J's iterators take no smaller block. */
    private static final long LEAST = 10 << 20;

    private static String output;

    private interface Scenario {
        void run() throws Exception;
    }

    @BeforeAll
    static void run() throws IOException, InterruptedException {
        output = ChildJvm.with(ChildJvm.MANAGERS).run(Child.class);
    }

    private static void passed(String scenario) {
        assertThat(output).contains("PASSED " + scenario + System.lineSeparator());
    }

    @Test
    void whatAThreadFetchesCountsForTheDeviceOfTheThreadThatStartedIt() {
        passed("started");
    }

    @Test
    void whatAThreadFetchesThatNobodyStartedWhoTrainsCountsForTheOneDeviceThatIsTrainedOn() {
        passed("elsewhere");
    }

    @Test
    void whatDoesNotFitIsRefusedOnTheThreadThatTrainsAndLeavesTheNetworkAsItWas() {
        passed("refused");
    }

    @Test
    void whatDoesNotFitIsPlacedInHostMemoryWhereThatIsAllowed() {
        passed("spilled");
    }

    @Test
    void aNetworkIsForgottenByEveryThreadThatTrainedIt() {
        passed("forgotten");
    }

    /** The program. */
    static final class Child {

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            Map<String, Scenario> scenarios = new LinkedHashMap<>();
            scenarios.put("started", Child::started);
            scenarios.put("elsewhere", Child::elsewhere);
            scenarios.put("refused", Child::refused);
            scenarios.put("spilled", Child::spilled);
            scenarios.put("forgotten", Child::forgotten);
            scenarios.forEach((name, scenario) -> {
                try {
                    scenario.run();
                    System.out.println("PASSED " + name);
                } catch (Throwable e) {
                    System.out.println("FAILED " + name);
                    e.printStackTrace(System.out);
                }
                Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
                ThreadWorkspaces.ofCurrentThread().train(null, false, LayerScopes.NONE);
            });
        }

        private static MemFerryConfig.Builder on(long budget) {
            return MemFerryConfig.builder().device("emulated:" + budget).place("*", Placement.PREFETCH);
        }

        /** Too small for what is fetched ahead, and large enough for everything else. */
        private static long tooSmall() {
            DeviceMeter.collect();
            return DeviceMeter.arrayBytes() + LEAST / 2;
        }

        private static void started() {
            MultiLayerNetwork stock = Nets.layers(new Adam(1e-2));
            MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(net, on(256 << 20).build())) {
                DeviceUse use = ferry.metrics().use();
                AsyncDataSetIterator data = new AsyncDataSetIterator(new Made(4), 2, true);
                // The block is there before the first data set is.
                assertThat(data.hasNext()).isTrue();
                net.fit(data);
                assertThat(use.prefetchedBytes()).as("while its thread is not given up").isGreaterThanOrEqualTo(LEAST);
                assertThat(use.workspaceBytes()).isGreaterThan(use.prefetchedBytes());
                assertThat(use.toString()).contains("of them data sets fetched ahead");
                data.shutdown();
                assertThat(use.prefetchedBytes()).as("after shutdown").isZero();
                AsyncMultiDataSetIterator multi = new AsyncMultiDataSetIterator(new MultiDataSetIteratorAdapter(new Made(2)), 2, true);
                assertThat(multi.hasNext()).isTrue();
                assertThat(use.prefetchedBytes()).as("of multi data sets, while its starter trains").isGreaterThanOrEqualTo(LEAST);
                multi.shutdown();
                assertThat(use.prefetchedBytes()).isZero();
                stock.fit(new Made(4));
                Numbers.assertSame(stock, net, "fetched ahead");
            }
        }

        private static void elsewhere() {
            MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
            AsyncDataSetIterator[] data = new AsyncDataSetIterator[1];
            try (OneThread maker = new OneThread(); MemFerry ferry = MemFerry.attach(net, on(256 << 20).build());
                    Device second = Devices.open("emulated:256MB")) {
                maker.run(() -> data[0] = new AsyncDataSetIterator(new Made(3), 2, true));
                assertThat(data[0].hasNext()).isTrue();
                DeviceUse use = ferry.metrics().use();
                assertThat(use.prefetchedBytes()).as("before anybody trains").isZero();
                net.fit(data[0]);
                assertThat(use.prefetchedBytes()).as("the only one that is trained on").isGreaterThanOrEqualTo(LEAST);
                try (OneThread other = new OneThread()) {
                    other.run(() -> ThreadWorkspaces.ofCurrentThread().train(DeviceUse.of(second), false, LayerScopes.NONE));
                    assertThat(use.prefetchedBytes()).as("one of two").isZero();
                    other.run(() -> ThreadWorkspaces.ofCurrentThread().train(null, false, LayerScopes.NONE));
                }
                assertThat(use.prefetchedBytes()).as("the only one again").isGreaterThanOrEqualTo(LEAST);
                maker.run(() -> ThreadWorkspaces.ofCurrentThread().train(DeviceUse.of(second), false, LayerScopes.NONE));
                assertThat(use.prefetchedBytes()).as("its maker trains elsewhere").isZero();
                assertThat(DeviceUse.of(second).prefetchedBytes()).isGreaterThanOrEqualTo(LEAST);
                data[0].shutdown();
                assertThat(DeviceUse.of(second).prefetchedBytes()).isZero();
                maker.run(() -> ThreadWorkspaces.ofCurrentThread().train(null, false, LayerScopes.NONE));
            }
        }

        private static void refused() {
            MultiLayerNetwork stock = Nets.layers(new Adam(1e-2));
            MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(net, on(tooSmall()).build())) {
                Nets.train(net, 0, 1);
                Nets.train(stock, 0, 1);
                AsyncDataSetIterator data = new AsyncDataSetIterator(new Made(4), 2, true);
                for (int i = 0; i < 2; i++) {
                    assertThatThrownBy(() -> net.fit(data)).isInstanceOf(OutOfMemoryException.class)
                            .hasMessageContaining("data sets that are fetched ahead hold 1").hasMessageContaining("bytes) of device memory, ")
                            .hasMessageContaining("more than are available: in use are slab")
                            .hasMessageContaining("plain networks and other arrays of this program, which count too").hasMessageContaining("spillToHost(true)");
                }
                data.shutdown();
                Nets.train(net, 1, 2);
                Nets.train(stock, 1, 2);
                Numbers.assertSame(stock, net, "without fetching ahead");
            }
        }

        private static void spilled() {
            MultiLayerNetwork stock = Nets.layers(new Adam(1e-2));
            MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(net, on(tooSmall()).spillToHost(true).build())) {
                Nets.train(net, 0, 1);
                Nets.train(stock, 0, 1);
                AsyncDataSetIterator data = new AsyncDataSetIterator(new Made(4), 2, true);
                net.fit(data);
                stock.fit(new Made(4));
                assertThat(ferry.metrics().use().spilledBytes()).isGreaterThanOrEqualTo(LEAST);
                assertThat(ferry.metrics().use().prefetchedBytes()).as("what fits while its size is learned").isLessThan(LEAST / 2);
                data.shutdown();
                assertThat(ferry.metrics().use().spilledBytes()).as("after shutdown").isZero();
                assertThat(ferry.metrics().use().prefetchedBytes()).as("after shutdown").isZero();
                Numbers.assertSame(stock, net, "data sets in host memory");
            }
        }

        private static void forgotten() {
            MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
            try (OneThread former = new OneThread(); Device device = Devices.open("emulated:64MB")) {
                MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(device).place("*", Placement.PREFETCH).build());
                former.run(() -> Nets.train(net, 0, 2));
                Nets.train(net, 2, 2);
                DeviceUse use = DeviceUse.of(device);
                assertThat(use.workspaceBytes()).as("of both threads").isPositive();
                ferry.close();
                assertThat(use.workspaceBytes()).as("after close").isZero();
                // Nothing of the closed device's budget binds either thread.
                former.run(() -> Nets.train(net, 4, 1));
                assertThat(use.workspaceBytes()).isZero();
            }
        }
    }

    /** Makes the batch of a step when it is asked for it, in whatever workspace is open then. */
    private static final class Made implements DataSetIterator {

        private static final long serialVersionUID = 1L;
        private final int count;
        private int next;

        private Made(int count) {
            this.count = count;
        }

        @Override
        public DataSet next() {
            return Nets.batch(next++);
        }

        @Override
        public boolean hasNext() {
            return next < count;
        }

        @Override
        public DataSet next(int examples) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int inputColumns() {
            return Nets.INPUTS;
        }

        @Override
        public int totalOutcomes() {
            return Nets.CLASSES;
        }

        @Override
        public boolean resetSupported() {
            return false;
        }

        @Override
        public boolean asyncSupported() {
            return false;
        }

        @Override
        public void reset() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int batch() {
            return Nets.BATCH;
        }

        @Override
        public void setPreProcessor(DataSetPreProcessor preProcessor) {
            throw new UnsupportedOperationException();
        }

        @Override
        public DataSetPreProcessor getPreProcessor() {
            return null;
        }

        @Override
        public List<String> getLabels() {
            return null;
        }
    }
}
