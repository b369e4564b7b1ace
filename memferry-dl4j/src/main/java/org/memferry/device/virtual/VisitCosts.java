package org.memferry.device.virtual;

/** How long the computation of a {@link VirtualDevice} is busy with one visit of a layer, and what slows it down. */
@FunctionalInterface
public interface VisitCosts {

    /**
     * The time that one visit computes with nothing beside it.
     *
     * @param layer    index of the layer
     * @param backward the pass
     * @return nanoseconds, at least 0
     */
    long nanos(int layer, boolean backward);

    /**
     * The least time that one visit takes from its last wait on, since it reads or writes in place. The device adds the time of the bytes
     * on its own link: a visit lasts at least that, too.
     *
     * @param layer    index of the layer
     * @param backward the pass
     * @return nanoseconds; 0 if {@link #nanos} and the link say it all
     */
    default long directNanos(int layer, boolean backward) {
        return 0;
    }

    /** Share by which a copy at its full pace, of either direction, lengthens the computation beside it; at least 0. */
    default double copySlowdown() {
        return 0;
    }

    /** Share by which a running optimizer step lengthens the computation beside it; at least 0. */
    default double updateSlowdown() {
        return 0;
    }
}
