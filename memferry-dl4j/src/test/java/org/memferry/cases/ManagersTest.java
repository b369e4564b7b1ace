package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryRuntime;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.nd4j.DeviceUse;
import org.memferry.nd4j.LayerScopes;
import org.memferry.nd4j.ThreadWorkspaces;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.common.primitives.Pair;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * MemFerry's memory and workspace manager in ND4J. All of it runs in one child program, since ND4J takes its managers once, when it starts.
 */
class ManagersTest {

    private static final int FLOATS = 1 << 18;
    private static final long BYTES = (long) FLOATS * Float.BYTES;
    /** What ND4J puts behind every workspace's block. */
    private static final long SAFETY = 1024;

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
    void everyBlockOfAWorkspaceCountsUntilItIsGivenBack() {
        passed("blocks");
    }

    @Test
    void theBlocksOfAThreadThatEndedAreGivenBack() {
        passed("threads");
    }

    @Test
    void aBlockThatDoesNotFitIsRefusedWithNumbersAndLeavesTheWorkspaceAsItWas() {
        passed("refusal");
    }

    @Test
    void garbageIsCollectedOnceBeforeABlockIsRefused() {
        passed("garbage");
    }

    @Test
    void aBlockThatDoesNotFitIsPlacedInHostMemoryWhereThatIsAllowed() {
        passed("spill");
    }

    @Test
    void slotsAndHostRegionsAreListedAsWorkspacesOfTheirOwn() {
        passed("named");
    }

    @Test
    void aNetworkWhoseActivationsDoNotFitIsRefusedAndTrainsBitIdenticallyWhereTheyMaySpill() {
        passed("training");
    }

    @Test
    void aGradientIsCompleteBeforeTheLayersWithoutParametersBelowAreComputed() {
        passed("signal");
    }

    @Test
    void installingAfterTheFirstUseIsRefusedUnlessTheManagersAreThereAlready() throws Exception {
        passed("installed");
        ChildJvm.with().run(LateInstall.class);
        ChildJvm.with().run(EarlyInstall.class);
    }

    /** Uses ND4J, then installs. */
    static final class LateInstall {

        private LateInstall() {
        }

        /** @param args none */
        public static void main(String[] args) {
            Nd4j.create(1);
            assertThatThrownBy(MemFerryRuntime::install).isInstanceOf(RefusedException.class).hasMessageContaining("in use already")
                    .hasMessageContaining("CpuWorkspaceManager").hasMessageContaining("Call it first");
            assertThat(System.getProperty("workspacemanager")).isNull();
            System.setProperty("workspacemanager", "com.example.Theirs");
            assertThatThrownBy(MemFerryRuntime::install).isInstanceOf(RefusedException.class).hasMessageContaining("com.example.Theirs");
        }
    }

    /** Installs, then trains; the plan's table says that workspaces are counted. */
    static final class EarlyInstall {

        private EarlyInstall() {
        }

        /** @param args none */
        public static void main(String[] args) {
            MemFerryRuntime.install();
            MemFerryRuntime.install();
            Model net = Nets.Kind.GRAPH.create(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:64MB").build())) {
                Nets.train(net, 0, 2);
                assertThat(ferry.planTable()).contains("workspaces: counted against the budget");
                assertThat(ferry.metrics().use().peakWorkspaceBytes()).isPositive();
            }
        }
    }

    /** The program. */
    static final class Child {

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            Map<String, Scenario> scenarios = new LinkedHashMap<>();
            scenarios.put("installed", MemFerryRuntime::install);
            scenarios.put("blocks", Child::blocks);
            scenarios.put("threads", Child::threads);
            scenarios.put("refusal", Child::refusal);
            scenarios.put("garbage", Child::garbage);
            scenarios.put("spill", Child::spill);
            scenarios.put("named", Child::named);
            scenarios.put("training", Child::training);
            scenarios.put("signal", Child::signal);
            scenarios.forEach((name, scenario) -> {
                try {
                    scenario.run();
                    System.out.println("PASSED " + name);
                } catch (Throwable e) {
                    System.out.println("FAILED " + name);
                    e.printStackTrace(System.out);
                }
            });
        }

