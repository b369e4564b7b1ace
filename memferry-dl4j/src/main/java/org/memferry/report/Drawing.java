package org.memferry.report;

import org.memferry.base.Sizes;
import org.memferry.plan.Plan;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The charts of a {@link TimelinePage}: inline SVG over one axis of time, in units of its view box. Colours are the style sheet's. */
final class Drawing {

    private static final double LEFT = 110;
    private static final double WIDTH = 1200;
    private static final double RIGHT = WIDTH - 20;
    private static final double ROW = 26;
    private static final double BAR = 20;
    private static final double HEAD = 24;
    private static final double USE_HEIGHT = 150;
    private static final int BINS = 60;
    private static final double MILLIS = 1e6;
    /** Where the base of a label is beside its line: what is in use lies above the activations and below the budget. */
    private static final double LEVEL_ABOVE = -4;
    private static final double LEVEL_BELOW = 13;
    /** A bar narrower than this could not be seen. */
    private static final double THINNEST = 2;

    private final Plan plan;
    private final List<Timeline> timelines;
    private final long longest;

    Drawing(Plan plan, List<Timeline> timelines) {
        this.plan = plan;
        this.timelines = timelines;
        this.longest = Math.max(1, timelines.stream().mapToLong(Timeline::nanos).max().orElse(1));
    }

    private double x(long nanos) {
        return LEFT + (RIGHT - LEFT) * Math.max(0, Math.min(longest, nanos)) / longest;
    }

    private static String format(String format, Object... arguments) {
        return String.format(Locale.ROOT, format, arguments);
    }

    private static String open(String id, double height, String label) {
        return format("<svg id=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" aria-label=\"%s\">%n", id, WIDTH, height, Html.text(label));
    }

    /** Computation, copies each way and steps, a block of rows per timeline, the first on top. */
    String gantt() {
        double block = HEAD + Lane.values().length * ROW;
        double height = timelines.size() * block + HEAD;
        StringBuilder svg = new StringBuilder(open("gantt", height, "computation, copies and optimizer steps over time"));
        svg.append("<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                + "<rect width=\"2\" height=\"5\" class=\"hatch\"/></pattern></defs>\n");
        axis(svg, height - HEAD);
        for (int i = 0; i < timelines.size(); i++) {
            Timeline timeline = timelines.get(i);
            double top = i * block;
            svg.append(format("<text class=\"block\" x=\"4\" y=\"%.1f\">%s: %.3f ms</text>%n", top + 17, Lane.name(timeline),
                    timeline.nanos() / MILLIS));
            svg.append(format("<line class=\"end\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.1f\" y2=\"%.1f\"/>%n", x(timeline.nanos()),
                    x(timeline.nanos()), top + HEAD, top + block));
            for (Lane lane : Lane.values()) {
                row(svg, timeline, lane, top + HEAD + lane.ordinal() * ROW);
            }
        }
        return svg.append("</svg>\n").toString();
    }

    private void row(StringBuilder svg, Timeline timeline, Lane lane, double top) {
        svg.append(format("<text class=\"lane\" x=\"%.0f\" y=\"%.1f\">%s</text>%n", LEFT - 8, top + 15, lane.title()));
        svg.append("<g class=\"row\">\n");
        for (Span span : timeline.spans()) {
            if (Lane.of(span) == lane && span.endNanos() > 0) {
                bar(svg, timeline, span, top);
            }
        }
        svg.append("</g>\n");
    }

    private void bar(StringBuilder svg, Timeline timeline, Span span, double top) {
        double from = x(span.startNanos());
        double width = Math.max(THINNEST, x(span.endNanos()) - from);
        String about = Html.text(about(timeline, span));
        svg.append(format("<rect class=\"bar %s\" role=\"img\" tabindex=\"-1\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" "
                + "aria-label=\"%s\"><title>%s</title></rect>%n", style(span), from, top, width, BAR, about, about));
        double waited = Math.min(width, x(span.startNanos() + span.waitedNanos()) - from);
        if (waited > THINNEST) {
            svg.append(format("<rect class=\"waited\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\"/>%n", from, top, waited,
                    BAR));
        }
        String name = Lane.layerName(plan, span);
        // Not over the hatching of a wait, where it could not be read.
        if (width - Math.max(0, waited) > 7.5 * name.length() + 8) {
            svg.append(format("<text class=\"name\" x=\"%.2f\" y=\"%.1f\">%s</text>%n", from + Math.max(0, waited) + 4, top + 14, Html.text(name)));
        }
    }

