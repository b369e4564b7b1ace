package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.plan.UpdateTiming;

/** The plans of all strategies, judged by the simulator and by what each strategy is. */
class StrategyPlannerTest {

    private static final long MB = 1 << 20;
    private static final PlacementRules NO_RULES = PlacementRules.none();
    private static final EnumSet<Strategy> PLANNED = EnumSet.complementOf(EnumSet.of(Strategy.NONE));

    @Property(tries = 30)
    void no_named_strategy_is_predicted_to_be_faster_than_AUTO_in_the_same_budget(@ForAll long seed) {
        Case c = new Case(seed);
        long auto = c.stepNanos(c.plan(Strategy.AUTO, c.budget, NO_RULES));
        for (Strategy strategy : PLANNED) {
            if (StrategyPlanner.smallestBudget(strategy, c.network, c.profile) <= c.budget.slabLimit()) {
                assertThat(auto).as("AUTO against %s", strategy).isLessThanOrEqualTo(c.stepNanos(c.plan(strategy, c.budget, NO_RULES)));
            }
        }
    }

    @Property(tries = 30)
    void MEMFERRY_is_never_slower_than_the_paper_and_DeepPlan_and_GO_never_slower_than_MEMFERRY(@ForAll long seed) {
        Case c = new Case(seed);
        if (StrategyPlanner.smallestBudget(Strategy.MEMFERRY, c.network, c.profile) > c.budget.slabLimit()) {
            return;
        }
        long ours = c.stepNanos(c.plan(Strategy.MEMFERRY, c.budget, NO_RULES));
        assertThat(ours).as("against the paper").isLessThanOrEqualTo(c.stepNanos(GreedyPlans.paper(c.network, c.profile, c.budget)));
        assertThat(ours).as("against DeepPlan").isLessThanOrEqualTo(c.stepNanos(GreedyPlans.deepPlan(c.network, c.profile, c.budget)));
        assertThat(c.stepNanos(c.plan(Strategy.GO_MEMFERRY, c.budget, NO_RULES))).as("GO").isLessThanOrEqualTo(ours);
    }

    @Property(tries = 30)
    void every_plan_keeps_to_its_budget_and_to_what_its_layers_can_do(@ForAll long seed) {
        Case c = new Case(seed);
        for (Strategy strategy : PLANNED) {
            if (StrategyPlanner.smallestBudget(strategy, c.network, c.profile) <= c.budget.slabLimit()) {
                Plan plan = c.plan(strategy, c.budget, NO_RULES);
                assertThat(plan.slabBytes()).as("slab of %s", strategy).isLessThanOrEqualTo(c.budget.slabLimit());
                checkLayers(plan);
                checkKind(strategy, plan);
            }
        }
    }