        private static MemoryWorkspace open(String id, long initial, MirroringPolicy mirroring) {
            WorkspaceConfiguration configuration = WorkspaceConfiguration.builder().initialSize(initial).policyMirroring(mirroring)
                    .policyAllocation(AllocationPolicy.STRICT).policyLearning(LearningPolicy.FIRST_LOOP).policySpill(SpillPolicy.REALLOCATE)
                    .build();
            return Nd4j.getWorkspaceManager().getAndActivateWorkspace(configuration, id);
        }

        /** A workspace of its own device; whatever the thread holds besides is given back first. */
        private static DeviceUse train(Device device, boolean spill) {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            DeviceUse use = DeviceUse.of(device);
            ThreadWorkspaces.ofCurrentThread().train(use, spill, LayerScopes.NONE);
            return use;
        }

        private static void blocks() {
            try (Device device = Devices.open("emulated:1GB")) {
                DeviceUse use = train(device, false);
                assertThat(use.workspaceBytes()).isZero();
                try (MemoryWorkspace ws = open("LEARNING", 0, MirroringPolicy.FULL)) {
                    Nd4j.create(DataType.FLOAT, FLOATS);
                    assertThat(use.workspaceBytes()).as("handed out while it learns").isEqualTo(BYTES);
                }
                assertThat(use.workspaceBytes()).as("its block").isEqualTo(BYTES + SAFETY);
                try (MemoryWorkspace ws = open("LEARNING", 0, MirroringPolicy.FULL)) {
                    Nd4j.create(DataType.FLOAT, FLOATS);
                    assertThat(use.workspaceBytes()).as("from its block").isEqualTo(BYTES + SAFETY);
                    Nd4j.create(DataType.FLOAT, 2 * FLOATS);
                    assertThat(use.workspaceBytes()).as("and beside it").isEqualTo(3 * BYTES + SAFETY);
                }
                assertThat(use.workspaceBytes()).as("a larger block").isEqualTo(3 * BYTES + SAFETY);
                try (MemoryWorkspace ws = open("HOST", BYTES, MirroringPolicy.HOST_ONLY)) {
                    Nd4j.create(DataType.FLOAT, 2 * FLOATS);
                    assertThat(use.workspaceBytes()).as("with one in host memory").isEqualTo(3 * BYTES + SAFETY);
                }
                try (MemoryWorkspace ws = open("SECOND", BYTES, MirroringPolicy.FULL)) {
                    assertThat(use.workspaceBytes()).as("with another").isEqualTo(4 * BYTES + 2 * SAFETY);
                }
                try (Device other = Devices.open("emulated:1GB")) {
                    ThreadWorkspaces.ofCurrentThread().train(DeviceUse.of(other), false, LayerScopes.NONE);
                    assertThat(use.workspaceBytes()).as("its thread trains on another device").isZero();
                    assertThat(DeviceUse.of(other).workspaceBytes()).isEqualTo(4 * BYTES + 2 * SAFETY);
                }
                ThreadWorkspaces.ofCurrentThread().train(use, false, LayerScopes.NONE);
                Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
                assertThat(use.workspaceBytes()).as("all given back").isZero();
                assertThat(use.peakWorkspaceBytes()).isBetween(4 * BYTES, 7 * BYTES);
            }
        }

        private static void threads() throws InterruptedException {
            try (Device device = Devices.open("emulated:1GB")) {
                DeviceUse use = DeviceUse.of(device);
                Thread thread = new Thread(() -> {
                    train(device, false);
                    open("OF_A_THREAD", BYTES, MirroringPolicy.FULL).close();
                });
                thread.start();
                thread.join();
                thread = null;
                assertThat(use.workspaceBytes()).isEqualTo(BYTES + SAFETY);
                for (int i = 0; i < 200 && use.workspaceBytes() != 0; i++) {
                    System.gc();
                    Thread.sleep(10);
                }
                assertThat(use.workspaceBytes()).as("after its thread ended").isZero();
            }
        }