    private static String style(Span span) {
        return span.kind().name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private String about(Timeline timeline, Span span) {
        String text = format("%s, %s: layer %s, %s, %.3f ms from %.3f ms on", Lane.name(timeline), Lane.of(span).title(),
                Lane.layerName(plan, span), Lane.what(span), span.nanos() / MILLIS, span.startNanos() / MILLIS);
        if (span.bytes() > 0) {
            text += format(", %s at %.2f GB/s", Sizes.format(span.bytes()), span.bytes() / (double) (1L << 30) / (Math.max(1, span.nanos()) / 1e9));
        }
        return span.waitedNanos() > 0 ? text + format(", of which %.3f ms waiting for copies", span.waitedNanos() / MILLIS) : text;
    }

    private void axis(StringBuilder svg, double bottom) {
        double step = tick(longest / MILLIS);
        for (double millis = 0; millis <= longest / MILLIS; millis += step) {
            double at = x(Math.round(millis * MILLIS));
            svg.append(format("<line class=\"grid\" x1=\"%.2f\" x2=\"%.2f\" y1=\"0\" y2=\"%.1f\"/><text class=\"tick\" x=\"%.2f\" y=\"%.1f\">%s"
                    + "</text>%n", at, at, bottom, at, bottom + 16, trimmed(millis) + " ms"));
        }
    }

    private static String trimmed(double millis) {
        return format("%.4f", millis).replaceAll("\\.?0+$", "");
    }

    /** A round number that makes five to ten ticks. */
    private static double tick(double range) {
        double power = Math.pow(10, Math.floor(Math.log10(range / 5)));
        double times = range / 5 / power;
        return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
    }

    /** Device bytes over time against the budget; null where the device has no memory of its own. */
    String deviceBytes() {
        long budget = plan.budget().deviceBytes();
        if (budget == Long.MAX_VALUE) {
            return null;
        }
        long activations = plan.budget().activationBytes();
        long top = Math.max(budget, Math.addExact(plan.slabBytes(), activations));
        StringBuilder svg = new StringBuilder(open("device", USE_HEIGHT + 2 * HEAD, "device bytes in use over time, against the budget of "
                + Sizes.exact(budget)));
        axis(svg, USE_HEIGHT + HEAD);
        level(svg, "budget", budget, top, LEVEL_ABOVE, "budget " + Sizes.format(budget));
        for (Timeline timeline : timelines) {
            svg.append(format("<path class=\"use %s\" d=\"%s\"><title>%s: at most %s in slots and resident layers, and %s of activations</title>"
                    + "</path>%n", Lane.name(timeline), path(timeline, activations, top), Lane.name(timeline),
                    Sizes.format(SlabUse.of(plan, timeline).values().stream().mapToLong(v -> v).max().orElse(0)), Sizes.format(activations)));
        }
        if (activations > 0) {
            level(svg, "activations", activations, top, LEVEL_BELOW, "activations, estimated " + Sizes.format(activations));
        }
        return svg.append("</svg>\n").toString();
    }

    private static double y(long bytes, long top) {
        return HEAD + USE_HEIGHT * (1 - (double) bytes / top);
    }

    private static void level(StringBuilder svg, String style, long bytes, long top, double apart, String label) {
        svg.append(format("<line class=\"%s\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.2f\" y2=\"%.2f\"/><text class=\"level\" x=\"%.0f\" y=\"%.2f\">%s"
                + "</text>%n", style, LEFT, RIGHT, y(bytes, top), y(bytes, top), RIGHT, y(bytes, top) + apart, Html.text(label)));
    }

    private String path(Timeline timeline, long activations, long top) {
        StringBuilder path = new StringBuilder();
        double last = y(activations, top);
        TreeMap<Long, Long> use = SlabUse.of(plan, timeline);
        for (Map.Entry<Long, Long> at : use.entrySet()) {
            double level = y(at.getValue() + activations, top);
            path.append(path.length() == 0 ? format("M%.2f %.2f", x(0), level) : format("L%.2f %.2fL%.2f %.2f", x(at.getKey()), last,
                    x(at.getKey()), level));
            last = level;
        }
        return path.append(format("L%.2f %.2f", x(timeline.nanos()), last)).toString();
    }

    /** How busy each direction of the link is, in parts of the iteration. */
    String link() {
        double block = 2 * ROW + HEAD;
        StringBuilder svg = new StringBuilder(open("link", timelines.size() * block + HEAD, "how busy the link is, each way, over time"));
        axis(svg, timelines.size() * block);
        for (int i = 0; i < timelines.size(); i++) {
            double top = i * block;
            svg.append(format("<text class=\"block\" x=\"4\" y=\"%.1f\">%s</text>%n", top + 17, Lane.name(timelines.get(i))));
            strip(svg, timelines.get(i), Span.Kind.TO_DEVICE, top + HEAD);
            strip(svg, timelines.get(i), Span.Kind.TO_HOST, top + HEAD + ROW);
        }
        return svg.append("</svg>\n").toString();
    }

    private void strip(StringBuilder svg, Timeline timeline, Span.Kind kind, double top) {
        String title = kind == Span.Kind.TO_DEVICE ? Lane.TO_DEVICE.title() : Lane.TO_HOST.title();
        svg.append(format("<text class=\"lane\" x=\"%.0f\" y=\"%.1f\">%s</text>%n", LEFT - 8, top + 15, title));
        double width = (RIGHT - LEFT) / BINS;
        for (int bin = 0; bin < BINS; bin++) {
            long from = longest * bin / BINS;
            long until = longest * (bin + 1) / BINS;
            double busy = busy(timeline, kind, from, until);
            if (busy > 0) {
                svg.append(format("<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s %s: busy %.0f %% of %.3f to "
                        + "%.3f ms</title></rect>%n", style(kind), LEFT + bin * width, top + BAR * (1 - busy), width, BAR * busy,
                        Lane.name(timeline), title, 100 * busy, from / MILLIS, until / MILLIS));
            }
        }
        svg.append(format("<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\"/>%n", LEFT, RIGHT, top + BAR, top + BAR));
    }

    private static String style(Span.Kind kind) {
        return kind.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static double busy(Timeline timeline, Span.Kind kind, long from, long until) {
        long sum = 0;
        for (Span span : timeline.spans()) {
            if (span.kind() == kind) {
                sum += Math.max(0, Math.min(until, span.endNanos()) - Math.max(from, span.startNanos()));
            }
        }
        return Math.min(1, (double) sum / Math.max(1, until - from));
    }
}
