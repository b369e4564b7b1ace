package org.memferry.engine;

/** One stay of the computation in one layer, in one pass. */
final class Visit {

    final int layer;
    final boolean backward;
    /** Slot that serves the parameters, or {@link Program#MASTER}. */
    final int slot;
    /** Slot that backward writes the gradient to, or {@link Program#MASTER} for the host gradients, or {@link Program#NONE}. */
    final int gradientSlot;
    /** Bytes that cross the link in place during the visit. */
    final long directBytes;
    /** True if no later visit of the pass reads what the slot holds now. */
    boolean lastUse = true;

    Visit(int layer, boolean backward, int slot, int gradientSlot, long directBytes) {
        this.layer = layer;
        this.backward = backward;
        this.slot = slot;
        this.gradientSlot = gradientSlot;
        this.directBytes = directBytes;
    }
}
