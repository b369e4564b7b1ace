package org.memferry.engine;

/** One stay of the computation in one layer, in one pass. */
final class Visit {

    final int layer;
    final boolean backward;
    /** Slot that serves the parameters, or {@link Program#MASTER}. */
    final int slot;
    /** Slot that backward writes the gradient to, or {@link Program#MASTER} for the host gradients, or {@link Program#NONE}. */
    final int gradientSlot;
    /** Bytes of parameters that are read in place over the link during the visit. */
    final long readBytes;
    /** Bytes of the gradient that are written in place over the link during the visit. */
    final long writtenBytes;
    /** True if no later visit of the pass reads what the slot holds now. */
    boolean lastUse = true;

    Visit(int layer, boolean backward, int slot, int gradientSlot, long readBytes, long writtenBytes) {
        this.layer = layer;
        this.backward = backward;
        this.slot = slot;
        this.gradientSlot = gradientSlot;
        this.readBytes = readBytes;
        this.writtenBytes = writtenBytes;
    }
}
