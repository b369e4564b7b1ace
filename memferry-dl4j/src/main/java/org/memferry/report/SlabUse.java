package org.memferry.report;

import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Device bytes in use over an iteration: resident layers, parameters from the start of their copy to the end of the last visit that reads
 * them, gradients from the start of their visit until they are on the host. Found from what took place and the plan, so that simulated and
 * recorded iterations are measured alike.
 */
final class SlabUse {

    private final Plan plan;
    private final Timeline timeline;
    private final TreeMap<Long, Long> changes = new TreeMap<>();

    private SlabUse(Plan plan, Timeline timeline) {
        this.plan = plan;
        this.timeline = timeline;
        for (int layer = 0; layer < plan.layers().size(); layer++) {
            LayerPlan decision = plan.layers().get(layer);
            List<Span> visits = spans(layer, Span.Kind.FORWARD, Span.Kind.BACKWARD);
            if (decision.forward() == Placement.PREFETCH || decision.backward() == Placement.PREFETCH) {
                addCopies(plan.network().layers().get(layer).parameterBytes(), visits, spans(layer, Span.Kind.TO_DEVICE));
            }
            if (decision.gradientHome() == GradientHome.SLOT) {
                addGradients(plan.network().layers().get(layer).gradientBytes(), visits, spans(layer, Span.Kind.TO_HOST));
            }
        }
    }

    /** Bytes from each time on, in nanoseconds from the start of the iteration; the first time is 0. */
    static TreeMap<Long, Long> of(Plan plan, Timeline timeline) {
        TreeMap<Long, Long> bytes = new TreeMap<>();
        long now = plan.residentBytes();
        bytes.put(0L, now);
        for (Map.Entry<Long, Long> change : new SlabUse(plan, timeline).changes.entrySet()) {
            now += change.getValue();
            bytes.put(change.getKey(), now);
        }
        return bytes;
    }

    private List<Span> spans(int layer, Span.Kind... kinds) {
        List<Span.Kind> asked = List.of(kinds);
        return timeline.spans().stream().filter(span -> span.layer() == layer && asked.contains(span.kind())).collect(Collectors.toList());
    }

    /** What a copy brought stays until the last visit before the next copy; after the last copy without a visit, for the next iteration. */
    private void addCopies(long bytes, List<Span> visits, List<Span> copies) {
        List<Span> all = new ArrayList<>(copies);
        long before = all.isEmpty() ? Long.MAX_VALUE : all.get(0).startNanos();
        // Brought by the iteration before.
        hold(bytes, 0, lastEnd(visits, Long.MIN_VALUE, before, 0));
        for (int i = 0; i < all.size(); i++) {
            long until = i + 1 < all.size() ? all.get(i + 1).startNanos() : Long.MAX_VALUE;
            hold(bytes, all.get(i).startNanos(), lastEnd(visits, all.get(i).startNanos(), until, timeline.nanos()));
        }
    }

    /** End of the last visit that lasts beyond a time and begins before another. */
    private static long lastEnd(List<Span> visits, long from, long until, long otherwise) {
        return visits.stream().filter(v -> v.endNanos() > from && v.startNanos() < until).mapToLong(Span::endNanos).max().orElse(otherwise);
    }

    private void addGradients(long bytes, List<Span> visits, List<Span> copies) {
        for (Span visit : visits) {
            if (visit.kind() == Span.Kind.BACKWARD) {
                long gone = copies.stream().filter(c -> c.endNanos() >= visit.endNanos()).mapToLong(Span::endNanos).findFirst()
                        .orElse(visit.endNanos());
                hold(bytes, visit.startNanos(), gone);
            }
        }
    }

    private void hold(long bytes, long from, long until) {
        long start = Math.max(0, from);
        if (until > start) {
            changes.merge(start, bytes, Long::sum);
            // What the next iteration begins with is not given back.
            if (until < timeline.nanos()) {
                changes.merge(until, -bytes, Long::sum);
            }
        }
    }
}
