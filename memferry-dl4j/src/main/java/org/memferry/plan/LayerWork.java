package org.memferry.plan;

/**
 * What a layer has to do in one training iteration, told by its configuration and the batch: the input of an estimate made before anything
 * has run. Immutable.
 */
public final class LayerWork {

    private final double forwardFlops;
    private final double backwardFlops;
    private final long activationBytes;

    /**
     * @param forwardFlops    floating point operations of forward, a multiplication and an addition counting as two
     * @param backwardFlops   those of backward, recomputations included
     * @param activationBytes bytes of the output activations
     */
    public LayerWork(double forwardFlops, double backwardFlops, long activationBytes) {
        this.forwardFlops = forwardFlops;
        this.backwardFlops = backwardFlops;
        this.activationBytes = activationBytes;
        if (!(forwardFlops >= 0) || !(backwardFlops >= 0) || activationBytes < 0) {
            throw new IllegalArgumentException("layer work: " + forwardFlops + " operations forward, " + backwardFlops + " backward, "
                    + activationBytes + " bytes of activations (expected: all at least 0)");
        }
    }

    /** Floating point operations of forward. */
    public double forwardFlops() {
        return forwardFlops;
    }

    /** Floating point operations of backward. */
    public double backwardFlops() {
        return backwardFlops;
    }

    /** Bytes of the output activations. */
    public long activationBytes() {
        return activationBytes;
    }
}
