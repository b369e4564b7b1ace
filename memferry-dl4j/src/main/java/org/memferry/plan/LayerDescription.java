package org.memferry.plan;

import java.util.Objects;

/**
 * What a planner has to know of one layer (or graph vertex) that has parameters. Counts are elements, bytes are
 * {@code count * elementBytes}.
 */
public final class LayerDescription {

    private final String name;
    private final String type;
    private final long offset;
    private final long parameterCount;
    private final long gradientCount;
    private final int elementBytes;
    private final boolean gradientWritten;
    private final boolean gradientInPlace;
    private final boolean fixedSlot;
    private final boolean writtenAfterUpdate;
    private final boolean readAfterBackward;
    private final int forwardTouches;
    private final int backwardTouches;
    private final String updateNote;

    private LayerDescription(Builder b) {
        this.name = Objects.requireNonNull(b.name, "name");
        this.type = Objects.requireNonNull(b.type, "type");
        this.offset = b.offset;
        this.parameterCount = b.parameterCount;
        this.gradientCount = b.gradientCount < 0 ? b.parameterCount : b.gradientCount;
        this.elementBytes = b.elementBytes;
        this.gradientWritten = b.gradientWritten;
        this.gradientInPlace = b.gradientInPlace;
        this.fixedSlot = b.fixedSlot;
        this.writtenAfterUpdate = b.writtenAfterUpdate;
        this.readAfterBackward = b.readAfterBackward;
        this.forwardTouches = b.forwardTouches;
        this.backwardTouches = b.backwardTouches;
        this.updateNote = Objects.requireNonNull(b.updateNote, "updateNote");
        if (offset < 0 || parameterCount < 1 || gradientCount > parameterCount || elementBytes < 1) {
            throw new IllegalArgumentException("layer " + name + ": offset " + offset + ", parameters " + parameterCount + ", gradient "
                    + gradientCount + ", element bytes " + elementBytes);
        }
    }

    /** Starts a description. */
    public static Builder builder(String name, String type) {
        return new Builder(name, type);
    }

    /** The layer's name in the network: its index for a MultiLayerNetwork, the vertex name for a ComputationGraph. */
    public String name() {
        return name;
    }

    /** The kind of layer, for the reader of a plan. */
    public String type() {
        return type;
    }

    /** Index of the layer's first parameter in the flat vector. */
    public long offset() {
        return offset;
    }

    /** Number of parameters. */
    public long parameterCount() {
        return parameterCount;
    }

    /** Bytes of the parameters. */
    public long parameterBytes() {
        return Math.multiplyExact(parameterCount, (long) elementBytes);
    }

    /**
     * How many elements at the start of the layer's gradient have to reach the host: all of them, or none where the layer is frozen.
     */
    public long gradientCount() {
        return gradientCount;
    }

    /** Bytes of {@link #gradientCount()}. */
    public long gradientBytes() {
        return Math.multiplyExact(gradientCount, (long) elementBytes);
    }

    /** Bytes per parameter. */
    public int elementBytes() {
        return elementBytes;
    }

    /** True if the backward pass writes into the layer's gradient array. */
    public boolean gradientWritten() {
        return gradientWritten;
    }

    /**
     * True if a shared slot will not do for the gradient: the layer may run backward without reading a parameter, so that nobody sees it
     * being entered (weight noise), or it reads its old gradient before it writes the new one (element-wise multiplication).
     */
    public boolean gradientInPlace() {
        return gradientInPlace;
    }

    /** True if the layer holds on to its arrays (SameDiff), so that it needs the same slot in both passes. */
    public boolean fixedSlot() {
        return fixedSlot;
    }

    /** True if the parameters are written again after the update (constraints): no early copy is worth its while. */
    public boolean writtenAfterUpdate() {
        return writtenAfterUpdate;
    }

    /** True if the parameters are read again between backward and the update (for the score): the step has to wait for that. */
    public boolean readAfterBackward() {
        return readAfterBackward;
    }

