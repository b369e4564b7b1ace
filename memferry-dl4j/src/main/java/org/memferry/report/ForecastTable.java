package org.memferry.report;

import org.memferry.base.Sizes;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Span;

import java.util.Locale;

/** What a plan is predicted to take, layer by layer and in total. Times are milliseconds of the steady iteration that was simulated. */
public final class ForecastTable {

    private static final double MILLIS = 1e6;

    private ForecastTable() {
    }

    /**
     * Renders a table with a row per layer: placements, predicted times and copied bytes, the profile's times with everything on the
     * device, and why.
     *
     * @param profile the times that the plan was made from; its columns say whether they were measured or estimated
     */
    public static String render(Plan plan, Profile profile, Simulation simulation) {
        return render(plan, profile, simulation, null);
    }

    /**
     * As above, with two more columns for how long each layer's visits lasted in a run, and a line for its iterations.
     *
     * @param run what was measured since the plan is in force; null if it has not run
     */
    public static String render(Plan plan, Profile profile, Simulation simulation, MeasuredRun run) {
        String source = profile.measured() ? "profiled" : "estimated";
        StringBuilder text = new StringBuilder();
        row(text, "layer", "type", "bytes", "forward", "backward", "gradient", "fwd ms", "bwd ms", run == null ? "" : "run fwd",
                run == null ? "" : "run bwd", "to device", "to host", source + " fwd", source + " bwd", "why");
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            LayerProfile times = profile.layers().get(i);
            row(text, layer.name(), layer.type(), Sizes.format(layer.parameterBytes()), decision.forward().name(), decision.backward().name(),
                    decision.gradientHome().name(), millis(nanos(simulation, Span.Kind.FORWARD, i)),
                    millis(nanos(simulation, Span.Kind.BACKWARD, i)), run == null ? "" : millis(run.forwardNanos(i)),
                    run == null ? "" : millis(run.backwardNanos(i)), Sizes.format(bytes(simulation, Span.Kind.TO_DEVICE, i)),
                    Sizes.format(bytes(simulation, Span.Kind.TO_HOST, i)), millis(times.forwardNanos()), millis(times.backwardNanos()),
                    decision.reason());
        }
        text.append(totals(simulation));
        if (run != null && run.stepNanos() > 0) {
            text.append(String.format(Locale.ROOT, "%nmeasured step %s ms, mean of %d iterations: %+.1f %% of what was simulated",
                    millis(run.stepNanos()), run.iterations() - 1, 100.0 * run.stepNanos() / simulation.stepNanos() - 100));
        }
        return text.toString();
    }

    /** One line: step time, bytes moved, device bytes. */
    public static String totals(Simulation simulation) {
        return String.format(Locale.ROOT, "simulated step %s ms, of which %s ms waiting for copies and %s ms for steps; %s to the device, %s "
                + "to the host, %s in place; device peak %s", millis(simulation.stepNanos()), millis(simulation.copyWaitNanos()),
                millis(simulation.updateWaitNanos()), Sizes.format(simulation.bytesToDevice()), Sizes.format(simulation.bytesToHost()),
                Sizes.format(simulation.directBytes()), Sizes.format(simulation.devicePeakBytes()));
    }

    private static void row(StringBuilder text, String... cells) {
        String line = String.format("%-20.20s %-22.22s %8s  %-8s  %-8s  %-6s %9s %9s %9s %9s %9s %9s %14s %14s  %s", (Object[]) cells);
        text.append(line.stripTrailing()).append('\n');
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.3f", nanos / MILLIS);
    }

    /** Visits of one pass to one layer, waiting included. */
    private static long nanos(Simulation simulation, Span.Kind kind, int layer) {
        return simulation.visits().stream().filter(span -> span.kind() == kind && span.layer() == layer).mapToLong(Span::nanos).sum();
    }

    private static long bytes(Simulation simulation, Span.Kind kind, int layer) {
        return simulation.copies().stream().filter(span -> span.kind() == kind && span.layer() == layer).mapToLong(Span::bytes).sum();
    }
}
