package org.memferry.report;

import org.memferry.base.Sizes;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.Plan;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

import java.util.List;
import java.util.Locale;

/**
 * One iteration as a page of HTML that needs nothing beside it: computation, copies and optimizer steps over time, what was predicted above
 * what was measured; device bytes against the budget; the link's use; the plan. Readable in light and dark, without a mouse and without
 * scripts.
 */
public final class TimelinePage {

    private static final double MILLIS = 1e6;
    private static final String[][] LEGEND = {{"forward", "forward"}, {"backward", "backward"}, {"waiting", "waiting for a copy"},
        {"to-device", "parameters to the device"}, {"to-host", "gradients to the host"}, {"update", "optimizer steps on the CPU"}};

    private final String title;
    private final Plan plan;
    private final List<Timeline> timelines;
    private final StringBuilder page = new StringBuilder();

    private TimelinePage(String title, Plan plan, List<Timeline> timelines) {
        this.title = title;
        this.plan = plan;
        this.timelines = timelines;
    }

    /**
     * Renders the page.
     *
     * @param title     what was run and where
     * @param plan      what it followed
     * @param timelines of the same plan, the first on top
     * @throws IllegalArgumentException if there is none
     */
    public static String render(String title, Plan plan, List<Timeline> timelines) {
        if (timelines.isEmpty()) {
            throw new IllegalArgumentException("no timeline (expected: at least one, predicted or measured)");
        }
        return new TimelinePage(title, plan, timelines).render();
    }

    private String render() {
        Drawing drawing = new Drawing(plan, timelines);
        line("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">");
        line("<title>MemFerry: %s</title>\n<link rel=\"icon\" href=\"data:,\">", Html.text(title));
        line("<style>\n%s</style>\n</head>\n<body>\n<main>", Html.part("page.css"));
        line("<h1>One iteration: %s</h1>\n<p>%s; strategy %s.</p>", Html.text(title), Html.text(PlanTable.summary(plan)), plan.strategy());
        figures();
        line("<h2 id=\"time\">Time</h2>");
        legend();
        line("<p class=\"hint\">Bars answer to the arrow keys, Home and End once one has the focus; plus and minus widen the chart.</p>");
        line("<div class=\"tools\"><button type=\"button\" id=\"wider\">wider</button> <button type=\"button\" id=\"narrower\">narrower</button>"
                + " <output id=\"detail\" aria-live=\"polite\">no bar chosen</output></div>");
        line("<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"timeline\">\n%s</div>", drawing.gantt());
        String device = drawing.deviceBytes();
        if (device != null) {
            line("<h2 id=\"memory\">Device memory</h2>\n<p>Slots and resident layers on top of activations, against the budget%s.</p>",
                    timelines.size() > 1 ? "; <span class=\"key predicted\">predicted</span>, <span class=\"key measured\">measured</span>" : "");
            line("<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"device memory\">\n%s</div>", device);
            line("<h2 id=\"links\">Link</h2>\n<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"link\">\n%s</div>", drawing.link());
        }
        line("<h2 id=\"plan\">Plan</h2>");
        planTable();
        line("</main>\n<script>\n%s</script>\n</body>\n</html>", Html.part("page.js"));
        return page.toString();
    }

    private void line(String format, Object... arguments) {
        page.append(arguments.length == 0 ? format : String.format(Locale.ROOT, format, arguments)).append('\n');
    }

    private void legend() {
        line("<ul class=\"legend\">");
        for (String[] entry : LEGEND) {
            line("<li><span class=\"swatch %s\"></span>%s</li>", entry[0], entry[1]);
        }
        line("</ul>");
    }

    private void figures() {
        line("<table class=\"figures\"><thead><tr><th scope=\"col\">iteration</th><th scope=\"col\">ms</th><th scope=\"col\">compute ms</th>"
                + "<th scope=\"col\">waiting for copies ms</th><th scope=\"col\">optimizer steps ms</th><th scope=\"col\">to device</th>"
                + "<th scope=\"col\">link busy</th><th scope=\"col\">to host</th><th scope=\"col\">link busy</th></tr></thead><tbody>");
        for (Timeline t : timelines) {
            line("<tr><th scope=\"row\">%s</th><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td>%s%s</tr>", Lane.name(t), t.nanos() / MILLIS,
                    (t.nanosOf(Span.Kind.FORWARD, Span.Kind.BACKWARD) - t.waitedNanos()) / MILLIS, t.waitedNanos() / MILLIS,
                    t.nanosOf(Span.Kind.UPDATE) / MILLIS, direction(t, Span.Kind.TO_DEVICE), direction(t, Span.Kind.TO_HOST));
        }
        line("</tbody></table>");
        for (Timeline t : timelines) {
            if (t.dropped() > 0) {
                line("<p class=\"warning\">The record had no room for %d spans: the picture has holes.</p>", t.dropped());
            }
        }
    }

    private static String direction(Timeline t, Span.Kind kind) {
        long nanos = t.nanosOf(kind);
        String rate = nanos == 0 ? "" : String.format(Locale.ROOT, " at %.2f GB/s", t.bytesOf(kind) / (double) (1L << 30) / (nanos / 1e9));
        return String.format(Locale.ROOT, "<td>%s%s</td><td>%.0f %%</td>", Sizes.format(t.bytesOf(kind)), rate, 100.0 * nanos / Math.max(1, t.nanos()));
    }

    private void planTable() {
        StringBuilder heads = new StringBuilder();
        for (Timeline t : timelines) {
            heads.append("<th scope=\"col\">").append(Lane.name(t)).append(" fwd ms</th><th scope=\"col\">").append(Lane.name(t))
                    .append(" bwd ms</th>");
        }
        line("<div class=\"chart\" tabindex=\"0\" role=\"region\" aria-label=\"plan\">\n<table><thead><tr><th scope=\"col\">layer</th>"
                + "<th scope=\"col\">type</th><th scope=\"col\">bytes</th><th scope=\"col\">forward</th><th scope=\"col\">backward</th>"
                + "<th scope=\"col\">gradient</th>%s<th scope=\"col\">why</th></tr></thead><tbody>", heads);
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerDescription layer = plan.network().layers().get(i);
            LayerPlan decision = plan.layers().get(i);
            line("<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>%s<td class=\"why\">%s</td></tr>",
                    Html.text(layer.name()), Html.text(layer.type()), Sizes.format(layer.parameterBytes()), decision.forward(),
                    decision.backward(), decision.gradientHome(), times(i), Html.text(decision.reason()));
        }
        line("</tbody></table>\n</div>");
    }

    private String times(int layer) {
        StringBuilder cells = new StringBuilder();
        for (Timeline t : timelines) {
            cells.append(cell(t, layer, Span.Kind.FORWARD)).append(cell(t, layer, Span.Kind.BACKWARD));
        }
        return cells.toString();
    }

    private static String cell(Timeline t, int layer, Span.Kind kind) {
        long nanos = t.spans().stream().filter(s -> s.kind() == kind && s.layer() == layer).mapToLong(Span::nanos).sum();
        return String.format(Locale.ROOT, "<td>%.3f</td>", nanos / MILLIS);
    }
}
