package org.memferry.report;

import org.memferry.base.Sizes;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

import java.util.Arrays;
import java.util.Locale;
import java.util.LongSummaryStatistics;

/** A plan for a reader: one line, or a table with a row per layer. */
public final class PlanTable {

    private PlanTable() {
    }

    /** The plan in one line: parameters, placements, device bytes against the budget. */
    public static String summary(Plan plan) {
        int[] count = new int[Placement.values().length];
        for (LayerPlan layer : plan.layers()) {
            count[layer.forward().ordinal()]++;
        }
        Budget budget = plan.budget();
        String device = budget.deviceBytes() == Long.MAX_VALUE ? "no device memory of its own"
                : "slab " + Sizes.format(plan.slabBytes()) + " of " + Sizes.format(budget.deviceBytes());
        return String.format(Locale.ROOT, "%,d parameters in %d layers: %d resident, %d prefetch, %d direct; %s; host %s",
                plan.network().parameterCount(), plan.layers().size(), count[Placement.RESIDENT.ordinal()],
                count[Placement.PREFETCH.ordinal()], count[Placement.DIRECT.ordinal()], device, Sizes.format(plan.hostBytes()));
    }

    /** The plan as a table: layer, type, parameters, bytes, placement forward and backward, gradient home, reason; then the totals. */
    public static String render(Plan plan) {
        String[][] rows = new String[plan.layers().size() + 1][];
        rows[0] = new String[] {"layer", "type", "parameters", "bytes", "forward", "backward", "gradient", "why"};
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            rows[i + 1] = new String[] {layer.name(), layer.type(), String.format(Locale.ROOT, "%,d", layer.parameterCount()),
                    Sizes.format(layer.parameterBytes()), decision.forward().name(), decision.backward().name(),
                    decision.gradientHome().name(), why(layer, decision)};
        }
        StringBuilder text = new StringBuilder();
        appendColumns(text, rows);
        appendTotals(text, plan);
        return text.toString();
    }

    private static String why(LayerDescription layer, LayerPlan decision) {
        return layer.updateNote().isEmpty() ? decision.reason() : decision.reason() + "; " + layer.updateNote();
    }

    private static void appendColumns(StringBuilder text, String[][] rows) {
        int[] width = new int[rows[0].length];
        for (String[] row : rows) {
            for (int c = 0; c < row.length; c++) {
                width[c] = Math.max(width[c], row[c].length());
            }
        }
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int c = 0; c < row.length; c++) {
                boolean number = c == 2 || c == 3;
                line.append(String.format("%" + (number ? "" : "-") + width[c] + "s  ", row[c]));
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
    }

    private static void appendTotals(StringBuilder text, Plan plan) {
        Budget budget = plan.budget();
        line(text, "host: parameters, gradients, updater state", plan.hostBytes());
        if (budget.deviceBytes() == Long.MAX_VALUE) {
            return;
        }
        line(text, "device: resident layers", plan.residentBytes());
        line(text, "device: " + slots("parameter", plan.parameterSlots()), plan.parameterSlotBytes());
        line(text, "device: " + slots("gradient", plan.gradientSlots()), plan.gradientSlotBytes());
        String activations = budget.activationsKnown() ? "activations and working memory, estimated"
                : budget.finalShapes() ? "activations and working memory: no estimate" : "activations: not known before the first batch";
        line(text, "device: " + activations, budget.activationBytes());
        line(text, "device: kept free", budget.headroomBytes());
        line(text, "device: budget", budget.deviceBytes());
    }

    private static String slots(String what, long[] bytes) {
        LongSummaryStatistics sizes = Arrays.stream(bytes).summaryStatistics();
        String text = bytes.length + " " + what + (bytes.length == 1 ? " slot" : " slots");
        if (bytes.length == 0) {
            return text;
        }
        return text + " of " + Sizes.format(sizes.getMin()) + (sizes.getMin() == sizes.getMax() ? "" : " to " + Sizes.format(sizes.getMax()));
    }

    private static void line(StringBuilder text, String what, long bytes) {
        text.append(String.format(Locale.ROOT, "%-60s %10s  %,d bytes%n", what, Sizes.format(bytes), bytes));
    }
}
