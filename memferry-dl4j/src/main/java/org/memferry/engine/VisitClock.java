package org.memferry.engine;

/** Told by the engine how long the computation took in each visit, so that a network can be profiled while it trains. */
@FunctionalInterface
public interface VisitClock {

    /** Measures nothing. */
    VisitClock OFF = (layer, backward, computedNanos, lastedNanos) -> { };

    /**
     * A visit of a training iteration is over.
     *
     * @param layer         index of the layer
     * @param backward      the pass
     * @param computedNanos what the device says the visit computed
     * @param lastedNanos   how long the training thread was in it, standing still included
     */
    void visited(int layer, boolean backward, long computedNanos, long lastedNanos);

    /** Whether visits must be {@linkplain org.memferry.device.Device#timeVisits timed exactly}, at the cost of some speed. */
    default boolean isExact() {
        return false;
    }
}
