package org.memferry.network;

import org.memferry.device.Direction;
import org.memferry.device.TimelineListener;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Span;
import org.memferry.plan.Timeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Writes down what takes place in some iterations, in memory that is taken beforehand and never grows: what there is no room for is counted
 * and dropped. Called by the training thread and by the threads that copy and step.
 */
final class TimelineRecorder implements TimelineListener {

    private static final Span.Kind[] KINDS = Span.Kind.values();
    private static final int FIELDS = 6;
    /** Room for each visit and copy to take place twice, which repeated copies may. */
    private static final int SPANS_PER_LAYER = 2 * KINDS.length;
    private static final int SPARE = 16;

    /** Byte offset of each layer in the host regions, ascending. */
    private final long[] offsets;
    private final long[] starts;
    private final long[] entries;
    private int size;
    private long dropped;
    private int opened;
    private long end;

    /**
     * Takes the memory.
     *
     * @param iterations how many are recorded, from the next one on
     */
    TimelineRecorder(int iterations, NetworkDescription network) {
        offsets = network.layers().stream().mapToLong(d -> Math.multiplyExact(d.offset(), (long) d.elementBytes())).toArray();
        // One more start says where the last one ends.
        starts = new long[Math.addExact(iterations, 1)];
        int spans = Math.multiplyExact(iterations, Math.addExact(Math.multiplyExact(SPANS_PER_LAYER, offsets.length), SPARE));
        entries = new long[Math.multiplyExact(spans, FIELDS)];
    }

    /** An iteration opens. Returns true if this one is not recorded any more. */
    synchronized boolean opens(long now) {
        if (opened < starts.length) {
            starts[opened++] = now;
            end = now;
        }
        return opened == starts.length;
    }

    /** An iteration is closed. */
    synchronized void closes(long now) {
        if (opened < starts.length) {
            end = now;
        }
    }

    @Override
    public void visited(int layer, boolean backward, long start, long stop, long waited) {
        add(backward ? Span.Kind.BACKWARD : Span.Kind.FORWARD, layer, start, stop, waited, 0);
    }

    @Override
    public void copied(Direction direction, long hostOffset, long bytes, long start, long stop) {
        add(direction == Direction.TO_DEVICE ? Span.Kind.TO_DEVICE : Span.Kind.TO_HOST, Arrays.binarySearch(offsets, hostOffset), start,
                stop, 0, bytes);
    }

    @Override
    public void updated(int layer, long start, long stop) {
        add(Span.Kind.UPDATE, layer, start, stop, 0, 0);
    }

    private synchronized void add(Span.Kind kind, int layer, long start, long stop, long waited, long bytes) {
        if (opened == 0 || opened == starts.length) {
            return;
        }
        if (size == entries.length) {
            dropped++;
            return;
        }
        entries[size++] = kind.ordinal();
        entries[size++] = layer;
        entries[size++] = start;
        entries[size++] = stop;
        entries[size++] = waited;
        entries[size++] = bytes;
    }

    /** The iterations that are complete. */
    synchronized List<Timeline> timelines() {
        List<Timeline> timelines = new ArrayList<>();
        for (int i = 0; i < Math.min(opened, starts.length - 1); i++) {
            long until = i + 1 < opened ? starts[i + 1] : end;
            if (until > starts[i]) {
                timelines.add(Timeline.measured(until - starts[i], spans(starts[i], until), dropped));
            }
        }
        return timelines;
    }

    private List<Span> spans(long from, long until) {
        List<Span> spans = new ArrayList<>();
        for (int i = 0; i < size; i += FIELDS) {
            long stop = entries[i + 3];
            if (stop > from && stop <= until) {
                spans.add(new Span(KINDS[(int) entries[i]], (int) entries[i + 1], entries[i + 2] - from, stop - from, entries[i + 4],
                        entries[i + 5]));
            }
        }
        return spans;
    }
}
