package org.memferry.plan;

import java.util.Objects;

/** What a plan decides for one layer, and why. */
public final class LayerPlan {

    private final Placement forward;
    private final Placement backward;
    private final GradientHome gradientHome;
    private final String reason;

    /**
     * @param forward      placement in forward and in inference
     * @param backward     placement in backward; RESIDENT exactly if forward is
     * @param gradientHome where backward writes
     * @param reason       one phrase for the reader of the plan
     */
    public LayerPlan(Placement forward, Placement backward, GradientHome gradientHome, String reason) {
        this.forward = Objects.requireNonNull(forward, "forward");
        this.backward = Objects.requireNonNull(backward, "backward");
        this.gradientHome = Objects.requireNonNull(gradientHome, "gradientHome");
        this.reason = Objects.requireNonNull(reason, "reason");
        if ((forward == Placement.RESIDENT) != (backward == Placement.RESIDENT)) {
            throw new IllegalArgumentException("forward " + forward + ", backward " + backward
                    + " (expected: RESIDENT in both passes or in none)");
        }
    }

    /** Placement in forward and in inference. */
    public Placement forward() {
        return forward;
    }

    /** Placement in backward. */
    public Placement backward() {
        return backward;
    }

    /** Where backward writes. */
    public GradientHome gradientHome() {
        return gradientHome;
    }

    /** One phrase for the reader of the plan. */
    public String reason() {
        return reason;
    }
}
