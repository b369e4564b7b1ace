package org.memferry.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.memferry.plan.Plan;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Timelines as Chrome's trace events, which {@code chrome://tracing} and Perfetto open: a process per timeline, a thread each for computation,
 * both directions of the link and optimizer steps, and a counter of device bytes. Times are microseconds, as the format wants.
 */
public final class TraceJson {

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final double MICROS = 1e3;

    private TraceJson() {
    }

    /** Renders a trace. */
    public static String render(Plan plan, List<Timeline> timelines) {
        ObjectNode root = MAPPER.createObjectNode().put("displayTimeUnit", "ms");
        ArrayNode events = root.putArray("traceEvents");
        for (int i = 0; i < timelines.size(); i++) {
            add(events, i + 1, plan, timelines.get(i));
        }
        try {
            return MAPPER.writeValueAsString(root);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of plain values could not be written", e);
        }
    }

    private static void add(ArrayNode events, int process, Plan plan, Timeline timeline) {
        name(events, "process_name", process, 0, Lane.name(timeline));
        for (Lane lane : Lane.values()) {
            name(events, "thread_name", process, lane.ordinal() + 1, lane.title());
        }
        for (Span span : timeline.spans()) {
            ObjectNode event = events.addObject().put("name", Lane.layerName(plan, span)).put("cat", span.kind().name().toLowerCase(Locale.ROOT))
                    .put("ph", "X").put("ts", span.startNanos() / MICROS).put("dur", span.nanos() / MICROS).put("pid", process)
                    .put("tid", Lane.of(span).ordinal() + 1);
            ObjectNode details = event.putObject("args").put("layer", span.layer()).put("what", Lane.what(span));
            if (span.bytes() > 0) {
                details.put("bytes", span.bytes());
            }
            if (span.waitedNanos() > 0) {
                details.put("waitedMicros", span.waitedNanos() / MICROS);
            }
        }
        for (Map.Entry<Long, Long> use : SlabUse.of(plan, timeline).entrySet()) {
            events.addObject().put("name", "device bytes").put("ph", "C").put("ts", use.getKey() / MICROS).put("pid", process)
                    .putObject("args").put("slots and residents", use.getValue());
        }
    }

    private static void name(ArrayNode events, String what, int process, int thread, String name) {
        events.addObject().put("name", what).put("ph", "M").put("pid", process).put("tid", thread).putObject("args").put("name", name);
    }
}
