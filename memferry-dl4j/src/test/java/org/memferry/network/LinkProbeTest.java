package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Devices;
import org.memferry.device.Direction;
import org.memferry.device.HostBytes;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.nd4j.RegionArrays;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.executioner.OpExecutioner;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.profiler.OpProfiler;
import org.nd4j.linalg.profiler.ProfilerConfig;

/** What a link is measured to carry. Figures are ratios within one measurement, of copies that are long beside what a machine adds to them. */
class LinkProbeTest {

    private static final long COUNT = 1 << 20;
    private static final long BYTES = 4 * COUNT;
    /** Four times as long as in use, for a machine that does much else. */
    private static final long LONG_COPY = 10_000_000;
    private static final int ROUNDS = 7;

    private static LinkProbe probe(Device device, boolean inPlace) {
        try (Region master = device.allocateHost(BYTES, "parameters"); Region slab = device.allocateSlab(BYTES, "slab")) {
            return LinkProbe.measure(device, master, slab, DataType.FLOAT, inPlace, LONG_COPY, ROUNDS);
        }
    }

    /** The emulated link serves reads in place first: a copy loses as much as they take. */
    @Test
    void onTheEmulatedLinkACopyLosesWhatAReadInPlaceTakes() {
        try (Device device = Devices.open("emulated:16MB,h2d=0.1,d2h=0.1")) {
            LinkProbe probe = probe(device, true);
            assertThat(probe.readShare()).isBetween(0.7, 1.3);
            assertThat(probe.writeShare()).isBetween(0.7, 1.3);
        }
    }

    @ParameterizedTest
    @CsvSource({"0.5, 0", "0, 0.5"})
    void whatACopyLosesIsMeasuredForEachDirection(double reads, double writes) {
        LinkRates rates = LinkRates.of(1e8, 1e8).shares(reads, writes);
        try (Device device = EmulatedDevice.builder(16 << 20).linkRates(rates).build()) {
            LinkProbe probe = probe(device, true);
            assertThat(probe.readShare()).isCloseTo(reads, within(0.2));
            assertThat(probe.writeShare()).isCloseTo(writes, within(0.2));
        }
    }

    @Test
    void aPaceOfLayersIsNoneOfAReadsThatBelongsToNoLayer() {
        Profile slow = Profile.builder("slow", List.of(LayerProfile.builder(300_000_000, 300_000_000).build())).build();
        try (Device device = EmulatedDevice.builder(16 << 20).linkRates(LinkRates.of(1e8, 1e8)).pace(slow).build()) {
            LinkProbe probe = probe(device, true);
            assertThat(probe.readShare()).as("a read that lasted longer than the copy would tell nothing, and 1 be said").isBetween(0.7, 1.3)
                    .isNotEqualTo(1);
        }
    }

    @Test
    void aFewBytesTellNothing() {
        try (Device real = Devices.open("emulated:1MB"); Region master = real.allocateHost(4000, "parameters");
                Region slab = real.allocateSlab(4096, "slab")) {
            Watched watched = new Watched(real);
            LinkProbe probe = LinkProbe.measure(watched.device, master, slab, DataType.FLOAT, true);
            assertThat(probe.readShare()).isEqualTo(1);
            assertThat(probe.writeShare()).isEqualTo(1);
            assertThat(watched.visits).as("nothing was tried").isEmpty();
            assertThat(probe.bytesPerSecondToDevice()).isPositive().isFinite();
            Profile any = Profile.builder("", List.of()).link(1, 1).build();
            assertThat(probe.isLinkOf(any)).isTrue();
        }
    }

    @Test
    void memoryThatCannotBeUsedInPlaceIsNot() {
        try (Device real = Devices.open("emulated:16MB,h2d=0.5,d2h=0.5"); Region master = real.allocateHost(BYTES, "parameters");
                Region slab = real.allocateSlab(BYTES, "slab")) {
            Watched watched = new Watched(real);
            LinkProbe probe = LinkProbe.measure(watched.device, master, slab, DataType.FLOAT, false);
            assertThat(probe.readShare()).isEqualTo(1);
            assertThat(watched.visits).isEmpty();
        }
    }

