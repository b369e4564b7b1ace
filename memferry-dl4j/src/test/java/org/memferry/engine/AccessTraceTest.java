package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.OrderCheckingDevice.Fault;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/** A trace recorded on one device drives an engine on any other through the same reads and slots. */
class AccessTraceTest {

    private static final long BUDGET = 64 << 20;

    private static Device emulated(long seed) {
        return EmulatedDevice.builder(BUDGET).poison().randomDelays(seed, 100).build();
    }

    private static Device virtual() {
        return new VirtualDevice(BUDGET, LinkRates.of(1e9, 1e9), (layer, backward) -> 1000);
    }

    /** Trains with all disorder of {@link TrainingDouble} while recording. */
    private static AccessTrace record(Plan plan, long seed, Reads reads) {
        AccessTrace trace = new AccessTrace(plan.layers().size());
        OrderCheckingDevice device = new OrderCheckingDevice(emulated(seed), Fault.NONE);
        try (device; TrainingDouble training = new TrainingDouble(plan, device, true, seed)) {
            training.engine().record(trace);
            training.run(4);
            training.engine().record(AccessTrace.OFF);
            reads.withSlot = training.slotReads();
        }
        return trace;
    }

    private static int[] replay(AccessTrace trace, Plan plan, Device device) {
        try (device;
                Region master = device.allocateHost(plan.network().parameterBytes(), "parameters");
                Region gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
                Region slab = plan.slabBytes() == 0 ? null : device.allocateSlab(plan.slabBytes(), "slots");
                IterationEngine engine = new IterationEngine(Program.compile(plan), device, master, gradients, slab,
                        (layer, slot) -> { })) {
            return trace.replay(engine);
        }
    }

    @Property(tries = 60, shrinking = ShrinkingMode.OFF)
    @Label("what was recorded on the emulated device is served from the same slots on the virtual and on the emulated one")
    void a_replay_is_served_from_the_same_slots_on_every_device(@ForAll long seed) {
        Plan plan = Scenario.random(seed);
        Reads reads = new Reads();
        AccessTrace trace = record(plan, seed, reads);
        int[] virtual = replay(trace, plan, virtual());
        int[] emulated = replay(trace, plan, emulated(seed + 1));
        assertThat(virtual).as("seed %d", seed).isEqualTo(emulated);
        long withSlot = Arrays.stream(virtual).filter(slot -> slot >= 0).count();
        assertThat(withSlot).as("reads served from a slot, seed %d", seed).isEqualTo(reads.withSlot);
        AccessTrace copy = AccessTrace.parse(trace.toString());
        assertThat(copy.toString()).isEqualTo(trace.toString());
        assertThat(copy.reads()).isEqualTo(trace.reads());
        assertThat(replay(copy, plan, virtual())).isEqualTo(virtual);
    }

    @Test
    void the_slots_recorded_are_the_slots_replayed() {
        Plan plan = Scenario.chain(4, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 4\nT 0 1 2 3*2 F 3 2 1 0 B G w0 w1 w2 w3 C\nI 0 1\n");
        assertThat(replay(trace, plan, virtual())).containsExactly(0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1);
    }

    @Test
    void a_trace_reads_as_the_run_went() {
        Plan plan = Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        String text = "memferry-trace 1 layers 3\nT 0*2 1 2 F 2 1*3 0 B G w0 w2 C\nI 0 1 W 2 X\nT 0 X\n";
        Device device = virtual();
        try (device;
                Region master = device.allocateHost(plan.network().parameterBytes(), "parameters");
                Region gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
                Region slab = device.allocateSlab(plan.slabBytes(), "slots");
                IterationEngine engine = new IterationEngine(Program.compile(plan), device, master, gradients, slab,
                        (layer, slot) -> { })) {
            engine.masterWritten(1);
            AccessTrace again = new AccessTrace(3);
            engine.record(again);
            engine.masterWritten(2);
            AccessTrace.parse(text).replay(engine);
            assertThat(again.toString()).as("events before the first pass are left out").isEqualTo(text);
            assertThat(again.reads()).isEqualTo(13);
        }
    }

    @Test
    void a_trace_runs_under_another_plan_of_the_same_network_and_the_clock_tells_them_apart() {
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 4\nT 0 1 2 3 F 3 2 1 0 B G w0 w1 w2 w3 C\n");
        Plan prefetch = Scenario.chain(4, 100_000, Placement.PREFETCH, GradientHome.SLOT, 2);
        Plan direct = Scenario.chain(4, 100_000, Placement.DIRECT, GradientHome.DIRECT, 2);
        VirtualDevice copying = (VirtualDevice) virtual();
        VirtualDevice reading = (VirtualDevice) virtual();
        replay(trace, prefetch, copying);
        replay(trace, direct, reading);
        assertThat(copying.nowNanos()).as("simulated time: copies once per pass, reads in place twice in backward")
                .isLessThan(reading.nowNanos());
    }

    @Test
    void a_trace_of_another_network_is_refused_before_anything_is_driven() {
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 7\nT 0\n");
        assertThatThrownBy(() -> replay(trace, Scenario.chain(4, 100, Placement.DIRECT, GradientHome.DIRECT, 2), virtual()))
                .isInstanceOf(RefusedException.class).hasMessageContaining("7 layers").hasMessageContaining("one with 4")
                .hasMessageContaining("expected: the network that was recorded");
    }

    @ParameterizedTest
    @CsvSource({"'memferry-trace 1 layers x',x", "'memferry-trace 2 layers 3',memferry-trace 2", "'',''",
        "'memferry-trace 1 layers 3\nT 3',3", "'memferry-trace 1 layers 3\nT 1*',1*", "'memferry-trace 1 layers 3\nT y',y",
        "'memferry-trace 1 layers 3\nT w',w", "'memferry-trace 1 layers 3\nT F1',F1", "'memferry-trace 1 layers 3\n0 T',0",
        "'memferry-trace 1 layers 3\nT s1',s1", "'memferry-trace 1 layers 3\nT w1*2',w1*2", "'memferry-trace 1 layers 3\nT 1@2',1@2",
        "'memferry-trace 1 layers 3\nT -1',-1"})
    void text_that_is_no_trace_is_refused_with_the_line_and_the_token(String text, String token) {
        assertThatThrownBy(() -> AccessTrace.parse(text)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("access trace, line ").hasMessageContaining(token).hasMessageContaining("(expected: ");
    }

    private static final class Reads {
        private long withSlot;
    }
}
