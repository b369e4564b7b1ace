package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Arrays;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import net.jqwik.api.lifecycle.BeforeTry;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.cuda.ComputeStream;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.device.cuda.NeedsFakeCuda;
import org.memferry.device.cuda.KernelStream;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/**
 * The engine on a card, that is on the CUDA runtime for tests: every read shows the present parameters, and what is read and written where is
 * ordered by events. Where a wait is left out on purpose the check of the order says so, whatever the pace of the copies.
 */
@AddLifecycleHook(NeedsFakeCuda.class)
class CudaEngineTest {

    private static final long MEMORY = 64 << 20;

    /** What is left out of a device. */
    enum LeftOut {
        /** Nothing. */
        NOTHING,
        /** The compute stream never waits. */
        COMPUTE_WAITS,
        /** The host never waits. */
        HOST_WAITS,
        /** Copies start whatever they are to wait for. */
        COPY_WAITS,
        /** Tickets are never recorded on the compute stream. */
        COMPUTE_RECORDS
    }

    /** Announces the computation of the host. */
    private static final TrainingDouble.Accesses ANNOUNCED = new TrainingDouble.Accesses() {
        @Override
        public void reads(long address, long bytes) {
            FakeCuda.hostReads(address, bytes);
        }

        @Override
        public void writes(long address, long bytes) {
            FakeCuda.hostWrites(address, bytes);
        }
    };

    @BeforeTry
    void startRuntime() {
        FakeCuda.start();
    }

    @Property(tries = 100, shrinking = ShrinkingMode.OFF)
    @Label("on a card with late copies and poisoned slots every read shows the present master and every gradient arrives bit for bit")
    void every_read_shows_the_present_master(@ForAll long seed) {
        Plan plan = Scenario.random(seed);
        FakeCuda.delays(seed, 120);
        OrderCheckingDevice device = new OrderCheckingDevice(CudaDevice.builder(0).memory(MEMORY).poison().build(), OrderCheckingDevice.Fault.NONE);
        try (device; TrainingDouble training = new TrainingDouble(plan, device, true, seed).tell(ANNOUNCED)) {
            training.run(5);
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + "\n" + Scenario.describe(Program.compile(plan)) + e.getMessage(), e);
        }
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    // ------------------------------------------------------------------------------------------------- the check itself

    /** Where the host computes, the order in which it submits does most: only what it must not overtake itself needs a wait. */
    @ParameterizedTest
    @CsvSource({"NOTHING,true", "COMPUTE_WAITS,false", "HOST_WAITS,false"})
    void a_wait_left_out_is_found_where_the_host_computes(LeftOut what, boolean ordered) {
        FakeCuda.start();
        try (Computing computing = new HostComputing()) {
            iterations(what, computing, ComputeStream.HOST);
        }
        assertOrdered(what, ordered);
    }

    @ParameterizedTest
    @CsvSource({"NOTHING,true", "COMPUTE_WAITS,false", "HOST_WAITS,false", "COPY_WAITS,false", "COMPUTE_RECORDS,false"})
    void a_wait_left_out_is_found_where_a_stream_computes(LeftOut what, boolean ordered) {
        FakeCuda.start();
        try (StreamComputing computing = new StreamComputing()) {
            iterations(what, computing, computing.kernels);
        }
        assertOrdered(what, ordered);
    }

    private static void assertOrdered(LeftOut what, boolean ordered) {
        String reports = FakeCuda.takeReports();
        if (ordered) {
            assertThat(reports).isEmpty();
        } else {
            assertThat(reports).as("without %s", what).contains("is not ordered behind");
        }
        FakeCuda.assertNothingHeld();
    }

    /** Three iterations of a chain of six layers in two slots. */
    private static void iterations(LeftOut what, Computing computing, ComputeStream stream) {
        Plan plan = Scenario.chain(6, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        Program program = Program.compile(plan);
        try (CudaDevice card = CudaDevice.builder(0).memory(MEMORY).compute(stream).poison().build();
                Region master = card.allocateHost(plan.network().parameterBytes(), "parameters");
                Region gradients = card.allocateHost(plan.network().parameterBytes(), "gradients");
                Region slab = card.allocateSlab(plan.slabBytes(), "slots");
                IterationEngine engine = new IterationEngine(program, without(what, card), master, gradients, slab, (layer, slot) -> { })) {
            computing.over(program, slab, gradients);
            for (int i = 0; i < 3; i++) {
                iteration(plan, engine, computing);
            }
        }
    }

    private static void iteration(Plan plan, IterationEngine engine, Computing computing) {
        engine.openTraining();
        for (int layer : plan.network().forwardOrder()) {
            computing.reads(engine.read(layer));
        }
        engine.forwardEnded();
        for (int layer : plan.network().backwardOrder()) {
            computing.reads(engine.read(layer));
            computing.writesGradient(layer);
        }
        engine.awaitGradients();
        computing.gradientsAreRead();
        for (int layer : plan.network().backwardOrder()) {
            engine.stepTaken(layer);
        }
        engine.closeTraining();
    }

    private static Device without(LeftOut what, CudaDevice card) {
        return (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class}, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "computeWaits":
                    if (what == LeftOut.COMPUTE_WAITS) {
                        return null;
                    }
                    break;
                case "hostWaits":
                    if (what == LeftOut.HOST_WAITS) {
                        return null;
                    }
                    break;
                case "recordCompute":
                    if (what == LeftOut.COMPUTE_RECORDS) {
                        return null;
                    }
                    break;
                case "copyToDevice":
                case "copyToHost":
                    if (what == LeftOut.COPY_WAITS) {
                        arguments[5] = new Ticket[0];
                    }
                    break;
                default:
                    break;
            }
            try {
                return method.invoke(card, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    /** What the computation reads and writes. */
    private abstract static class Computing implements AutoCloseable {

        Program program;
        Region slab;
        Region gradients;

        void over(Program compiled, Region slots, Region home) {
            program = compiled;
            slab = slots;
            gradients = home;
        }

        long addressOf(int slot) {
            return slab.address() + program.slotOffset(slot);
        }

        void gradientsAreRead() {
            FakeCuda.hostReads(gradients.address(), gradients.bytes());
        }

        abstract void reads(int slot);

        abstract void writesGradient(int layer);

        @Override
        public void close() {
            // Nothing to give back where the host computes.
        }
    }

    private static final class HostComputing extends Computing {

        @Override
        void reads(int slot) {
            FakeCuda.hostReads(addressOf(slot), program.slotBytes(slot));
        }

        @Override
        void writesGradient(int layer) {
            FakeCuda.hostWrites(addressOf(program.gradientSlot(layer)), program.slotBytes(program.gradientSlot(layer)));
        }
    }

    private static final class StreamComputing extends Computing {

        final KernelStream kernels = new KernelStream();
        private CudaDevice activations;
        private Region activation;

        @Override
        void over(Program compiled, Region slots, Region home) {
            super.over(compiled, slots, home);
            activations = CudaDevice.builder(0).memory(MEMORY).compute(kernels).build();
            activation = activations.allocateSlab(Arrays.stream(new int[] {0, 1, 2, 3}).mapToLong(compiled::slotBytes).max().orElseThrow(), "activation");
        }

        @Override
        void reads(int slot) {
            kernels.kernel(addressOf(slot), activation.address(), program.slotBytes(slot));
        }

        @Override
        void writesGradient(int layer) {
            kernels.kernel(activation.address(), addressOf(program.gradientSlot(layer)), program.slotBytes(program.gradientSlot(layer)));
        }

        @Override
        public void close() {
            activation.close();
            activations.close();
            kernels.close();
        }
    }
}
