package org.memferry.planner;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.UpdateTiming;

/** Plans that are allowed but not clever, and times that go with them. Equal seeds give equal ones. */
final class RandomPlans {

    private RandomPlans() {
    }

    /** Any placement, gradient home and timing that the network allows; 2 to 4 parameter slots and 1 to 3 gradient slots. */
    static Plan plan(NetworkDescription network, Random random) {
        List<LayerPlan> decisions = new ArrayList<>();
        long parameterSlot = 0;
        long gradientSlot = 0;
        for (LayerDescription layer : network.layers()) {
            LayerPlan decision = decision(layer, random);
            decisions.add(decision);
            if (decision.forward() == Placement.PREFETCH || decision.backward() == Placement.PREFETCH) {
                parameterSlot = Math.max(parameterSlot, layer.parameterBytes());
            }
            if (decision.gradientHome() == GradientHome.SLOT) {
                gradientSlot = Math.max(gradientSlot, layer.parameterBytes());
            }
        }
        return Plan.builder(network, decisions, new Budget(1L << 40, 0, true, 0, true))
                .parameterSlots(slots(2 + random.nextInt(3), parameterSlot)).gradientSlots(slots(1 + random.nextInt(3), gradientSlot))
                .updateTiming(UpdateTiming.values()[random.nextInt(4)]).build();
    }

    private static LayerPlan decision(LayerDescription layer, Random random) {
        Placement forward = Placement.values()[random.nextInt(3)];
        Placement backward = forward;
        if (forward != Placement.RESIDENT && !layer.fixedSlot()) {
            backward = random.nextBoolean() ? Placement.PREFETCH : Placement.DIRECT;
        }
        GradientHome home = !layer.gradientWritten() ? GradientHome.NONE
                : layer.gradientInPlace() || random.nextInt(3) == 0 ? GradientHome.DIRECT : GradientHome.SLOT;
        return new LayerPlan(forward, backward, home, "random");
    }

    private static long[] slots(int count, long bytes) {
        long[] slots = new long[bytes > 0 ? count : 0];
        Arrays.fill(slots, bytes);
        return slots;
    }

    /** The same times, on a link that reads and writes in place share with copies in full, not at all, a little or more than in full. */
    static Profile shared(Profile profile, Random random) {
        return Profile.builder(profile.key(), profile.layers()).link(profile.bytesPerSecondToDevice(), profile.bytesPerSecondToHost())
                .slowdown(profile.copySlowdown(), profile.updateSlowdown()).between(profile.betweenNanos())
                .shares(share(random), share(random)).build();
    }

    private static double share(Random random) {
        return random.nextInt(3) == 0 ? random.nextInt(3) : 1.2 * random.nextDouble();
    }

    /** Times from all copies to all computation, slow steps and quick ones; with slow-downs if asked for. */
    static Profile profile(NetworkDescription network, Random random, boolean slowdown) {
        List<LayerProfile> layers = new ArrayList<>();
        double compute = Math.pow(10, 2 * random.nextDouble() - 1);
        double update = Math.pow(10, 2 * random.nextDouble() - 1.5);
        for (LayerDescription layer : network.layers()) {
            // A nanosecond a byte is about what the link takes.
            long forward = (long) (layer.parameterBytes() * compute * random.nextDouble());
            long backward = (long) (layer.parameterBytes() * compute * 2 * random.nextDouble());
            layers.add(LayerProfile.builder(forward, backward)
                    .direct(forward + random.nextInt(2000), backward + random.nextInt(4000)).gradientDirect(backward + random.nextInt(4000))
                    .update((long) (layer.parameterBytes() * update * random.nextDouble()))
                    .activations(random.nextInt(1000)).build());
        }
        return Profile.builder("random", layers).link(rate(random), rate(random)).between(random.nextInt(10_000))
                .slowdown(slowdown ? random.nextDouble() : 0, slowdown ? 2 * random.nextDouble() : 0).build();
    }

    private static double rate(Random random) {
        return random.nextInt(10) == 0 ? Double.POSITIVE_INFINITY : 1e9 * Math.pow(10, random.nextDouble() - 0.5);
    }
}
