package org.memferry.network;

import org.memferry.engine.VisitClock;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;

/** Notices when the computation of iterations takes much more or less time than was profiled, for long enough to be no accident. */
final class DriftWatch implements VisitClock {

    private final long profiled;
    private final double factor;
    private final int patience;
    private long present;
    private int outside;
    private double ratio = 1;

    /**
     * @param profile  what is expected
     * @param factor   by how much an iteration may differ, either way
     * @param patience iterations in a row that must differ
     */
    DriftWatch(Profile profile, double factor, int patience) {
        long sum = 0;
        for (LayerProfile layer : profile.layers()) {
            sum += layer.forwardNanos() + layer.backwardNanos();
        }
        this.profiled = sum;
        this.factor = factor;
        this.patience = patience;
    }

    @Override
    public void visited(int layer, boolean backward, long computedNanos, long lastedNanos) {
        present += computedNanos;
    }

    /** An iteration opens. Returns whether the ones before it have drifted away. */
    boolean opened() {
        if (present > 0 && profiled > 0) {
            ratio = (double) present / profiled;
            outside = ratio > factor || ratio < 1 / factor ? outside + 1 : 0;
        }
        present = 0;
        return outside >= patience;
    }

    /** The last iteration's computation over the profiled one. */
    double ratio() {
        return ratio;
    }
}
