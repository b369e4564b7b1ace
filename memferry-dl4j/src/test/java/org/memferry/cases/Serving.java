package org.memferry.cases;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.memferry.MemFerryConfig;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;

/** The three ways a layer is served from a device, each on an emulated one that poisons unused memory and delays every copy. */
enum Serving {

    RESIDENT(Placement.RESIDENT, GradientHome.SLOT),
    PREFETCH(Placement.PREFETCH, GradientHome.SLOT),
    DIRECT(Placement.DIRECT, GradientHome.DIRECT);

    private final Placement placement;
    private final GradientHome home;

    Serving(Placement placement, GradientHome home) {
        this.placement = placement;
        this.home = home;
    }

    /** The plan becomes final when the first iteration opens. */
    MemFerryConfig config() {
        return builder().build();
    }

    /** The plan is final at attach, so that inference before the first iteration is served from the device too. */
    MemFerryConfig config(int batch, InputType... types) {
        return builder().expect(batch, types).build();
    }

    private MemFerryConfig.Builder builder() {
        return MemFerryConfig.builder().device("emulated:64MB,poison,delay=7/200").place("*", placement).placeGradient("*", home);
    }

    /** True if layers are served from copies, which may become stale. */
    boolean copies() {
        return this != DIRECT;
    }
}