        private static void refusal() {
            try (Device device = Devices.open("emulated:" + (arrays() + 4 * BYTES))) {
                DeviceUse use = train(device, false);
                try (MemoryWorkspace ws = open("ROOM", 2 * BYTES, MirroringPolicy.FULL)) {
                    Nd4j.create(DataType.FLOAT, FLOATS);
                    long held = use.workspaceBytes();
                    long handedOut = ws.getThisCycleAllocations();
                    assertThatThrownBy(() -> Nd4j.create(DataType.FLOAT, 4 * FLOATS)).isInstanceOf(OutOfMemoryException.class)
                            .hasMessageContaining("workspace ROOM needs 4.00 MB (4,194,304 bytes)").hasMessageContaining("in use are slab")
                            .hasMessageContaining("plain networks and other arrays of this program, which count too")
                            .hasMessageContaining("spillToHost(true)");
                    assertThat(use.workspaceBytes()).isEqualTo(held);
                    assertThat(ws.getThisCycleAllocations()).isEqualTo(handedOut);
                    Nd4j.create(DataType.FLOAT, FLOATS);
                }
                assertThatThrownBy(() -> open("LARGE", 8 * BYTES, MirroringPolicy.FULL)).isInstanceOf(OutOfMemoryException.class);
                assertThat(use.workspaceBytes()).isEqualTo(2 * BYTES + SAFETY);
            }
            train(null);
        }

        private static void garbage() {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            System.gc();
            INDArray kept = Nd4j.create(DataType.FLOAT, 16 * FLOATS);
            try (Device device = Devices.open("emulated:" + (arrays() + 9 * BYTES))) {
                DeviceUse use = train(device, false);
                for (int i = 0; i < 6; i++) {
                    Nd4j.create(DataType.FLOAT, FLOATS);
                }
                open("AFTER_GARBAGE", 8 * BYTES, MirroringPolicy.FULL).close();
                assertThat(use.collections()).isEqualTo(1);
                assertThatThrownBy(() -> open("TOO_MUCH", 8 * BYTES, MirroringPolicy.FULL)).isInstanceOf(OutOfMemoryException.class);
                assertThatThrownBy(() -> open("TOO_MUCH", 8 * BYTES, MirroringPolicy.FULL)).isInstanceOf(OutOfMemoryException.class);
                assertThat(use.collections()).as("nothing new to collect").isEqualTo(1);
            }
            kept.close();
            train(null);
        }

        private static void spill() {
            try (Device device = Devices.open("emulated:" + (arrays() + 3 * BYTES)); Logs logs = new Logs()) {
                DeviceUse use = train(device, true);
                try (MemoryWorkspace ws = open("SPILLING", BYTES, MirroringPolicy.FULL)) {
                    Nd4j.create(DataType.FLOAT, 4 * FLOATS).assign(1);
                    Nd4j.create(DataType.FLOAT, 4 * FLOATS).assign(2);
                    assertThat(use.workspaceBytes()).isEqualTo(BYTES + SAFETY);
                    assertThat(use.spilledBytes()).isEqualTo(8 * BYTES);
                    assertThat(use.spilledBlocks()).isEqualTo(2);
                }
                Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
                assertThat(use.workspaceBytes()).isZero();
                assertThat(use.spilledBytes()).isZero();
                assertThat(logs.at(ch.qos.logback.classic.Level.WARN)).hasSize(1).allMatch(m -> m.contains("SPILLING"));
            }
            train(null);
        }

        private static void named() {
            Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
            MemFerryConfig config = MemFerryConfig.builder().device("emulated:64MB").place("*", Placement.PREFETCH).build();
            try (MemFerry ferry = MemFerry.attach(net, config)) {
                Nets.train(net, 0, 1);
                assertThat(size("MEMFERRY_HOST")).isEqualTo(ferry.metrics().device().hostBytes());
                assertThat(size("MEMFERRY_DEVICE")).isEqualTo(ferry.metrics().device().slabBytes()).isPositive();
                assertThat(Nd4j.getWorkspaceManager().getAllWorkspacesIdsForCurrentThread()).contains("MEMFERRY_HOST", "MEMFERRY_DEVICE");
                assertThat(Nd4j.getMemoryManager().allocatedMemory(0)).isGreaterThanOrEqualTo(ferry.metrics().device().slabBytes());
                MemoryWorkspace host = workspace("MEMFERRY_HOST");
                assertThatThrownBy(host::notifyScopeEntered).isInstanceOf(RefusedException.class).hasMessageContaining("MEMFERRY_HOST");
                assertThatThrownBy(() -> host.alloc(8, DataType.FLOAT, true)).isInstanceOf(RefusedException.class);
                Nd4j.getWorkspaceManager().printAllocationStatisticsForCurrentThread();
            }
            assertThat(workspace("MEMFERRY_HOST")).as("after close").isNull();
            assertThat(workspace("MEMFERRY_DEVICE")).as("after close").isNull();
        }

