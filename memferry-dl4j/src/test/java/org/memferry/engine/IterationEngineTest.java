package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.device.Device;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.engine.OrderCheckingDevice.Fault;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/** The engine serves the present parameters to every read and brings every gradient home, whatever the plan and the order of events. */
class IterationEngineTest {

    private static final long BUDGET = 64 << 20;

    private static Device virtual() {
        return new VirtualDevice(BUDGET, LinkRates.of(1e9, 1e9), (layer, backward) -> 1000);
    }

    private static Device emulated(long seed, long maxMicros) {
        return EmulatedDevice.builder(BUDGET).poison().randomDelays(seed, maxMicros).build();
    }

    private static void train(Plan plan, Device inner, Fault fault, boolean realMemory, int iterations, long seed) {
        OrderCheckingDevice device = new OrderCheckingDevice(inner, fault);
        try (device; TrainingDouble training = new TrainingDouble(plan, device, realMemory, seed)) {
            training.run(iterations);
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + "\n" + Scenario.describe(Program.compile(plan)) + e.getMessage(), e);
        }
        assertThat(inner.metrics().openRegions()).as("regions left open").isZero();
        assertThat(inner.metrics().leakedRegions()).as("regions closed by the device").isZero();
    }

    // -------------------------------------------------------------------------------------------------------------- properties

    @Property(tries = 1500, shrinking = ShrinkingMode.OFF)
    @Label("on a virtual device every read is ordered behind its copy and every copy behind the last read of its slot")
    void order_is_enforced_by_tickets_alone(@ForAll long seed) {
        train(Scenario.random(seed), virtual(), Fault.NONE, false, 8, seed);
    }

    @Property(tries = 100, shrinking = ShrinkingMode.OFF)
    @Label("on a device with late copies and poisoned slots every read shows the present master and every gradient arrives bit for bit")
    void every_read_shows_the_present_master(@ForAll long seed) {
        train(Scenario.random(seed), emulated(seed, 120), Fault.NONE, true, 5, seed);
    }

    // ------------------------------------------------------------------------------------------------- the checks themselves

    @ParameterizedTest
    @EnumSource(names = {"NONE", "STEP_WAITS"}, mode = EnumSource.Mode.EXCLUDE)
    void the_check_notices_when_a_kind_of_wait_is_left_out(Fault fault) {
        Plan plan = Scenario.chain(6, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        assertThatThrownBy(() -> train(plan, virtual(), fault, false, 20, 1)).isInstanceOf(AssertionError.class)
                .hasMessageContaining("known to be done");
    }

    @Test
    void the_bytes_show_it_when_the_computation_does_not_wait() {
        int stale = 0;
        for (int seed = 0; seed < 20; seed++) {
            stale += firstByteRead(seed, Fault.COMPUTE_WAITS) == 7 ? 0 : 1;
            assertThat(firstByteRead(seed, Fault.NONE)).as("with all waits in place").isEqualTo((byte) 7);
        }
        assertThat(stale).as("reads of a slot whose copy was late").isPositive();
    }

    private static byte firstByteRead(long seed, Fault fault) {
        Plan plan = Scenario.chain(2, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        Program program = Program.compile(plan);
        OrderCheckingDevice device = new OrderCheckingDevice(emulated(seed, 5_000), fault);
        device.serve(program);
        try (device;
                Region master = device.allocateHost(plan.network().parameterBytes(), "parameters");
                Region gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
                Region slab = device.allocateSlab(plan.slabBytes(), "slots")) {
            RegionBytes.fill(master, 7);
            IterationEngine engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> { });
            engine.openTraining();
            int slot = engine.read(0);
            return RegionBytes.of(slab).get((int) program.slotOffset(slot));
        }
    }

    // ---------------------------------------------------------------------------------------------------------- single sentences

    /** Nothing that DL4J does leads here: an iteration is closed in the middle of an inference pass. */
    @Test
    void a_copy_into_a_leased_slot_is_an_error_and_not_a_race() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(5, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openInference();
            rig.engine.read(0);
            rig.engine.masterWritten();
            assertThatThrownBy(rig.engine::closeTraining).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("slot 0 is still leased (1) by layer layer0").hasMessageContaining("cannot take layer layer0");
            rig.engine.abort();
        }
    }

    @Test
    void each_layer_is_copied_once_per_pass_except_those_that_backward_finds_in_their_slots() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(5, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.iteration();
            // 8 in the iteration, and the first two of the next one.
            assertThat(rig.engine.metrics().parameterCopies()).isEqualTo(10);
            rig.iteration();
            assertThat(rig.engine.metrics().parameterCopies()).isEqualTo(18);
            assertThat(rig.engine.metrics().repeatedCopies()).isZero();
            assertThat(rig.engine.metrics().iterations()).isEqualTo(2);
            assertThat(rig.device.metrics().bytesToHost()).as("two gradients of five layers").isEqualTo(2 * 5 * 400);
        }
    }

    @Test
    void a_resident_layer_is_copied_once_per_update_and_not_for_inference() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(4, 100, Placement.RESIDENT, GradientHome.DIRECT, 2)), virtual())) {
            rig.iteration();
            assertThat(rig.engine.metrics().parameterCopies()).as("4 before, 4 refreshed after the update").isEqualTo(8);
            rig.inference();
            rig.inference();
            assertThat(rig.engine.metrics().parameterCopies()).isEqualTo(8);
            rig.engine.masterWritten(2);
            rig.inference();
            assertThat(rig.engine.metrics().parameterCopies()).as("only the layer that was written").isEqualTo(9);
        }
    }

    /** An evaluation in the middle of the iterations that are measured is none of them. */
    @Test
    void visits_of_training_are_measured_and_those_of_inference_are_not() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            List<String> visits = new ArrayList<>();
            rig.engine.measure((layer, backward, computed, lasted) -> visits.add((backward ? "backward " : "forward ") + layer));
            rig.inference();
            rig.iteration();
            rig.inference();
            rig.inference();
            assertThat(visits).containsExactly("forward 0", "forward 1", "forward 2", "backward 2", "backward 1", "backward 0");
        }
    }

    @Test
    void a_plan_in_place_copies_nothing() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(4, 100, Placement.DIRECT, GradientHome.DIRECT, 2)), virtual())) {
            rig.iteration();
            rig.inference();
            assertThat(rig.device.metrics().copies()).isZero();
            assertThat(rig.device.metrics().tickets()).as("one per gradient").isEqualTo(4);
            assertThat(rig.reads).containsOnly(Program.MASTER);
        }
    }

    @Test
    void a_layer_entered_again_and_again_is_one_visit() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openTraining();
            int slot = rig.engine.read(1);
            assertThat(rig.engine.read(1)).isEqualTo(slot);
            assertThat(rig.left).isEmpty();
            rig.engine.read(2);
            assertThat(rig.left).containsExactly(1);
        }
    }

    @Test
    void the_copy_to_a_slot_starts_when_its_layer_is_computed_and_not_when_the_next_is_read() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 1)), virtual())) {
            for (boolean training : new boolean[] {true, false}) {
                rig.left.clear();
                if (training) {
                    rig.engine.openTraining();
                } else {
                    rig.engine.openInference();
                }
                rig.engine.read(0);
                long before = rig.engine.metrics().parameterCopies();
                rig.engine.computed();
                assertThat(rig.left).containsExactly(0);
                assertThat(rig.engine.metrics().parameterCopies()).as("copies behind it").isEqualTo(before + 1);
                rig.engine.computed();
                rig.engine.read(1);
                assertThat(rig.engine.metrics().parameterCopies()).as("told twice, and then read").isEqualTo(before + 1);
                rig.engine.abort();
                rig.engine.computed();
            }
            assertThat(rig.engine.metrics().repeatedCopies()).isZero();
        }
    }

    @Test
    void a_slot_that_backward_reads_again_stays_as_it_is_when_forward_is_done_with_it() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(2, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openTraining();
            rig.engine.read(0);
            rig.engine.computed();
            rig.engine.read(1);
            rig.engine.computed();
            rig.engine.forwardEnded();
            rig.engine.read(1);
            rig.engine.read(0);
            assertThat(rig.engine.metrics().parameterCopies()).isEqualTo(2);
        }
    }

    @Test
    void a_read_behind_the_end_of_a_layer_is_served_and_the_slot_copied_again_for_the_next() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 1)), virtual())) {
            rig.engine.openTraining();
            int slot = rig.engine.read(0);
            rig.engine.computed();
            assertThat(rig.engine.read(0)).as("the same visit").isEqualTo(slot);
            assertThat(rig.engine.metrics().repeatedCopies()).isEqualTo(1);
            assertThat(rig.engine.isIn(0)).isTrue();
            rig.engine.read(1);
            assertThat(rig.left).containsExactly(0, 0);
            assertThat(rig.engine.metrics().repeatedCopies()).isEqualTo(2);
            assertThat(rig.engine.metrics().unplannedReads()).isZero();
            assertThat(rig.engine.metrics().abortedPasses()).isZero();
        }
    }

    @Test
    void a_read_behind_the_end_of_a_layer_in_backward_is_served_from_the_master_and_its_gradient_taken_once() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openTraining();
            rig.engine.read(2);
            rig.engine.forwardEnded();
            rig.engine.read(2);
            rig.engine.computed();
            assertThat(rig.engine.read(2)).isEqualTo(Program.MASTER);
            assertThat(rig.engine.metrics().unplannedReads()).isEqualTo(1);
            rig.engine.read(1);
            assertThat(rig.device.metrics().bytesToHost()).as("one gradient").isEqualTo(400);
        }
    }

    /** Layers without parameters have no time of their own in a profile. The virtual device takes 1000 ns for what is before and behind alike. */
    @Test
    void what_is_computed_behind_the_end_of_a_layer_counts_as_its_time() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 1)), virtual())) {
            List<String> visits = new ArrayList<>();
            rig.engine.measure((layer, backward, computed, lasted) -> visits.add(layer + (backward ? " backward " : " forward ") + computed));
            rig.computed = 1;
            rig.iteration();
            assertThat(visits).containsExactly("0 forward 1000", "1 forward 2000", "2 forward 1000", "2 backward 1000", "1 backward 2000",
                    "0 backward 1000");
            assertThat(rig.engine.metrics().computeNanos()).isEqualTo(8000);
        }
    }

    @Test
    void a_pass_that_begins_anew_without_a_word_is_served_from_its_start() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.inference();
            List<Integer> first = new ArrayList<>(rig.reads);
            rig.reads.clear();
            for (int layer = 0; layer < 3; layer++) {
                rig.reads.add(rig.engine.read(layer));
            }
            assertThat(rig.reads).isEqualTo(first);
            assertThat(rig.engine.phase()).isEqualTo(Phase.INFERENCE);
        }
    }

    @Test
    void a_read_in_an_order_that_backward_does_not_know_is_served_from_the_master_and_counted() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openTraining();
            rig.engine.read(2);
            rig.engine.forwardEnded();
            rig.engine.read(1);
            assertThat(rig.engine.read(2)).isEqualTo(Program.MASTER);
            assertThat(rig.engine.metrics().unplannedReads()).isEqualTo(1);
        }
    }

    @Test
    void an_iteration_that_never_ended_is_counted_and_the_next_one_starts_clean() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            rig.engine.openTraining();
            rig.engine.read(0);
            rig.iteration();
            assertThat(rig.engine.metrics().abortedPasses()).isEqualTo(1);
            assertThat(rig.engine.metrics().iterations()).isEqualTo(1);
            assertThat(rig.engine.phase()).isEqualTo(Phase.IDLE);
        }
    }

    @Test
    void a_read_outside_of_a_pass_is_refused() {
        try (Rig rig = new Rig(Program.compile(Scenario.chain(3, 100, Placement.PREFETCH, GradientHome.SLOT, 2)), virtual())) {
            assertThatThrownBy(() -> rig.engine.read(1)).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("layer1").hasMessageContaining("expected: openTraining or openInference");
            rig.iteration();
            assertThatThrownBy(() -> rig.engine.read(1)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void a_layer_that_constraints_write_after_the_update_is_not_copied_early() {
        Plan plan = Scenario.chain(3, 100, Placement.RESIDENT, GradientHome.DIRECT, 2);
        List<LayerDescription> layers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            layers.add(LayerDescription.builder("layer" + i, "Chain").parameters(i * 100, 100).writtenAfterUpdate(i == 1)
                    .build());
        }
        int[] order = {0, 1, 2};
        Plan constrained = Scenario.plan(new NetworkDescription(layers, order, new int[] {2, 1, 0}, order, 300, 0, 4),
                plan.layers(), 2, 2);
        try (Rig rig = new Rig(Program.compile(constrained), virtual())) {
            rig.iteration();
            assertThat(rig.engine.metrics().parameterCopies()).as("3 before and 2 after the update").isEqualTo(5);
        }
    }

    /** An engine on a device, driven in order and without disorder. */
    private static final class Rig implements AutoCloseable {

        private final Program program;
        private final Device device;
        private final List<Region> regions = new ArrayList<>();
        private final IterationEngine engine;
        private final List<Integer> reads = new ArrayList<>();
        private final List<Integer> left = new ArrayList<>();
        /** The layer whose end is told. */
        private int computed = -1;

        private Rig(Program program, Device device) {
            this.program = program;
            this.device = device;
            Plan plan = program.plan();
            Region master = device.allocateHost(plan.network().parameterBytes(), "parameters");
            Region gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
            Region slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
            regions.addAll(slab == null ? List.of(gradients, master) : List.of(slab, gradients, master));
            engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> left.add(layer));
        }

        private void iteration() {
            engine.openTraining();
            for (int layer : program.plan().network().forwardOrder()) {
                visit(layer);
            }
            engine.forwardEnded();
            for (int layer : program.plan().network().backwardOrder()) {
                visit(layer);
            }
            engine.awaitGradients();
            for (int layer = 0; layer < program.plan().layers().size(); layer++) {
                engine.masterWritten(layer);
            }
            engine.closeTraining();
        }

        private void visit(int layer) {
            reads.add(engine.read(layer));
            if (layer == computed) {
                engine.computed();
            }
        }

        private void inference() {
            engine.openInference();
            for (int layer : program.plan().network().inferenceOrder()) {
                reads.add(engine.read(layer));
            }
        }

        @Override
        public void close() {
            engine.close();
            regions.forEach(Region::close);
            device.close();
        }
    }
}
