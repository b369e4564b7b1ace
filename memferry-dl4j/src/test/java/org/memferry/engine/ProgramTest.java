package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;

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

    private static Program chain() {
        return Program.compile(Scenario.chain(5, 100, Placement.PREFETCH, GradientHome.SLOT, 2));
    }
}
