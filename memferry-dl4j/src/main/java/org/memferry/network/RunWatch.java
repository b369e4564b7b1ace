package org.memferry.network;

import org.memferry.engine.VisitClock;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.Profile;

import java.util.Arrays;
import java.util.Optional;

/**
 * Watches the iterations of a plan that was made from a profile: keeps how long each layer lasts, to be shown beside what was predicted,
 * and notices when the computation takes much more or less time than was profiled, for long enough to be no accident.
 */
final class RunWatch implements VisitClock {

    private final long profiled;
    private final double factor;
    private final int patience;
    private final long[] forward;
    private final long[] backward;
    private long present;
    private int outside;
    private double ratio = 1;
    // The first iteration of a plan finds the slots empty and does not count.
    private int opened;
    private long counted;
    private long last;

    /**
     * @param profile  what is expected
     * @param factor   by how much an iteration may differ, either way
     * @param patience iterations in a row that must differ
     */
    RunWatch(Profile profile, double factor, int patience) {
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
    public void visited(int layer, boolean inBackward, long computedNanos, long lastedNanos) {
        present += computedNanos;
        (inBackward ? backward : forward)[layer] += lastedNanos;
    }

    /** An iteration opens. Returns whether the ones before it have drifted away. */
    boolean opened() {
        count(System.nanoTime());
        if (present > 0 && profiled > 0) {
            ratio = (double) present / profiled;
            outside = ratio > factor || ratio < 1 / factor ? outside + 1 : 0;
        }
        present = 0;
        return outside >= patience;
    }

    private void count(long now) {
        opened++;
        if (opened == 2) {
            Arrays.fill(forward, 0);
            Arrays.fill(backward, 0);
            counted = now;
        }
        last = now;
    }

    /** The last iteration's computation over the profiled one. */
    double ratio() {
        return ratio;
    }

    /** What was measured; asked between two iterations. Empty before the second one is over. */
    Optional<MeasuredRun> measured() {
        int iterations = opened - 1;
        if (iterations < 1) {
            return Optional.empty();
        }
        return Optional.of(new MeasuredRun(iterations, iterations == 1 ? 0 : (last - counted) / (iterations - 1),
                mean(forward, iterations), mean(backward, iterations)));
    }

    private static long[] mean(long[] sums, int count) {
        return Arrays.stream(sums).map(sum -> sum / count).toArray();
    }
}
