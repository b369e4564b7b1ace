package org.memferry.plan;

/** When the optimizer's step on the host and the copies that follow it take place. */
public enum UpdateTiming {

    /**
     * A layer's step starts when its gradient has arrived, while backward goes on; its device copy is refreshed right after it. The
     * iteration ends when all steps are done; copies go on beside the next forward.
     */
    EAGER,

    /** One step for all layers after backward, on all update threads; then the copies start, beside the next forward. */
    AFTER_BACKWARD,

    /**
     * Layer after layer once backward is over; each layer's copy starts after its step, and the iteration ends when all copies are on the
     * device: ZeRO-Offload with its copies overlapped.
     */
    IN_CHUNKS,

    /** As {@link #IN_CHUNKS}, but copies start only when all steps are done: ZeRO-Offload without overlap. */
    WHOLE;

    /** True if the iteration ends only when all device copies are refreshed. */
    public boolean waitsForCopies() {
        return this == IN_CHUNKS || this == WHOLE;
    }

    /** True if the step is taken layer by layer. */
    public boolean isLayerwise() {
        return this == EAGER || this == IN_CHUNKS;
    }
}
