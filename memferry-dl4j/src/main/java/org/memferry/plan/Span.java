package org.memferry.plan;

import java.util.Objects;

/** One thing that took time in a simulated iteration. Immutable. Times are nanoseconds from the start of the iteration. */
public final class Span {

    /** What took the time. */
    public enum Kind {
        /** A visit of a layer by the forward pass. */
        FORWARD,
        /** A visit of a layer by the backward pass. */
        BACKWARD,
        /** A copy of a layer's parameters to the device. */
        TO_DEVICE,
        /** A copy of a layer's gradient to the host. */
        TO_HOST,
        /** The optimizer's step of a layer on the update worker. */
        UPDATE
    }

    private final Kind kind;
    private final int layer;
    private final long startNanos;
    private final long endNanos;
    private final long waitedNanos;
    private final long bytes;

    /**
     * @param kind        what took the time
     * @param layer       index of the layer
     * @param startNanos  when it began; negative for a copy that began in the iteration before
     * @param endNanos    when it was over
     * @param waitedNanos how much of a visit stood still for copies; 0 for the others
     * @param bytes       bytes of a copy; 0 for the others
     */
    public Span(Kind kind, int layer, long startNanos, long endNanos, long waitedNanos, long bytes) {
        this.kind = Objects.requireNonNull(kind, "kind");
        this.layer = layer;
        this.startNanos = startNanos;
        this.endNanos = endNanos;
        this.waitedNanos = waitedNanos;
        this.bytes = bytes;
    }

    /** What took the time. */
    public Kind kind() {
        return kind;
    }

    /** Index of the layer in the network description. */
    public int layer() {
        return layer;
    }

    /** When it began; negative for a copy that began in the iteration before. */
    public long startNanos() {
        return startNanos;
    }

    /** When it was over. */
    public long endNanos() {
        return endNanos;
    }

    /** From the start to the end. */
    public long nanos() {
        return endNanos - startNanos;
    }

    /** How much of a visit stood still for copies; 0 for the others. */
    public long waitedNanos() {
        return waitedNanos;
    }

    /** Bytes of a copy; 0 for the others. */
    public long bytes() {
        return bytes;
    }

    @Override
    public boolean equals(Object o) {
        if (!(o instanceof Span)) {
            return false;
        }
        Span other = (Span) o;
        return kind == other.kind && layer == other.layer && startNanos == other.startNanos && endNanos == other.endNanos
                && waitedNanos == other.waitedNanos && bytes == other.bytes;
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, layer, startNanos, endNanos, waitedNanos, bytes);
    }

    @Override
    public String toString() {
        return kind + " " + layer + " " + startNanos + ".." + endNanos + (waitedNanos > 0 ? " waited " + waitedNanos : "");
    }
}
