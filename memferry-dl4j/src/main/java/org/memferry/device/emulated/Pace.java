package org.memferry.device.emulated;

import java.util.Arrays;
import java.util.List;

import org.memferry.base.RefusedException;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;

/**
 * How long an emulated device computes in each layer and pass: an accelerator takes the same time for the same work, which a processor that
 * is shared with other programs does not. A layer that is visited more than once in a pass takes its time in the first visit.
 */
final class Pace {

    /** Layers last as long as they take. */
    static final Pace NONE = new Pace(new long[0], new long[0]);

    private final long[] forward;
    private final long[] backward;
    private final boolean[] forwardTaken;
    private final boolean[] backwardTaken;
    private int lastLayer = -1;
    private boolean lastBackward;

    private Pace(long[] forward, long[] backward) {
        this.forward = forward;
        this.backward = backward;
        this.forwardTaken = new boolean[forward.length];
        this.backwardTaken = new boolean[forward.length];
    }

    /** The pace of a profile: its times of forward and backward. */
    static Pace of(Profile profile) {
        List<LayerProfile> layers = profile.layers();
        return new Pace(layers.stream().mapToLong(LayerProfile::forwardNanos).toArray(),
                layers.stream().mapToLong(LayerProfile::backwardNanos).toArray());
    }

    /**
     * How long a visit that ends computes.
     *
     * @param layer      index of the layer
     * @param inBackward the pass
     * @param computed   nanoseconds that the processor took for it
     * @return nanoseconds, {@code computed} at least
     * @throws RefusedException if the profile has no such layer
     */
    long lasts(int layer, boolean inBackward, long computed) {
        if (this == NONE) {
            return computed;
        }
        if (layer >= forward.length) {
            throw new RefusedException("pace of an emulated device: a profile of " + forward.length + " layers, and layer " + layer
                    + " computes (expected: the profile of the network that is trained; take it with profile(file))");
        }
        if (!inBackward && (lastBackward || layer < lastLayer)) {
            Arrays.fill(forwardTaken, false);
            Arrays.fill(backwardTaken, false);
        }
        lastLayer = layer;
        lastBackward = inBackward;
        boolean[] taken = inBackward ? backwardTaken : forwardTaken;
        if (taken[layer]) {
            return computed;
        }
        taken[layer] = true;
        return Math.max(computed, (inBackward ? backward : forward)[layer]);
    }
}
