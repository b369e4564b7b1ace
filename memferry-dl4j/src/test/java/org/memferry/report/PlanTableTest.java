package org.memferry.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;

import org.junit.jupiter.api.Test;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/** A plan reads as a table whose numbers add up. */
class PlanTableTest {

    private static Plan plan(Budget budget) {
        NetworkDescription network = new NetworkDescription(List.of(
                LayerDescription.builder("0", "DenseLayer").parameters(0, 1000).build(),
                LayerDescription.builder("vocabulary", "EmbeddingLayer").parameters(1000, 2_000_000).build(),
                LayerDescription.builder("2", "OutputLayer").parameters(2_001_000, 300_000).build()),
                new int[] {0, 1, 2}, new int[] {2, 1, 0}, new int[] {0, 1, 2}, 2_301_000, 4_602_000, 4);
        List<LayerPlan> layers = List.of(new LayerPlan(Placement.RESIDENT, Placement.RESIDENT, GradientHome.SLOT, "small"),
                new LayerPlan(Placement.DIRECT, Placement.DIRECT, GradientHome.DIRECT, "larger than a slot"),
                new LayerPlan(Placement.PREFETCH, Placement.DIRECT, GradientHome.SLOT, "fixed by you"));
        return Plan.builder(network, layers, budget).parameterSlots(1_200_000, 1_200_000).gradientSlots(1_200_000, 1_200_000).build();
    }

    @Test
    void a_plan_is_a_row_per_layer_and_a_line_per_use_of_memory() {
        String expected = String.join("\n",
                "layer       type            parameters    bytes  forward   backward  gradient  why",
                "0           DenseLayer           1,000  3.91 KB  RESIDENT  RESIDENT  SLOT      small",
                "vocabulary  EmbeddingLayer   2,000,000  7.63 MB  DIRECT    DIRECT    DIRECT    larger than a slot",
                "2           OutputLayer        300,000  1.14 MB  PREFETCH  DIRECT    SLOT      fixed by you",
                "host: parameters, gradients, updater state                      35.1 MB  36,816,000 bytes",
                "device: resident layers                                         4.00 KB  4,096 bytes",
                "device: 2 parameter slots of 1.14 MB                            2.29 MB  2,400,256 bytes",
                "device: 2 gradient slots of 1.14 MB                             2.29 MB  2,400,256 bytes",
                "device: activations and working memory, estimated               1.00 MB  1,048,576 bytes",
                "device: kept free                                               64.0 KB  65,536 bytes",
                "device: budget                                                  8.00 MB  8,388,608 bytes", "");
        assertThat(PlanTable.render(plan(new Budget(8 << 20, 1 << 20, true, 64 << 10, true))).replace(System.lineSeparator(), "\n"))
                .isEqualTo(expected);
    }

    @Test
    void a_plan_in_one_line_names_placements_and_bytes() {
        assertThat(PlanTable.summary(plan(new Budget(8 << 20, 0, true, 0, true)))).isEqualTo(
                "2,301,000 parameters in 3 layers: 1 resident, 1 prefetch, 1 direct; slab 4.58 MB of 8.00 MB; host 35.1 MB");
    }

    @Test
    void a_device_without_own_memory_has_no_lines_for_it() {
        Plan plan = Plan.inPlace(plan(new Budget(8 << 20, 0, true, 0, true)).network(), new Budget(Long.MAX_VALUE, 0, true, 0, true));
        assertThat(PlanTable.render(plan)).doesNotContain("device:").contains("the device computes in host memory");
        assertThat(PlanTable.summary(plan)).contains("3 direct; no device memory of its own");
    }

    @Test
    void what_is_not_known_of_the_activations_is_said() {
        String shapesKnown = PlanTable.render(plan(new Budget(8 << 20, 0, false, 0, true)));
        String shapesUnknown = PlanTable.render(plan(new Budget(8 << 20, 0, false, 0, false)));
        assertThat(shapesKnown).contains("activations and working memory: no estimate");
        assertThat(shapesUnknown).contains("activations: not known before the first batch");
    }

    @Test
    void the_reader_s_locale_changes_no_digit() {
        Locale before = Locale.getDefault();
        try {
            Budget budget = new Budget(8 << 20, 0, true, 0, true);
            Locale.setDefault(Locale.ROOT);
            String expected = PlanTable.render(plan(budget));
            Locale.setDefault(new Locale("ar", "EG", ""));
            assertThat(PlanTable.render(plan(budget))).isEqualTo(expected);
            Locale.setDefault(Locale.GERMANY);
            assertThat(PlanTable.render(plan(budget))).isEqualTo(expected);
        } finally {
            Locale.setDefault(before);
        }
    }
}
