package org.memferry.planner;

import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.TimelineListener;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Simulation;
import org.memferry.plan.Span;

import java.util.Arrays;

/** Keeps what took place in the present iteration, in numbers, since all but the last iteration of a simulation are thrown away. */
final class SimulationLog implements TimelineListener {

    private static final Span.Kind[] KINDS = Span.Kind.values();
    private static final int FIELDS = 6;

    /** Byte offset of each layer in the host regions, ascending. */
    private final long[] offsets;
    private long[] entries = new long[64 * FIELDS];
    private int size;
    private long startNanos;
    private long waitedBefore;
    private long directBefore;

    SimulationLog(NetworkDescription network) {
        offsets = network.layers().stream().mapToLong(d -> Math.multiplyExact(d.offset(), (long) d.elementBytes())).toArray();
    }

    /** An iteration begins: forgets the one before. */
    void begin(long nowNanos, DeviceMetrics metrics) {
        size = 0;
        startNanos = nowNanos;
        waitedBefore = metrics.waitNanos();
        directBefore = metrics.directBytes();
    }

    @Override
    public void visited(int layer, boolean backward, long start, long end, long waited) {
        add(backward ? Span.Kind.BACKWARD : Span.Kind.FORWARD, layer, start, end, waited, 0);
    }

    @Override
    public void copied(Direction direction, long hostOffset, long bytes, long start, long end) {
        add(direction == Direction.TO_DEVICE ? Span.Kind.TO_DEVICE : Span.Kind.TO_HOST, Arrays.binarySearch(offsets, hostOffset), start,
                end, 0, bytes);
    }

    @Override
    public void updated(int layer, long start, long end) {
        add(Span.Kind.UPDATE, layer, start, end, 0, 0);
    }

    private void add(Span.Kind kind, int layer, long start, long end, long waited, long bytes) {
        if (size == entries.length) {
            entries = Arrays.copyOf(entries, 2 * size);
        }
        entries[size++] = kind.ordinal();
        entries[size++] = layer;
        entries[size++] = start;
        entries[size++] = end;
        entries[size++] = waited;
        entries[size++] = bytes;
    }

    /** The iteration up to now, but for what the device holds and what was waited for beside copies. */
    Simulation.Builder result(long nowNanos, DeviceMetrics metrics, long updateWaitNanos) {
        Simulation.Builder result = Simulation.builder().iteration(nowNanos - startNanos)
                .waited(metrics.waitNanos() - waitedBefore, updateWaitNanos).direct(metrics.directBytes() - directBefore);
        for (int i = 0; i < size; i += FIELDS) {
            result.add(new Span(KINDS[(int) entries[i]], (int) entries[i + 1], entries[i + 2] - startNanos, entries[i + 3] - startNanos,
                    entries[i + 4], entries[i + 5]));
        }
        return result;
    }
}