    private static void checkLayers(Plan plan) {
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            assertThat(decision.gradientHome() == GradientHome.NONE).as("%s has no gradient", layer).isEqualTo(!layer.gradientWritten());
            if (layer.gradientInPlace()) {
                assertThat(decision.gradientHome()).as("gradient of %s", layer).isNotEqualTo(GradientHome.SLOT);
            }
            if (layer.fixedSlot()) {
                assertThat(decision.backward()).as("backward of %s", layer).isEqualTo(decision.forward());
            }
            assertThat(decision.reason()).isNotBlank();
        }
    }

    private static void checkKind(Strategy strategy, Plan plan) {
        EnumSet<Placement> forward = EnumSet.noneOf(Placement.class);
        plan.layers().forEach(l -> forward.add(l.forward()));
        boolean slots = plan.layers().stream().noneMatch(l -> l.gradientHome() == GradientHome.DIRECT)
                || plan.network().layers().stream().anyMatch(LayerDescription::gradientInPlace);
        switch (strategy) {
            case ZERO_OFFLOAD:
            case NATIVE_OFFLOAD:
                assertThat(forward).containsOnly(Placement.RESIDENT);
                assertThat(plan.updateTiming().waitsForCopies()).isTrue();
                break;
            case MEMFERRY:
                assertThat(forward).doesNotContain(Placement.PREFETCH);
                assertThat(slots).as("gradients through slots").isTrue();
                break;
            case GO_MEMFERRY:
                assertThat(forward).doesNotContain(Placement.PREFETCH);
                break;
            case STREAM:
                assertThat(forward).containsOnly(Placement.PREFETCH);
                assertThat(slots).as("gradients through slots").isTrue();
                break;
            default:
        }
        if (strategy != Strategy.AUTO) {
            assertThat(plan.strategy()).isEqualTo(strategy);
        }
        if (!plan.updateTiming().waitsForCopies()) {
            assertThat(plan.updateTiming()).isEqualTo(UpdateTiming.EAGER);
        }
    }

    @Property(tries = 30)
    void every_strategy_runs_in_its_smallest_budget_and_says_the_numbers_below_it(@ForAll long seed) {
        Case c = new Case(seed);
        for (Strategy strategy : PLANNED) {
            long smallest = StrategyPlanner.smallestBudget(strategy, c.network, c.profile);
            assertThat(c.plan(strategy, budget(smallest), NO_RULES).slabBytes()).isLessThanOrEqualTo(smallest);
            if (smallest > 0) {
                assertThatThrownBy(() -> c.plan(strategy, budget(smallest - 1), NO_RULES))
                        .isInstanceOfSatisfying(OutOfMemoryException.class, e -> {
                            assertThat(e.askedBytes()).isEqualTo(smallest);
                            assertThat(e.availableBytes()).isEqualTo(smallest - 1);
                        }).hasMessageContaining("strategy " + strategy).hasMessageContaining("deviceMemory");
            }
        }
    }

    @Property(tries = 15)
    void what_the_user_fixed_is_kept_whatever_the_strategy(@ForAll long seed) {
        Case c = new Case(seed);
        Random random = new Random(seed);
        LayerDescription layer = c.network.layers().get(random.nextInt(c.network.layers().size()));
        Placement fixed = Placement.values()[random.nextInt(3)];
        GradientHome home = random.nextBoolean() ? GradientHome.SLOT : GradientHome.DIRECT;
        PlacementRules rules = NO_RULES.place(layer.name(), fixed, fixed).placeGradient(layer.name(), home);
        for (Strategy strategy : PLANNED) {
            Plan plan = c.plan(strategy, budget(1L << 30), rules);
            LayerPlan decision = plan.layers().get(c.network.layers().indexOf(layer));
            assertThat(decision.forward()).as("forward under %s", strategy).isEqualTo(fixed);
            assertThat(decision.backward()).as("backward under %s", strategy).isEqualTo(fixed);
            assertThat(decision.reason()).contains("fixed by you");
            if (layer.gradientWritten() && !layer.gradientInPlace()) {
                assertThat(decision.gradientHome()).as("gradient under %s", strategy).isEqualTo(home);
            }
            checkLayers(plan);
        }
    }

    @Test
    void a_layer_that_keeps_its_arrays_has_one_placement_in_both_passes() {
        NetworkDescription network = RandomNetworks.network(List.of(
                LayerDescription.builder("same", "SameDiff").parameters(0, 1000).fixedSlot(true).build()));
        Case c = new Case(network, 1);
        PlacementRules rules = NO_RULES.place("same", Placement.DIRECT, Placement.PREFETCH);
        for (Strategy strategy : PLANNED) {
            LayerPlan decision = c.plan(strategy, budget(MB), rules).layers().get(0);
            assertThat(decision.backward()).as("backward under %s", strategy).isEqualTo(Placement.DIRECT);
            assertThat(decision.reason()).contains("fixed by you").contains("one placement for both passes");
        }
    }

    @Test
    void ZERO_OFFLOAD_has_two_buckets_of_the_largest_layer_and_NATIVE_OFFLOAD_a_slot_for_each() {
        Case c = new Case(RandomNetworks.chain(MB, 2 * MB, MB / 2), 1);
        Plan zero = c.plan(Strategy.ZERO_OFFLOAD, budget(64 * MB), NO_RULES);
        assertThat(zero.gradientSlots()).containsExactly(8 * MB, 8 * MB);
        assertThat(zero.residentBytes()).isEqualTo(14 * MB);
        Plan whole = c.plan(Strategy.NATIVE_OFFLOAD, budget(64 * MB), NO_RULES);
        assertThat(whole.gradientSlots()).containsExactlyInAnyOrder(8 * MB, 4 * MB, 2 * MB);
        assertThat(StrategyPlanner.smallestBudget(Strategy.ZERO_OFFLOAD, c.network, c.profile)).isEqualTo(30 * MB);
        assertThat(StrategyPlanner.smallestBudget(Strategy.NATIVE_OFFLOAD, c.network, c.profile)).isEqualTo(28 * MB);
        assertThat(StrategyPlanner.smallestBudget(Strategy.NONE, c.network, c.profile)).isEqualTo(28 * MB);
    }

    @Test
    void equal_input_gives_equal_plans() {
        for (Strategy strategy : PLANNED) {
            Case c = new Case(5);
            assertThat(text(c.plan(strategy, budget(1L << 30), NO_RULES))).isEqualTo(text(c.plan(strategy, budget(1L << 30), NO_RULES)));
        }
    }

    private static String text(Plan plan) {
        return plan.layers().stream().map(l -> l.forward() + " " + l.backward() + " " + l.gradientHome() + " " + l.reason())
                .collect(Collectors.joining("\n")) + Arrays.toString(plan.parameterSlots()) + Arrays.toString(plan.gradientSlots());
    }

    @Test
    void AUTO_says_what_it_was_compared_with() {
        Case c = new Case(RandomNetworks.chain(MB, 2 * MB, MB / 2), 1);
        assertThat(c.plan(Strategy.AUTO, budget(64 * MB), NO_RULES).layers().get(0).reason()).contains("iteration ")
                .contains("ZERO_OFFLOAD ").contains("STREAM ").contains(" ms");
    }

    @Test
    void NONE_is_refused_and_so_are_rules_that_match_nothing() {
        Case c = new Case(3);
        assertThatThrownBy(() -> c.plan(Strategy.NONE, budget(MB), NO_RULES)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("NONE").hasMessageContaining("expected: another strategy");
        assertThatThrownBy(() -> c.plan(Strategy.AUTO, budget(MB), NO_RULES.place("typo", Placement.DIRECT, Placement.DIRECT)))
                .isInstanceOf(RefusedException.class).hasMessageContaining("'typo'");
    }

    @Test
    void activations_that_do_not_fit_are_refused() {
        Case c = new Case(3);
        assertThatThrownBy(() -> c.plan(Strategy.AUTO, new Budget(MB, 2 * MB, true, 0, true), NO_RULES))
                .isInstanceOf(OutOfMemoryException.class).hasMessageContaining("2,097,152 bytes").hasMessageContaining("smaller batch");
    }

    @Test
    void a_profile_of_another_network_is_refused() {
        Case c = new Case(RandomNetworks.chain(10, 20), 1);
        assertThatThrownBy(() -> StrategyPlanner.plan(Strategy.AUTO, RandomNetworks.chain(10), c.profile, budget(MB), NO_RULES))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("2 layers for a network of 1");
    }

    @Test
    void a_device_without_own_memory_is_planned_in_place() {
        Case c = new Case(3);
        assertThat(c.plan(Strategy.AUTO, budget(Long.MAX_VALUE), NO_RULES).layers()).allMatch(l -> l.forward() == Placement.DIRECT);
    }

    private static Budget budget(long bytes) {
        return new Budget(bytes, 0, true, 0, true);
    }

    /** A random network, its times, and a budget between nothing and all of it. */
    private static final class Case {

        private final NetworkDescription network;
        private final Profile profile;
        private final Budget budget;

        Case(long seed) {
            this(RandomNetworks.random(new Random(seed)), seed);
        }

        Case(NetworkDescription network, long seed) {
            Random random = new Random(seed);
            this.network = network;
            this.profile = RandomProfiles.random(network, random);
            long all = StrategyPlanner.smallestBudget(Strategy.ZERO_OFFLOAD, network, profile);
            this.budget = budget((long) (all * List.of(0.1, 0.3, 0.5, 0.8, 1.0, 1.2, 2.0).get(random.nextInt(7))));
        }

        Plan plan(Strategy strategy, Budget within, PlacementRules rules) {
            return StrategyPlanner.plan(strategy, network, profile, within, rules);
        }

        long stepNanos(Plan plan) {
            return Simulator.simulate(plan, profile).stepNanos();
        }
    }
}
