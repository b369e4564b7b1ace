package org.memferry.planner;

/** Which gradients stay on the device until they are copied out, and what writing the others in place costs. Immutable. */
public final class GradientChoice {

    private final boolean[] onDevice;
    private final long deviceBytes;
    private final long lostNanos;
    private final long epsilonNanos;

    GradientChoice(boolean[] onDevice, long deviceBytes, long lostNanos, long epsilonNanos) {
        this.onDevice = onDevice.clone();
        this.deviceBytes = deviceBytes;
        this.lostNanos = lostNanos;
        this.epsilonNanos = epsilonNanos;
    }

    /** True if a layer's gradient stays on the device, false if backward writes it in place. */
    public boolean isOnDevice(int layer) {
        return onDevice[layer];
    }

    /** Bytes of the gradients that stay on the device. */
    public long deviceBytes() {
        return deviceBytes;
    }

    /** What backward takes longer than if every gradient stayed on the device. */
    public long lostNanos() {
        return lostNanos;
    }

    /** The best choice there is loses at most this much less: 0 for an exact answer. */
    public long epsilonNanos() {
        return epsilonNanos;
    }
}