    @Test
    void aSlowLinkIsKnownByItsRateHoweverFewBytesItWasMeasuredWith() {
        try (Device device = Devices.open("emulated:16MB,h2d=0.02,d2h=0.02"); Region master = device.allocateHost(400_000, "parameters");
                Region slab = device.allocateSlab(400_000, "slab")) {
            LinkProbe probe = LinkProbe.measure(device, master, slab, DataType.FLOAT, true);
            double there = probe.bytesPerSecondToDevice();
            double back = probe.bytesPerSecondToHost();
            assertThat(probe.isLinkOf(Profile.builder("", List.of()).link(1.2 * there, back / 1.2).build())).isTrue();
            assertThat(probe.isLinkOf(Profile.builder("", List.of()).link(3 * there, back).build())).isFalse();
            assertThat(probe.isLinkOf(Profile.builder("", List.of()).link(there, back / 3).build())).isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource({"'emulated:16MB,h2d=1,d2h=1'", "'cuda:0,memory=16MB'"})
    void theParametersStayAndNothingIsLeftBehindNorCounted(String specification) {
        startIfCard(specification);
        try (Device device = Devices.open(specification); Region master = device.allocateHost(BYTES, "parameters");
                Region slab = device.allocateSlab(BYTES, "slab")) {
            INDArray parameters = RegionArrays.vector(master, 0, DataType.FLOAT, COUNT, false);
            parameters.assign(Nd4j.rand(DataType.FLOAT, COUNT));
            long before = new HostBytes().hash(master.address(), BYTES);
            DeviceMetrics metrics = device.metrics();
            long hostBytes = metrics.hostBytes();
            LinkProbe.measure(device, master, slab, DataType.FLOAT, true);
            assertThat(new HostBytes().hash(master.address(), BYTES)).as("bits of the parameters").isEqualTo(before);
            assertThat(metrics.openRegions()).isEqualTo(2);
            assertThat(metrics.hostBytes()).isEqualTo(hostBytes);
            assertThat(new long[] {metrics.bytesToDevice(), metrics.bytesToHost(), metrics.copies(), metrics.directBytes(), metrics.waitNanos(),
                metrics.copyNanos(Direction.TO_DEVICE), metrics.copyNanos(Direction.TO_HOST)}).as("traffic of the network").containsOnly(0);
        }
        endIfCard(specification);
    }

    /** On a card there is no model of what is used in place: it must be used. */
    @Test
    void whereNothingIsModelledNd4jReadsTheParametersBesideACopy() {
        FakeCuda.start();
        FakeCuda.rates(2e8, 2e8);
        try (Device real = Devices.open("cuda:0,memory=16MB"); Region master = real.allocateHost(BYTES, "parameters");
                Region slab = real.allocateSlab(BYTES, "slab")) {
            Watched watched = new Watched(real);
            LinkProbe probe = LinkProbe.measure(watched.device, master, slab, DataType.FLOAT, true, LONG_COPY, ROUNDS);
            assertThat(probe.readShare()).isBetween(0.0, 2.0);
            assertThat(probe.writeShare()).isBetween(0.0, 2.0);
            assertThat(watched.visits).as("three alone and seven beside a copy, each way").hasSize(2 * (3 + ROUNDS));
            assertThat(watched.visits.subList(3, 3 + ROUNDS)).allMatch(visit -> visit.layer == Device.NO_LAYER && visit.written == 0)
                    .allMatch(visit -> visit.read > 0 && 2 * visit.read <= watched.lastCopy[0]).allMatch(visit -> visit.besideCopy);
            assertThat(watched.visits.subList(6 + ROUNDS, 6 + 2 * ROUNDS)).allMatch(visit -> visit.layer == Device.NO_LAYER && visit.read == 0)
                    .allMatch(visit -> visit.written > 0 && 2 * visit.written <= watched.lastCopy[1]).allMatch(visit -> visit.besideCopy);
            OpExecutioner executioner = Nd4j.getExecutioner();
            executioner.setProfilingConfig(ProfilerConfig.builder().checkElapsedTime(true).build());
            OpProfiler.getInstance().reset();
            watched.visits.clear();
            try {
                LinkProbe.measure(watched.device, master, slab, DataType.FLOAT, true);
                assertThat(watched.visits).isNotEmpty();
                assertThat(OpProfiler.getInstance().getInvocationsCount()).as("operations of ND4J").isEqualTo(watched.visits.size());
            } finally {
                executioner.setProfilingConfig(ProfilerConfig.builder().build());
            }
        }
        endIfCard("cuda");
    }

    private static void startIfCard(String specification) {
        if (specification.startsWith("cuda")) {
            FakeCuda.start();
            FakeCuda.rates(1e9, 1e9);
        }
    }

    private static void endIfCard(String specification) {
        if (specification.startsWith("cuda")) {
            FakeCuda.assertNothingWrong();
            FakeCuda.assertNothingHeld();
        }
    }

    /** A device that is used as it is, and what it is told. */
    private static final class Watched {

        private final List<Visit> visits = new ArrayList<>();
        private final long[] lastCopy = new long[2];
        private boolean submitted;
        private final Device device;

        Watched(Device real) {
            device = (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class}, (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "copyToDevice":
                    case "copyToHost":
                        lastCopy[method.getName().equals("copyToDevice") ? 0 : 1] = (long) arguments[4];
                        submitted = true;
                        break;
                    case "hostWaits":
                        submitted = false;
                        break;
                    case "visitStarted":
                        visits.add(new Visit((int) arguments[0], (long) arguments[2], (long) arguments[3], submitted));
                        break;
                    default:
                }
                try {
                    return method.invoke(real, arguments);
                } catch (InvocationTargetException e) {
                    throw e.getCause();
                }
            });
        }
    }

    private static final class Visit {

        private final int layer;
        private final long read;
        private final long written;
        private final boolean besideCopy;

        private Visit(int layer, long read, long written, boolean besideCopy) {
            this.layer = layer;
            this.read = read;
            this.written = written;
            this.besideCopy = besideCopy;
        }
    }
}
