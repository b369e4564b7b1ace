package org.memferry.planner;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;

/** Times to plan with. Equal seeds give equal times. */
final class RandomProfiles {

    private RandomProfiles() {
    }

    /** Layers that take between a tenth of their copy's time and ten times as long, one way of the link up to three times as fast. */
    static Profile random(NetworkDescription network, Random random) {
        double toDevice = 1e9 * (1 + random.nextInt(8));
        double toHost = toDevice * (0.4 + 2 * random.nextDouble());
        double intensity = Math.pow(10, 2 * random.nextDouble() - 1);
        List<LayerProfile> layers = new ArrayList<>();
        for (LayerDescription layer : network.layers()) {
            double copy = layer.parameterBytes() / toDevice * 1e9;
            long forward = (long) (copy * intensity * (0.5 + random.nextDouble())) + random.nextInt(5_000);
            long backward = (long) (forward * (1.5 + random.nextDouble()));
            layers.add(LayerProfile.builder(forward, backward)
                    .direct((long) Math.max(forward, copy * layer.forwardTouches()), (long) Math.max(backward, copy * layer.backwardTouches()))
                    .gradientDirect((long) Math.max(backward, layer.gradientBytes() / toHost * 1e9 * (1 + random.nextInt(2))))
                    .update((long) (copy * random.nextDouble())).build());
        }
        return Profile.builder("random", layers).link(toDevice, toHost).between(random.nextInt(100_000)).build();
    }
}
