package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.OrderCheckingDevice.Fault;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/** Steps taken on the update worker while backward goes on keep the order of everything else, whatever the plan and however long they take. */
class EagerStepsTest {

    @Property(tries = 1500, shrinking = ShrinkingMode.OFF)
    @Label("on a virtual device steps beside backward read gradients that have arrived, and their copies never run over a slot in use")
    void steps_beside_backward_keep_the_order(@ForAll long seed) {
        train(Scenario.random(seed), Fault.NONE, seed);
    }

    @Test
    void the_check_notices_a_step_that_does_not_wait_for_its_gradient() {
        Plan plan = Scenario.chain(6, 100, Placement.PREFETCH, GradientHome.SLOT, 2);
        assertThatThrownBy(() -> train(plan, Fault.STEP_WAITS, 1)).isInstanceOf(AssertionError.class)
                .hasMessageContaining("known to be done").hasMessageContaining("step of layer");
    }

    @Test
    void a_step_beside_backward_lets_the_copy_of_a_resident_layer_start_before_the_iteration_ends() {
        Plan plan = Scenario.chain(6, 100, Placement.RESIDENT, GradientHome.SLOT, 2);
        try (Training training = new Training(plan, Fault.NONE, 1)) {
            training.iteration();
            assertThat(training.copiesDuringBackward).as("layers whose step was not put off").isPositive();
            assertThat(training.engine.metrics().parameterCopies()).as("6 at first, 6 refreshed").isEqualTo(12);
        }
    }

    private static void train(Plan plan, Fault fault, long seed) {
        try (Training training = new Training(plan, fault, seed)) {
            for (int i = 0; i < 6; i++) {
                training.iteration();
            }
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("seed " + seed + "\n" + Scenario.describe(Program.compile(plan)) + e.getMessage(), e);
        }
    }

    /**
     * Trains in the order of the network, with layers left out at random, some told to be computed before the next is read, and steps of
     * random length, some of them after backward.
     */
    private static final class Training implements AutoCloseable {

        private final Plan plan;
        private final Program program;
        private final Random random;
        private final Random ends;
        private final VirtualDevice clock;
        private final OrderCheckingDevice device;
        private final Region master;
        private final Region gradients;
        private final Region slab;
        private final IterationEngine engine;
        private final boolean[] deferred;
        /** Of all kinds; a plan of resident layers has none of its own. */
        private long copiesDuringBackward;

        private Training(Plan plan, Fault fault, long seed) {
            this.plan = plan;
            program = Program.compile(plan);
            random = new Random(seed);
            ends = new Random(~seed);
            clock = new VirtualDevice(64 << 20, LinkRates.of(1e9, 5e8), (layer, backward) -> 100L * (layer % 7) + (backward ? 300 : 0));
            device = new OrderCheckingDevice(clock, fault);
            device.serve(program);
            master = device.allocateHost(plan.network().parameterBytes(), "parameters");
            gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
            slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
            engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> { }, this::coming);
            deferred = new boolean[plan.layers().size()];
        }

        private boolean coming(int layer, Ticket arrived) {
            deferred[layer] = random.nextInt(4) == 0;
            if (!deferred[layer]) {
                clock.update(layer, random.nextInt(3000), device.ticketOfStep(arrived), l -> device.onWorker(l, arrived, () -> {
                    device.masterChanged(l);
                    engine.updated(l);
                }));
            }
            return !deferred[layer];
        }

        private void iteration() {
            engine.openTraining();
            for (int layer : plan.network().forwardOrder()) {
                read(layer);
                if (ends.nextInt(3) == 0) {
                    engine.computed();
                }
            }
            engine.forwardEnded();
            long copies = engine.metrics().parameterCopies();
            for (int layer : plan.network().backwardOrder()) {
                if (read(layer) && program.gradientSlot(layer) != Program.NONE) {
                    device.writesGradient(layer, program.gradientSlot(layer));
                }
                if (ends.nextInt(3) == 0) {
                    engine.computed();
                }
            }
            engine.awaitGradients();
            device.readsGradients();
            clock.awaitUpdates();
            device.awaitsWorker();
            copiesDuringBackward += engine.metrics().parameterCopies() - copies;
            for (int layer = 0; layer < deferred.length; layer++) {
                if (engine.gradientTaken(layer)) {
                    if (deferred[layer]) {
                        device.masterChanged(layer);
                    }
                    engine.stepTaken(layer);
                }
            }
            engine.closeTraining();
        }

        private boolean read(int layer) {
            if (random.nextInt(15) == 0) {
                return false;
            }
            for (int i = 1 + random.nextInt(2); i > 0; i--) {
                device.reads(layer, engine.read(layer));
            }
            return true;
        }

        @Override
        public void close() {
            engine.close();
            if (slab != null) {
                slab.close();
            }
            gradients.close();
            master.close();
            device.close();
        }
    }
}
