package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.memferry.engine.AccessTrace;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Span;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/**
 * What the engine does on the clock. The single examples are worked out by hand for three layers of 1,000 bytes that take 1,000 ns on
 * the link either way, 500 ns in forward, 800 ns in backward and 600 ns for the step, with 100 ns between iterations.
 */
class SimulatorTest {

    private static final Budget BUDGET = new Budget(1L << 30, 7000, true, 0, true);

    private static NetworkDescription network(int readAfterBackward) {
        List<LayerDescription> layers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            layers.add(LayerDescription.builder("layer" + i, "Dense").parameters(250L * i, 250).readAfterBackward(i == readAfterBackward)
                    .touches(1, 1).build());
        }
        return RandomNetworks.network(layers);
    }

    private static Plan plan(NetworkDescription network, Placement placement, GradientHome home, UpdateTiming timing) {
        List<LayerPlan> decisions = Collections.nCopies(3, new LayerPlan(placement, placement, home, "all alike"));
        return Plan.builder(network, decisions, BUDGET).parameterSlots(1000, 1000).gradientSlots(1000, 1000).updateTiming(timing).build();
    }

    private static Plan resident(UpdateTiming timing) {
        return plan(network(-1), Placement.RESIDENT, GradientHome.SLOT, timing);
    }

    private static Profile.Builder profile() {
        LayerProfile layer = LayerProfile.builder(500, 800).direct(900, 1100).gradientDirect(1250).update(600).activations(70).build();
        return Profile.builder("three layers", Collections.nCopies(3, layer)).link(1e9, 1e9).between(100);
    }

    private static Simulation simulate(Plan plan) {
        Simulation simulation = Simulator.simulate(plan, profile().build());
        assertThat(simulation.isSteady()).isTrue();
        return simulation;
    }

    private static List<String> text(List<Span> spans) {
        return spans.stream().map(Span::toString).collect(Collectors.toList());
    }

    // ------------------------------------------------------------------------------------------------------------------ by hand

    @Test
    void eager_steps_follow_their_gradients_and_their_copies_go_on_beside_the_next_forward() {
        Simulation s = simulate(resident(UpdateTiming.EAGER));
        // Layer 0 waits for its own copy first, and in backward for the gradient slot that it shares with layer 2.
        assertThat(text(s.visits())).containsExactly("FORWARD 0 0..1400 waited 900", "FORWARD 1 1400..1900", "FORWARD 2 1900..2400",
                "BACKWARD 2 2400..3200", "BACKWARD 1 3200..4000", "BACKWARD 0 4000..5000 waited 200");
        assertThat(text(s.updates())).containsExactly("UPDATE 2 4200..4800", "UPDATE 1 5200..5800", "UPDATE 0 6200..6800");
        assertThat(text(s.copies())).containsExactly("TO_DEVICE 0 -100..900", "TO_HOST 2 3200..4200", "TO_HOST 1 4200..5200",
                "TO_DEVICE 2 4800..5800", "TO_HOST 0 5200..6200", "TO_DEVICE 1 5800..6800");
        assertThat(s.stepNanos()).isEqualTo(6900);
        assertThat(s.copyWaitNanos()).as("900 and 200 as above, 1200 for the last gradient").isEqualTo(2300);
        assertThat(s.updateWaitNanos()).isEqualTo(600);
    }

    @Test
    void a_layer_that_is_read_after_backward_takes_its_step_behind_those_given_before() {
        Simulation s = simulate(plan(network(2), Placement.RESIDENT, GradientHome.SLOT, UpdateTiming.EAGER));
        assertThat(text(s.updates())).containsExactly("UPDATE 1 4600..5200", "UPDATE 0 5600..6200", "UPDATE 2 6200..6800");
        // Its copy is behind that of layer 0, which is there at 300, and is not needed before the end of layer 1 at 1300.
        assertThat(text(s.copies())).contains("TO_DEVICE 0 -700..300", "TO_DEVICE 2 300..1300");
        assertThat(s.stepNanos()).isEqualTo(6900);
        assertThat(s.copyWaitNanos()).isEqualTo(300 + 200 + 1200);
        assertThat(s.updateWaitNanos()).isEqualTo(1200);
    }

    @Test
    void one_step_after_backward_comes_before_all_copies_which_the_next_forward_waits_for() {
        Simulation s = simulate(resident(UpdateTiming.AFTER_BACKWARD));
        assertThat(text(s.visits())).startsWith("FORWARD 0 0..1400 waited 900", "FORWARD 1 1400..2400 waited 500",
                "FORWARD 2 2400..3400 waited 500");
        assertThat(s.updates()).isEmpty();
        assertThat(s.stepNanos()).isEqualTo(9100);
        assertThat(s.copyWaitNanos()).isEqualTo(900 + 500 + 500 + 200 + 1200);
        assertThat(s.updateWaitNanos()).isEqualTo(1800);
    }

    @Test
    void steps_in_chunks_let_copies_follow_them_and_the_iteration_waits_for_the_last() {
        Simulation s = simulate(resident(UpdateTiming.IN_CHUNKS));
        assertThat(text(s.updates())).containsExactly("UPDATE 0 5300..5900", "UPDATE 1 5900..6500", "UPDATE 2 6500..7100");
        assertThat(text(s.copies())).endsWith("TO_DEVICE 0 5900..6900", "TO_DEVICE 1 6900..7900", "TO_DEVICE 2 7900..8900");
        assertThat(s.stepNanos()).isEqualTo(9000);
        assertThat(s.copyWaitNanos()).isEqualTo(200 + 1200 + 1800);
        assertThat(s.updateWaitNanos()).isEqualTo(1800);
    }

    @Test
    void a_whole_step_lets_no_copy_start_before_it_ends_and_the_iteration_waits_for_all() {
        Simulation s = simulate(resident(UpdateTiming.WHOLE));
        assertThat(text(s.copies())).endsWith("TO_DEVICE 0 7100..8100", "TO_DEVICE 1 8100..9100", "TO_DEVICE 2 9100..10100");
        assertThat(s.stepNanos()).isEqualTo(10_200);
        assertThat(s.copyWaitNanos()).isEqualTo(200 + 1200 + 3000);
    }

    @Test
    void in_place_nothing_is_copied_and_every_visit_takes_its_direct_time() {
        Simulation s = simulate(plan(network(-1), Placement.DIRECT, GradientHome.DIRECT, UpdateTiming.EAGER));
        // Forward 1000, by the link; backward 1250, by the gradient's direct time. Only the step of layer 0 is left after backward.
        assertThat(s.stepNanos()).isEqualTo(3 * 1000 + 3 * 1250 + 600 + 100);
        assertThat(s.copies()).isEmpty();
        assertThat(s.directBytes()).isEqualTo(3 * 3 * 1000);
        assertThat(s.copyWaitNanos()).isZero();
        assertThat(s.updateWaitNanos()).isEqualTo(600);
    }

    @Test
    void copies_and_steps_slow_the_visits_beside_them() {
        Plan plan = resident(UpdateTiming.WHOLE);
        Simulation s = Simulator.simulate(plan, profile().slowdown(0.25, 9).build());
        // Forward runs alone. Beside the copy of layer 2's gradient, backward of layer 1 takes a quarter longer; that of layer 0 begins when
        // that copy has ended, beside the next one, and takes a quarter longer too.
        assertThat(text(s.visits())).containsExactly("FORWARD 0 0..500", "FORWARD 1 500..1000", "FORWARD 2 1000..1500",
                "BACKWARD 2 1500..2300", "BACKWARD 1 2300..3300", "BACKWARD 0 3300..4300");
        assertThat(s.stepNanos()).isEqualTo(10_200);
    }

    /** Layer 0 in place, the others copied for each pass; the copy of layer 1 runs beside forward of layer 0. */
    @Test
    void copies_lose_the_shares_of_the_profile_to_what_is_used_in_place() {
        NetworkDescription network = network(-1);
        LayerPlan inPlace = new LayerPlan(Placement.DIRECT, Placement.DIRECT, GradientHome.DIRECT, "in place");
        LayerPlan copied = new LayerPlan(Placement.PREFETCH, Placement.PREFETCH, GradientHome.SLOT, "copied");
        Plan plan = Plan.builder(network, List.of(inPlace, copied, copied), BUDGET).parameterSlots(1000, 1000).gradientSlots(1000, 1000)
                .updateTiming(UpdateTiming.AFTER_BACKWARD).build();
        // Copies go out when the steps are taken, 100 before forward; the read takes 1000 of the link, and so does the write from 4000 on.
        Simulation none = Simulator.simulate(plan, profile().shares(0, 0).build());
        assertThat(text(none.copies())).containsExactly("TO_DEVICE 1 -100..900", "TO_DEVICE 2 900..1900", "TO_HOST 2 3200..4200", "TO_HOST 1 4200..5200");
        assertThat(none.stepNanos()).as("5250 after the last visit, the steps, 100").isEqualTo(5250 + 1800 + 100);
        Simulation reads = Simulator.simulate(plan, profile().shares(0.25, 0).build());
        assertThat(text(reads.copies())).containsExactly("TO_DEVICE 1 -100..1150", "TO_DEVICE 2 1150..2150", "TO_HOST 2 3450..4450",
                "TO_HOST 1 4450..5450");
        assertThat(reads.stepNanos()).isEqualTo(none.stepNanos() + 250);
        Simulation writes = Simulator.simulate(plan, profile().shares(0, 0.25).build());
        // The first has 200 left when the write begins, and three quarters of its pace; the second loses the rest of 250.
        assertThat(text(writes.copies())).containsExactly("TO_DEVICE 1 -100..900", "TO_DEVICE 2 900..1900", "TO_HOST 2 3200..4267",
                "TO_HOST 1 4267..5450");
        assertThat(writes.stepNanos()).isEqualTo(none.stepNanos() + 200);
        Simulation one = Simulator.simulate(plan, profile().build());
        assertThat(text(one.copies())).as("one link for all, if nothing is said").startsWith("TO_DEVICE 1 -100..1900", "TO_DEVICE 2 1900..2900");
        assertThat(one.stepNanos()).isEqualTo(9100);
    }

    @Test
    void the_device_holds_the_slab_and_the_activations() {
        Simulation s = simulate(resident(UpdateTiming.EAGER));
        assertThat(s.slabBytes()).as("3 resident layers and 4 slots of 1024 bytes").isEqualTo(7 * 1024);
        assertThat(s.devicePeakBytes()).isEqualTo(7 * 1024 + 7000);
        Plan unknown = Plan.builder(network(-1), resident(UpdateTiming.EAGER).layers(), new Budget(1L << 30, 0, false, 0, true))
                .gradientSlots(1000).build();
        assertThat(simulate(unknown).devicePeakBytes()).as("the profile knows 70 bytes per layer").isEqualTo(4 * 1024 + 210);
    }

    @Test
    void stock_training_copies_nothing_and_takes_its_step_on_the_device() {
        NetworkDescription network = new NetworkDescription(network(-1).layers(), new int[] {0, 1, 2}, new int[] {2, 1, 0},
                new int[] {0, 1, 2}, 750, 1500, 4);
        Simulation s = Simulator.stock(network, profile().build(), BUDGET, 77);
        assertThat(s.stepNanos()).isEqualTo(3 * 1300 + 77 + 100);
        assertThat(s.copies()).isEmpty();
        assertThat(s.visits()).hasSize(6);
        assertThat(s.devicePeakBytes()).as("parameters, gradients, two moments, activations").isEqualTo(4 * 3000 + 7000);
    }

    // ------------------------------------------------------------------------------------------------------------------- traces

    @Test
    void a_trace_in_the_order_of_the_network_takes_what_the_network_takes() {
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 3\nT 0 1*3 2 F 2*2 1 0 B G u0 u1 u2 C\n");
        for (UpdateTiming timing : UpdateTiming.values()) {
            Simulation replayed = Simulator.simulate(resident(timing), profile().build(), trace);
            Simulation simulated = simulate(resident(timing));
            assertThat(replayed.stepNanos()).as("%s", timing).isEqualTo(simulated.stepNanos());
            assertThat(replayed.visits()).isEqualTo(simulated.visits());
            assertThat(replayed.copies()).isEqualTo(simulated.copies());
            assertThat(replayed.updates()).isEqualTo(simulated.updates());
        }
    }

    @Test
    void a_trace_may_hold_inference_and_iterations_given_up_and_the_last_one_closed_counts() {
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 3\nI 0 1 2\nT 0 1 2 F 2 1 X\nT 0 1 2 F 2 1 0 B G u0 u1 u2 C\nI 0 1\n");
        for (UpdateTiming timing : UpdateTiming.values()) {
            Simulation replayed = Simulator.simulate(resident(timing), profile().build(), trace);
            assertThat(replayed.visits()).as("%s", timing).hasSize(6);
            assertThat(replayed.bytesToHost()).isEqualTo(3000);
        }
    }

    @Test
    void a_trace_without_a_closed_iteration_is_refused() {
        AccessTrace trace = AccessTrace.parse("memferry-trace 1 layers 3\nT 0 1 2 F 2 1 X\n");
        assertThatThrownBy(() -> Simulator.simulate(resident(UpdateTiming.EAGER), profile().build(), trace))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("no training iteration was closed");
    }

    @Test
    void a_profile_of_another_network_and_the_strategy_of_stock_are_refused() {
        Profile other = Profile.builder("other", List.of(LayerProfile.builder(1, 1).build())).build();
        assertThatThrownBy(() -> Simulator.simulate(resident(UpdateTiming.EAGER), other)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("profile other of 1 layers for a network of 3");
        Plan none = Plan.builder(network(-1), resident(UpdateTiming.EAGER).layers(), BUDGET).gradientSlots(1000).strategy(Strategy.NONE)
                .build();
        assertThatThrownBy(() -> Simulator.simulate(none, profile().build())).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected: Simulator.stock");
    }

    /** A random plan under which two iterations take turns: what one leaves on the link makes the next one longer, and so on. */
    @Test
    void where_iterations_take_turns_the_step_is_their_mean() {
        Random random = new Random(-1000);
        Plan plan = RandomPlans.plan(RandomNetworks.random(random), random);
        Profile profile = RandomPlans.profile(plan.network(), random, false);
        try (SimulatedTraining training = new SimulatedTraining(plan, profile)) {
            long[] nanos = new long[12];
            for (int i = 0; i < nanos.length; i++) {
                training.iterate();
                nanos[i] = training.result().build().iterationNanos();
            }
            assertThat(nanos[10]).isEqualTo(nanos[8]).isNotEqualTo(nanos[9]);
            assertThat(nanos[11]).isEqualTo(nanos[9]);
            Simulation s = Simulator.simulate(plan, profile);
            assertThat(s.isSteady()).isTrue();
            assertThat(s.stepNanos()).isEqualTo(Math.round((nanos[8] + nanos[9]) / 2.0)).isNotEqualTo(s.iterationNanos());
        }
    }

    /**
     * A random plan under which the link is never idle: the first two iterations leave as much under way, but in another order, so the
     * second is not what those behind it are like.
     */
    @Test
    void as_much_under_way_in_another_order_is_not_steady() {
        Random random = new Random(144219);
        Plan plan = RandomPlans.plan(RandomNetworks.random(random), random);
        Profile profile = RandomPlans.profile(plan.network(), random, false);
        assertThat(random.nextBoolean()).as("the plan this test is about is not the one it was").isFalse();
        profile = RandomPlans.shared(profile, random);
        Simulation s = Simulator.simulate(plan, profile);
        LaterIterations later = new LaterIterations(plan, profile);
        assertThat(later.repeat).isTrue();
        assertThat(later.iterations).isEqualTo(1);
        assertThat(s.stepNanos()).isEqualTo(later.meanNanos);
        assertThat(s.copies().stream().filter(c -> c.layer() == 6 && c.kind() == Span.Kind.TO_DEVICE)).hasSize(1);
    }

    /** What goes on behind the iterations that a simulation looks at. */
    private static final class LaterIterations {

        /** How many were looked at: all that take turns. */
        private int iterations;
        /** The last one ended as the one before the first did. */
        private boolean repeat;
        /** Per layer, in all of them; of those that take turns one may end two copies of a layer and the next one none. */
        private final int[] copiesToDevice;
        private long meanNanos;

        LaterIterations(Plan plan, Profile profile) {
            copiesToDevice = new int[plan.layers().size()];
            try (SimulatedTraining training = new SimulatedTraining(plan, profile)) {
                for (int i = 0; i < 30; i++) {
                    training.iterate();
                }
                long[] pending = training.pending();
                long from = training.nowNanos();
                while (!repeat && iterations < 24) {
                    training.iterate();
                    iterations++;
                    repeat = Arrays.equals(training.pending(), pending);
                    training.result().build().copies().stream().filter(c -> c.kind() == Span.Kind.TO_DEVICE)
                            .forEach(c -> copiesToDevice[c.layer()]++);
                }
                meanNanos = Math.round((double) (training.nowNanos() - from) / iterations);
            }
        }
    }

    // --------------------------------------------------------------------------------------------------------------- properties

    @Property(tries = 1000, shrinking = ShrinkingMode.OFF)
    @Label("whatever the plan, the simulation is of what goes on, is the same each time, and accounts for every byte and every nanosecond")
    void a_simulation_is_steady_and_accounts_for_everything(@ForAll long seed) {
        Random random = new Random(seed);
        Plan plan = RandomPlans.plan(RandomNetworks.random(random), random);
        Profile profile = RandomPlans.profile(plan.network(), random, false);
        profile = random.nextBoolean() ? profile : RandomPlans.shared(profile, random);
        Simulation s = Simulator.simulate(plan, profile);
        LaterIterations later = new LaterIterations(plan, profile);
        assertThat(s.isSteady()).as("seed %d", seed).isTrue();
        assertThat(later.repeat).as("seed %d", seed).isTrue();
        assertThat(s.stepNanos()).as("seed %d", seed).isEqualTo(later.meanNanos);
        Simulation again = Simulator.simulate(plan, profile);
        assertThat(again.toString()).isEqualTo(s.toString());
        assertThat(again.visits()).isEqualTo(s.visits());
        assertThat(again.copies()).isEqualTo(s.copies());
        assertThat(again.updates()).isEqualTo(s.updates());
        bytes(plan, s, later, seed);
        long computed = 0;
        for (Span visit : s.visits()) {
            computed += visit.nanos() - visit.waitedNanos();
        }
        assertThat(computed + s.copyWaitNanos() + s.updateWaitNanos() + profile.betweenNanos())
                .as("visits, waits, steps and what lies between add up to the iteration, seed %d", seed).isEqualTo(s.iterationNanos());
        assertThat(s.slabBytes()).isEqualTo(plan.slabBytes());
    }

    /** Every gradient in a slot comes home once, every layer with a step goes out once or once per pass, and the rest crosses in place. */
    private static void bytes(Plan plan, Simulation s, LaterIterations later, long seed) {
        long toHost = 0;
        long direct = 0;
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            toHost += decision.gradientHome() == GradientHome.SLOT ? layer.gradientBytes() : 0;
            direct += decision.gradientHome() == GradientHome.DIRECT ? layer.gradientBytes() : 0;
            direct += decision.forward() == Placement.DIRECT ? layer.parameterBytes() * layer.forwardTouches() : 0;
            direct += decision.backward() == Placement.DIRECT ? layer.parameterBytes() * layer.backwardTouches() : 0;
            int passes = (decision.forward() == Placement.PREFETCH ? 1 : 0) + (decision.backward() == Placement.PREFETCH ? 1 : 0);
            int most = decision.forward() == Placement.RESIDENT ? layer.gradientWritten() ? 1 : 0 : passes;
            assertThat(later.copiesToDevice[i]).as("copies of layer %d in %d iterations, seed %d", i, later.iterations, seed)
                    .isBetween(later.iterations * Math.min(1, most), later.iterations * most);
        }
        assertThat(s.bytesToHost()).as("seed %d", seed).isEqualTo(toHost);
        assertThat(s.directBytes()).as("seed %d", seed).isEqualTo(direct);
    }

    @Property(tries = 300, shrinking = ShrinkingMode.OFF)
    @Label("in every simulation one thing at a time uses a direction of the link, the worker and the computation, and nothing precedes its cause")
    void nothing_overlaps_that_must_not(@ForAll long seed) {
        Random random = new Random(seed);
        Plan plan = RandomPlans.plan(RandomNetworks.random(random), random);
        Simulation s = Simulator.simulate(plan, RandomPlans.shared(RandomPlans.profile(plan.network(), random, true), random));
        for (Span.Kind kind : new Span.Kind[] {Span.Kind.TO_DEVICE, Span.Kind.TO_HOST}) {
            apart(s.copies().stream().filter(c -> c.kind() == kind).collect(Collectors.toList()), seed);
        }
        apart(s.visits(), seed);
        apart(s.updates(), seed);
        for (Span update : s.updates()) {
            long arrived = s.copies().stream().filter(c -> c.kind() == Span.Kind.TO_HOST && c.layer() == update.layer())
                    .mapToLong(Span::endNanos).max().orElse(0);
            long left = s.visits().stream().filter(v -> v.kind() == Span.Kind.BACKWARD && v.layer() == update.layer())
                    .mapToLong(Span::endNanos).max().orElseThrow();
            assertThat(update.startNanos()).as("step of layer %d, seed %d", update.layer(), seed).isGreaterThanOrEqualTo(Math.max(arrived, left));
        }
    }

    private static void apart(List<Span> spans, long seed) {
        for (int i = 1; i < spans.size(); i++) {
            assertThat(spans.get(i).startNanos()).as("%s after %s, seed %d", spans.get(i), spans.get(i - 1), seed)
                    .isGreaterThanOrEqualTo(spans.get(i - 1).endNanos());
        }
    }
}
