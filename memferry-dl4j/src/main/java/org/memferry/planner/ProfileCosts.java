package org.memferry.planner;

import org.memferry.device.virtual.VisitCosts;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;

/**
 * What the visits of a plan cost according to a profile. A visit that both reads its parameters and writes its gradient in place takes
 * the longer of the two, since the directions of the link are separate.
 */
final class ProfileCosts implements VisitCosts {

    private final long[][] nanos;
    private final long[][] directNanos;
    private final double copySlowdown;
    private final double updateSlowdown;

    ProfileCosts(Plan plan, Profile profile) {
        int layers = plan.layers().size();
        nanos = new long[2][layers];
        directNanos = new long[2][layers];
        for (int i = 0; i < layers; i++) {
            LayerPlan decision = plan.layers().get(i);
            LayerProfile times = profile.layers().get(i);
            nanos[0][i] = times.forwardNanos();
            nanos[1][i] = times.backwardNanos();
            directNanos[0][i] = decision.forward() == Placement.DIRECT ? times.forwardDirectNanos() : 0;
            directNanos[1][i] = Math.max(decision.backward() == Placement.DIRECT ? times.backwardDirectNanos() : 0,
                    decision.gradientHome() == GradientHome.DIRECT ? times.gradientDirectNanos() : 0);
        }
        copySlowdown = profile.copySlowdown();
        updateSlowdown = profile.updateSlowdown();
    }

    @Override
    public long nanos(int layer, boolean backward) {
        return nanos[backward ? 1 : 0][layer];
    }

    @Override
    public long directNanos(int layer, boolean backward) {
        return directNanos[backward ? 1 : 0][layer];
    }

    @Override
    public double copySlowdown() {
        return copySlowdown;
    }

    @Override
    public double updateSlowdown() {
        return updateSlowdown;
    }
}
