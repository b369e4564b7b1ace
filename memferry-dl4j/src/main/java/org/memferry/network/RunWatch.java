package org.memferry.network;

import org.memferry.engine.VisitClock;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.Profile;

import java.util.Arrays;
import java.util.Optional;

/**
 * Watches the iterations of a plan that was made from a profile: keeps how long each layer lasts, to be shown beside what was predicted,
 * and notices when the computation takes much more or less time than was profiled, for long enough to be no accident. Where the computation
 * runs behind the host, and looking at it costs speed, one iteration in {@value #EVERY} is looked at.
 */
final class RunWatch implements VisitClock {

    static final int EVERY = 16;

    private final boolean behindHost;
    private final long profiled;
    private final double factor;
    private final int patience;
    private final long[] forward;
    private final long[] backward;
    private long present;
    /** Data of the iteration opened last, over that of the profile. */
    private double size = 1;
    private int outside;
    private double ratio = 1;
    // The first iteration of a plan finds the slots empty and does not count.
    private int opened;
    private int looked;
    private long counted;
    private long last;

    /**
     * @param profile    what is expected
     * @param behindHost see {@link org.memferry.device.Device#computesBehindHost()}
     * @param factor     by how much an iteration may differ, either way
     * @param patience   iterations in a row, of those looked at, that must differ
     */
    RunWatch(Profile profile, boolean behindHost, double factor, int patience) {
        this.behindHost = behindHost;
        long sum = 0;
        for (LayerProfile layer : profile.layers()) {
            sum += layer.forwardNanos() + layer.backwardNanos();
        }
        this.profiled = sum;
        this.factor = factor;
        this.patience = patience;
        this.forward = new long[profile.layers().size()];
        this.backward = new long[profile.layers().size()];
    }

    @Override
    public boolean isExact() {
        return behindHost && isLookedAt();
    }

    /** Whether the iteration opened last counts. */
    private boolean isLookedAt() {
        return opened > 1 && (!behindHost || opened % EVERY == 0);
    }

    @Override
    public void visited(int layer, boolean inBackward, long computedNanos, long lastedNanos) {
        if (isLookedAt()) {
            present += computedNanos;
            (inBackward ? backward : forward)[layer] += lastedNanos;
        }
    }

    /**
     * An iteration opens. How the time grows with the data nobody knows: an iteration of larger data has not drifted if it takes as long as
     * the profile says, nor if it takes so many times as long as the data is larger. One of data of quite another size says nothing.
     *
     * @param times how many times as large as what was profiled its data is
     * @return whether the iterations before it have drifted away
     */
    boolean opened(double times) {
        if (present > 0 && profiled > 0 && size <= factor && size >= 1 / factor) {
            ratio = (double) present / profiled;
            outside = ratio > factor * Math.max(1, size) || ratio < Math.min(1, size) / factor ? outside + 1 : 0;
        }
        size = times;
        present = 0;
        opened++;
        looked += isLookedAt() ? 1 : 0;
        last = System.nanoTime();
        if (opened == 2) {
            counted = last;
        }
        return outside >= patience;
    }

    /** The last iteration's computation over the profiled one. */
    double ratio() {
        return ratio;
    }

    /** What was measured; asked between two iterations. Empty before one was looked at that was not the first. */
    Optional<MeasuredRun> measured() {
        if (looked == 0) {
            return Optional.empty();
        }
        int iterations = opened - 1;
        return Optional.of(new MeasuredRun(iterations, iterations == 1 ? 0 : (last - counted) / (iterations - 1), mean(forward, looked), mean(backward, looked)));
    }

    private static long[] mean(long[] sums, int count) {
        return Arrays.stream(sums).map(sum -> sum / count).toArray();
    }
}