        private static MemoryWorkspace workspace(String id) {
            return Nd4j.getWorkspaceManager().getAllWorkspacesForCurrentThread().stream().filter(w -> w.getId().equals(id)).findAny()
                    .orElse(null);
        }

        private static long size(String id) {
            return workspace(id).getCurrentSize();
        }

        private static void training() {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            Model stock = Nets.Kind.LAYERS.create(new Adam(1e-2));
            Nets.train(stock, 0, 4);
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
            // The slab fits, the activations do not.
            long budget = arrays() + (20 << 10);
            MemFerryConfig.Builder config = MemFerryConfig.builder().device("emulated:" + budget).place("*", Placement.PREFETCH);
            Model refused = Nets.Kind.LAYERS.create(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(refused, MemFerryConfig.builder().device("emulated:" + arrays())
                    .place("*", Placement.PREFETCH).build()); INDArray ballast = Nd4j.create(DataType.FLOAT, FLOATS)) {
                assertThatThrownBy(() -> Nets.train(refused, 0, 1)).isInstanceOf(OutOfMemoryException.class).hasMessageContaining("WS_");
            }
            try (MemFerry ferry = MemFerry.attach(net, config.spillToHost(true).build());
                    INDArray ballast = Nd4j.create(DataType.FLOAT, FLOATS)) {
                Nets.train(net, 0, 4);
                Numbers.assertSame(stock, net, "with activations in host memory");
                assertThat(ferry.metrics().use().spilledBlocks()).isPositive();
                assertThat(ferry.planTable()).contains(ferry.metrics().use().spilledBlocks() + " blocks placed in host memory");
            }
        }

        /** Looks from the computation of a layer without parameters whether the gradients above are complete. */
        static final class Probe extends ActivationTanH {

            private static final long serialVersionUID = 1L;
            private static MemFerry ferry;
            private static long seen;

            @Override
            public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
                seen = ferry == null ? -1 : ferry.metrics().device().bytesToHost();
                return super.backprop(in, epsilon);
            }
        }

        private static void signal() {
            MultiLayerNetwork stock = withProbe();
            MultiLayerNetwork net = withProbe();
            MemFerryConfig config = MemFerryConfig.builder().device("emulated:64MB").place("*", Placement.PREFETCH)
                    .placeGradient("*", GradientHome.SLOT).build();
            try (MemFerry ferry = MemFerry.attach(net, config)) {
                for (int i = 0; i < 3; i++) {
                    Probe.ferry = null;
                    Nets.train(stock, i, 1);
                    Probe.ferry = ferry;
                    long before = ferry.metrics().device().bytesToHost();
                    Nets.train(net, i, 1);
                    long above = net.getLayer(2).numParams() + net.getLayer(3).numParams();
                    assertThat((Probe.seen - before) / Float.BYTES).as("gradients on their way below").isEqualTo(above);
                    Numbers.assertSame(stock, net, "step " + i);
                }
                assertThat(ferry.metrics().unplannedReads()).isZero();
            }
        }

        private static MultiLayerNetwork withProbe() {
            return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list().layer(Nets.dense(0))
                    .layer(new ActivationLayer.Builder().activation(new Probe()).build())
                    .layer(new DenseLayer.Builder().nOut(9).build()).layer(Nets.softmax())
                    .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        }

        private static long arrays() {
            return Nd4j.getEnvironment().getDeviceCouner(0);
        }

        private static void train(DeviceUse none) {
            Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            ThreadWorkspaces.ofCurrentThread().train(none, false, LayerScopes.NONE);
        }
    }
}
