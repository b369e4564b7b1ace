package org.memferry.plan;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/**
 * What took place when in one iteration, recorded from a run or simulated: the form that pictures are drawn from, the same for both.
 * Immutable; pure data.
 */
public final class Timeline {

    private final boolean measured;
    private final long nanos;
    private final List<Span> spans;
    private final long dropped;

    private Timeline(boolean measured, long nanos, List<Span> spans, long dropped) {
        List<Span> sorted = new ArrayList<>(Objects.requireNonNull(spans, "spans"));
        sorted.sort(Comparator.comparingLong(Span::startNanos));
        if (nanos < 0 || dropped < 0) {
            throw new IllegalArgumentException("timeline of " + nanos + " ns, " + dropped + " spans dropped (expected: at least 0 of both)");
        }
        this.measured = measured;
        this.nanos = nanos;
        this.spans = Collections.unmodifiableList(sorted);
        this.dropped = dropped;
    }

    /**
     * A recorded iteration.
     *
     * @param nanos   from its start to the start of the next, or to its end if it was the last
     * @param spans   visits, and the copies and steps that ended in it, in times from its start; the layer of a step of many layers is -1
     * @param dropped spans that the record had no room for
     */
    public static Timeline measured(long nanos, List<Span> spans, long dropped) {
        return new Timeline(true, nanos, spans, dropped);
    }

    /** The iteration of a simulation. */
    public static Timeline of(Simulation simulation) {
        List<Span> spans = new ArrayList<>(simulation.visits());
        spans.addAll(simulation.copies());
        spans.addAll(simulation.updates());
        return new Timeline(false, simulation.iterationNanos(), spans, 0);
    }

    /** True if it was recorded from a run, false if it was simulated. */
    public boolean isMeasured() {
        return measured;
    }

    /** Length of the iteration. */
    public long nanos() {
        return nanos;
    }

    /** Visits, copies and steps by their start; copies that began in the iteration before start at a negative time. */
    public List<Span> spans() {
        return spans;
    }

    /** Spans that there was no room for: not 0 means that the picture has holes. */
    public long dropped() {
        return dropped;
    }

    /** Time of all spans of some kinds. */
    public long nanosOf(Span.Kind... kinds) {
        List<Span.Kind> asked = List.of(kinds);
        return spans.stream().filter(span -> asked.contains(span.kind())).mapToLong(Span::nanos).sum();
    }

    /** Time that visits stood still for copies. */
    public long waitedNanos() {
        return spans.stream().mapToLong(Span::waitedNanos).sum();
    }

    /** Bytes of the copies of a kind. */
    public long bytesOf(Span.Kind kind) {
        return spans.stream().filter(span -> span.kind() == kind).mapToLong(Span::bytes).sum();
    }
}
