package org.memferry.examples.gpucheck;

import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Measures what each layer of a traced network takes on the card, with its weights there and in place, for the planner. */
final class CardProfile {

    private final Pace pace;
    private final Kernels kernels;
    private final HostMemory memory;
    private final long pinned;
    private final long device;
    /** Layers of one shape take the same. */
    private final Map<String, LayerProfile> known = new HashMap<>();

    /**
     * @param pinned address of pinned memory as large as the largest layer
     * @param device address of device memory as large
     */
    CardProfile(Pace pace, Kernels kernels, HostMemory memory, long pinned, long device) {
        this.pace = pace;
        this.kernels = kernels;
        this.memory = memory;
        this.pinned = pinned;
        this.device = device;
    }

    Profile measure(TracedNetwork network, double toDevice, double toHost) {
        List<LayerProfile> layers = new ArrayList<>();
        for (int i = 0; i < network.network().layers().size(); i++) {
            Kernels.Shape shape = network.shape(i);
            LayerDescription layer = network.network().layers().get(i);
            layers.add(known.computeIfAbsent(shape.toString(), s -> measure(shape, layer)));
        }
        return Profile.builder("gpu-check " + network.name(), layers).link(toDevice, toHost).measured().build();
    }

    private LayerProfile measure(Kernels.Shape s, LayerDescription layer) {
        long forward = nanos(() -> kernels.forward(device, s));
        long forwardDirect = nanos(() -> kernels.forward(pinned, s));
        long backward = nanos(() -> backward(device, device, s));
        long backwardDirect = nanos(() -> backward(pinned, device, s));
        long gradientDirect = nanos(() -> backward(device, pinned, s));
        long update = (long) pace.nanos(() -> memory.step(layer), () -> { });
        return LayerProfile.builder(forward, backward).direct(forwardDirect, backwardDirect).gradientDirect(gradientDirect).update(update).build();
    }

    private void backward(long weights, long gradient, Kernels.Shape s) {
        kernels.forward(weights, s);
        kernels.inputGradient(weights, s);
        kernels.weightGradient(gradient, s);
    }

    private long nanos(Runnable work) {
        return (long) pace.nanos(() -> {
            work.run();
            kernels.synchronize();
        }, () -> { });
    }
}
