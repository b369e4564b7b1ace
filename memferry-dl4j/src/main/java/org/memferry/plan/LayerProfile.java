package org.memferry.plan;

/**
 * Times and bytes of one layer in one training iteration, measured or estimated. Immutable. Times are nanoseconds of the compute stream
 * with nothing else on the link; a pass that does not reach the layer takes 0.
 */
public final class LayerProfile {

    private final long forwardNanos;
    private final long backwardNanos;
    private final long forwardDirectNanos;
    private final long backwardDirectNanos;
    private final long gradientDirectNanos;
    private final long updateNanos;
    private final long activationBytes;

    private LayerProfile(Builder b) {
        forwardNanos = b.forwardNanos;
        backwardNanos = b.backwardNanos;
        forwardDirectNanos = Math.max(b.forwardNanos, b.forwardDirectNanos);
        backwardDirectNanos = Math.max(b.backwardNanos, b.backwardDirectNanos);
        gradientDirectNanos = Math.max(b.backwardNanos, b.gradientDirectNanos);
        updateNanos = b.updateNanos;
        activationBytes = b.activationBytes;
        if (forwardNanos < 0 || backwardNanos < 0 || updateNanos < 0 || activationBytes < 0) {
            throw new IllegalArgumentException("layer profile: forward " + forwardNanos + " ns, backward " + backwardNanos + " ns, update "
                    + updateNanos + " ns, activations " + activationBytes + " bytes (expected: all at least 0)");
        }
    }

    /**
     * Starts a profile.
     *
     * @param forward  forward with the parameters on the device, nanoseconds
     * @param backward backward with parameters and gradient on the device, nanoseconds
     */
    public static Builder builder(long forward, long backward) {
        return new Builder(forward, backward);
    }

    /** Forward with the parameters on the device. */
    public long forwardNanos() {
        return forwardNanos;
    }

    /** Backward with parameters and gradient on the device. */
    public long backwardNanos() {
        return backwardNanos;
    }

    /** Forward with the parameters read in place over an idle link. */
    public long forwardDirectNanos() {
        return forwardDirectNanos;
    }

    /** Backward with the parameters read in place over an idle link and the gradient on the device. */
    public long backwardDirectNanos() {
        return backwardDirectNanos;
    }

    /** Backward with the parameters on the device and the gradient written in place over an idle link. */
    public long gradientDirectNanos() {
        return gradientDirectNanos;
    }

    /** The optimizer step of the layer on the update thread. */
    public long updateNanos() {
        return updateNanos;
    }

    /** Bytes of the layer's output activations for the profiled batch. */
    public long activationBytes() {
        return activationBytes;
    }

    /** Collects a profile; what is read in place takes as long as on the device where it is not set. */
    public static final class Builder {

        private final long forwardNanos;
        private final long backwardNanos;
        private long forwardDirectNanos;
        private long backwardDirectNanos;
        private long gradientDirectNanos;
        private long updateNanos;
        private long activationBytes;

        private Builder(long forward, long backward) {
            forwardNanos = forward;
            backwardNanos = backward;
        }

        /** See {@link LayerProfile#forwardDirectNanos()} and {@link LayerProfile#backwardDirectNanos()}. */
        public Builder direct(long forward, long backward) {
            forwardDirectNanos = forward;
            backwardDirectNanos = backward;
            return this;
        }

        /** See {@link LayerProfile#gradientDirectNanos()}. */
        public Builder gradientDirect(long nanos) {
            gradientDirectNanos = nanos;
            return this;
        }

        /** See {@link LayerProfile#updateNanos()}. */
        public Builder update(long nanos) {
            updateNanos = nanos;
            return this;
        }

        /** See {@link LayerProfile#activationBytes()}. */
        public Builder activations(long bytes) {
            activationBytes = bytes;
            return this;
        }

        /** The profile. */
        public LayerProfile build() {
            return new LayerProfile(this);
        }
    }
}
