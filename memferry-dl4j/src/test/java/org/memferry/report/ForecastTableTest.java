package org.memferry.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Span;

/** What a plan is predicted to take reads as a table, and beside it what it took. */
class ForecastTableTest {

    private static final long MILLI = 1_000_000;

    private final NetworkDescription network = new NetworkDescription(List.of(
            LayerDescription.builder("0", "DenseLayer").parameters(0, 262_144).build(),
            LayerDescription.builder("1", "OutputLayer").parameters(262_144, 1024).build()),
            new int[] {0, 1}, new int[] {1, 0}, new int[] {0, 1}, 263_168, 526_336, 4);
    private final Plan plan = Plan.builder(network, List.of(
            new LayerPlan(Placement.PREFETCH, Placement.PREFETCH, GradientHome.SLOT, "copied ahead"),
            new LayerPlan(Placement.DIRECT, Placement.DIRECT, GradientHome.DIRECT, "small")),
            new Budget(8 << 20, 0, true, 0, true)).parameterSlots(1 << 20).gradientSlots(1 << 20).build();
    private final Profile profile = Profile.builder("key", List.of(LayerProfile.builder(2 * MILLI, 5 * MILLI).build(),
            LayerProfile.builder(MILLI, MILLI).build())).measured().build();
    private final Simulation simulation = Simulation.builder().iteration(20 * MILLI).steady(true).device(2 << 20, 2 << 20)
            .waited(6 * MILLI, 0).add(new Span(Span.Kind.FORWARD, 0, 0, 7 * MILLI, 5 * MILLI, 0))
            .add(new Span(Span.Kind.BACKWARD, 0, 10 * MILLI, 15 * MILLI, 0, 0))
            .add(new Span(Span.Kind.TO_DEVICE, 0, 0, 4 * MILLI, 0, 1 << 20)).build();

    @Test
    void a_row_per_layer_says_what_is_predicted_and_what_it_is_made_from() {
        String[] lines = ForecastTable.render(plan, profile, simulation).split("\\R");
        assertThat(lines[0]).contains("fwd ms", "bwd ms", "profiled fwd", "profiled bwd").doesNotContain("run fwd");
        assertThat(lines[1].split("\\s+")).containsSubsequence("0", "DenseLayer", "1.00", "MB", "PREFETCH", "PREFETCH", "SLOT", "7.000",
                "5.000", "1.00", "MB", "0", "B", "2.000", "5.000", "copied", "ahead");
        assertThat(lines[2].split("\\s+")).containsSubsequence("1", "OutputLayer", "DIRECT", "DIRECT", "DIRECT", "0.000", "0.000");
        assertThat(lines[3]).startsWith("simulated step 20.000 ms, of which 6.000 ms waiting for copies").contains("1.00 MB to the device");
        assertThat(lines).hasSize(4);
    }

    @Test
    void after_a_run_each_row_says_what_was_measured_and_the_last_line_how_far_off_the_simulation_was() {
        MeasuredRun run = new MeasuredRun(5, 22 * MILLI, new long[] {8 * MILLI, 0}, new long[] {6 * MILLI, 3 * MILLI});
        String[] lines = ForecastTable.render(plan, profile, simulation, run).split("\\R");
        assertThat(lines[0]).contains("run fwd", "run bwd");
        assertThat(lines[1].split("\\s+")).containsSubsequence("7.000", "5.000", "8.000", "6.000");
        assertThat(lines[2].split("\\s+")).containsSubsequence("0.000", "0.000", "0.000", "3.000");
        assertThat(lines[4]).isEqualTo("measured step 22.000 ms, mean of 4 iterations: +10.0 % of what was simulated");
    }
}