    /**
     * How often the parameter bytes cross the link in the forward pass when they are read in place: 0 where the layer reads a few rows of
     * them only (an embedding's table), the time steps where each reads them again (recurrent layers).
     */
    public int forwardTouches() {
        return forwardTouches;
    }

    /** How often the parameter bytes cross the link in the backward pass when they are read in place. */
    public int backwardTouches() {
        return backwardTouches;
    }

    /** What of the optimizer step is not MemFerry's own pass, and why, in one phrase; empty where all is. */
    public String updateNote() {
        return updateNote;
    }

    /** The same layer with other {@linkplain #forwardTouches() touches}, such as those of a known length of time. */
    public LayerDescription withTouches(int forward, int backward) {
        return builder(name, type).parameters(offset, parameterCount).elementBytes(elementBytes).gradientCount(gradientCount)
                .gradientWritten(gradientWritten).gradientInPlace(gradientInPlace).fixedSlot(fixedSlot)
                .writtenAfterUpdate(writtenAfterUpdate).readAfterBackward(readAfterBackward).touches(forward, backward)
                .updateNote(updateNote).build();
    }

    @Override
    public String toString() {
        return name + " (" + type + ", " + parameterCount + " parameters)";
    }

    /** Collects a description. */
    public static final class Builder {

        private final String name;
        private final String type;
        private long offset;
        private long parameterCount;
        private long gradientCount = -1;
        private int elementBytes = 4;
        private boolean gradientWritten = true;
        private boolean gradientInPlace;
        private boolean fixedSlot;
        private boolean writtenAfterUpdate;
        private boolean readAfterBackward;
        private int forwardTouches = 1;
        private int backwardTouches = 2;
        private String updateNote = "";

        private Builder(String name, String type) {
            this.name = name;
            this.type = type;
        }

        /** See {@link LayerDescription#offset()} and {@link LayerDescription#parameterCount()}. */
        public Builder parameters(long firstIndex, long count) {
            this.offset = firstIndex;
            this.parameterCount = count;
            return this;
        }

        /** See {@link LayerDescription#elementBytes()}; 4 if not set. */
        public Builder elementBytes(int bytes) {
            this.elementBytes = bytes;
            return this;
        }

        /** See {@link LayerDescription#gradientCount()}; all parameters if not set. */
        public Builder gradientCount(long count) {
            this.gradientCount = count;
            return this;
        }

        /** See {@link LayerDescription#gradientWritten()}; true if not set. */
        public Builder gradientWritten(boolean written) {
            this.gradientWritten = written;
            return this;
        }

        /** See {@link LayerDescription#gradientInPlace()}; false if not set. */
        public Builder gradientInPlace(boolean inPlace) {
            this.gradientInPlace = inPlace;
            return this;
        }

        /** See {@link LayerDescription#fixedSlot()}; false if not set. */
        public Builder fixedSlot(boolean fixed) {
            this.fixedSlot = fixed;
            return this;
        }

        /** See {@link LayerDescription#writtenAfterUpdate()}; false if not set. */
        public Builder writtenAfterUpdate(boolean written) {
            this.writtenAfterUpdate = written;
            return this;
        }

        /** See {@link LayerDescription#readAfterBackward()}; false if not set. */
        public Builder readAfterBackward(boolean read) {
            this.readAfterBackward = read;
            return this;
        }

        /** See {@link LayerDescription#forwardTouches()} and {@link LayerDescription#backwardTouches()}; 1 and 2 if not set. */
        public Builder touches(int forward, int backward) {
            this.forwardTouches = forward;
            this.backwardTouches = backward;
            return this;
        }

        /** See {@link LayerDescription#updateNote()}; empty if not set. */
        public Builder updateNote(String note) {
            this.updateNote = note;
            return this;
        }

        /** The description. */
        public LayerDescription build() {
            return new LayerDescription(this);
        }
    }
}
