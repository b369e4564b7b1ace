package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.util.List;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/** Programs are compiled as {@link ProgramCheck} demands, and the check finds what it is there for. */
class ProgramTest {

    @Property(tries = 3000, shrinking = ShrinkingMode.OFF)
    @Label("every random plan compiles to a program without overlap, early copies or visits without content")
    void every_random_plan_compiles_to_a_sound_program(@ForAll long seed) {
        Program program = Program.compile(Scenario.random(seed));
        try {
            ProgramCheck.check(program);
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed + "\n" + Scenario.describe(program), e);
        }
    }

    @Test
    void the_check_finds_a_copy_that_starts_before_its_slot_is_left() {
        Program program = chain();
        Copy late = program.training().copies[2];
        program.training().copies[2] = new Copy(late.layer, late.slot, late.visit, late.afterVisit - 1);
        assertThatThrownBy(() -> ProgramCheck.check(program)).isInstanceOf(AssertionError.class).hasMessageContaining("must not start");
    }

    @Test
    void the_check_finds_a_slot_that_is_let_go_too_early() {
        Program program = chain();
        program.training().visits[4].lastUse = true;
        assertThatThrownBy(() -> ProgramCheck.check(program)).isInstanceOf(AssertionError.class).hasMessageContaining("lets its slot go");
    }

    @Test
    void the_last_layers_of_forward_are_served_in_backward_without_a_copy() {
        Program program = chain();
        assertThat(program.training().visits).hasSize(10);
        assertThat(program.training().copies).as("5 for forward, 3 for backward").hasSize(8);
        assertThat(program.inference().copies).hasSize(5);
    }

    @Test
    void a_layer_with_a_fixed_slot_has_one_slot_in_all_passes() {
        for (long seed = 0; seed < 500; seed++) {
            Program program = Program.compile(Scenario.random(seed));
            for (int layer = 0; layer < program.plan().layers().size(); layer++) {
                if (program.plan().network().layers().get(layer).fixedSlot()) {
                    assertThat(program.slotsOf(layer).length).as("seed %d, layer %d", seed, layer).isLessThanOrEqualTo(1);
                }
            }
        }
    }

    @Test
    void in_place_visits_count_every_touch_and_the_gradient() {
        Program program = Program.compile(Scenario.chain(1, 100, Placement.DIRECT, GradientHome.DIRECT, 2));
        assertThat(program.slots()).isZero();
        assertThat(program.training().visits[0].readBytes).as("forward reads once").isEqualTo(400);
        assertThat(program.training().visits[1].readBytes).as("backward reads twice").isEqualTo(800);
        assertThat(program.training().visits[1].writtenBytes).as("and writes the gradient").isEqualTo(400);
    }

    // A11
    @Test
    void slots_and_bytes_read_in_place_are_exact_beyond_two_to_the_31() {
        long count = 60_000_000L * 40;
        LayerDescription layer = LayerDescription.builder("wide", "Embedding").parameters(0, count).elementBytes(8).touches(1, 3).build();
        int[] order = {0};
        NetworkDescription network = new NetworkDescription(List.of(layer), order, order, order, count, 2 * count, 8);
        Budget budget = new Budget(1L << 50, 0, true, 0, true);
        LayerPlan slots = new LayerPlan(Placement.PREFETCH, Placement.PREFETCH, GradientHome.SLOT, "test");
        Program inSlots = Program.compile(Plan.builder(network, List.of(slots), budget).parameterSlots(8 * count, 8 * count)
                .gradientSlots(8 * count, 8 * count).build());
        for (int slot = 0; slot < 4; slot++) {
            assertThat(BigInteger.valueOf(inSlots.slotOffset(slot))).isEqualTo(BigInteger.valueOf(count).multiply(BigInteger.valueOf(8L * slot)));
        }
        Program inPlace = Program.compile(Plan.inPlace(network, budget));
        Visit backward = inPlace.training().visits[1];
        assertThat(BigInteger.valueOf(backward.readBytes)).isEqualTo(BigInteger.valueOf(count).multiply(BigInteger.valueOf(3 * 8)));
        assertThat(BigInteger.valueOf(backward.writtenBytes)).isEqualTo(BigInteger.valueOf(count).multiply(BigInteger.valueOf(8)));
    }

    private static Program chain() {
        return Program.compile(Scenario.chain(5, 100, Placement.PREFETCH, GradientHome.SLOT, 2));
    }
}
