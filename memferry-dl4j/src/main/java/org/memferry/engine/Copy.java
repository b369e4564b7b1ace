package org.memferry.engine;

/** One copy of a layer's parameters from the host master to a slot. */
final class Copy {

    final int layer;
    final int slot;
    /** The visit that needs the copy. */
    final int visit;
    /** The last earlier visit of the pass that reads the slot's former content, -1 if none: the copy must not start before it is left. */
    final int afterVisit;

    Copy(int layer, int slot, int visit, int afterVisit) {
        this.layer = layer;
        this.slot = slot;
        this.visit = visit;
        this.afterVisit = afterVisit;
    }
}
