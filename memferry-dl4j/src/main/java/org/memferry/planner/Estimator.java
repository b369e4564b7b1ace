package org.memferry.planner;

import java.util.ArrayList;
import java.util.List;

import org.memferry.plan.Hardware;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;

/**
 * A profile without a run, from what each layer has to do and what the hardware can: a roofline. A visit takes as long as its operations at
 * the share of the peak that the hardware description states, or as its bytes at the rate of the device's memory, whichever is longer.
 * Forward reads the parameters and an input as large as the output, and writes the output; backward reads the parameters as often as the
 * layer does, reads the activation and its gradient, writes the gradient of the input and that of the parameters. In place, the bytes that
 * cross the link do so at the link's rate beside all that. What a layer cannot be told by its operations (a kernel's start, small
 * matrices) is not in it: a measured profile replaces the estimate as soon as there is one.
 */
public final class Estimator {

    private static final double NANOS = 1e9;

    private final Hardware hardware;

    private Estimator(Hardware hardware) {
        this.hardware = hardware;
    }

    /**
     * Estimates a network's times.
     *
     * @param network  the layers
     * @param work     what each of them has to do, in the order of {@link NetworkDescription#layers()}
     * @param hardware on what
     * @param key      what the profile holds for, see {@link Profile#key()}
     * @throws IllegalArgumentException if the work is of another number of layers
     */
    public static Profile estimate(NetworkDescription network, List<LayerWork> work, Hardware hardware, String key) {
        if (work.size() != network.layers().size()) {
            throw new IllegalArgumentException("work of " + work.size() + " layers for a network of " + network.layers().size()
                    + " (expected: one per layer)");
        }
        Estimator estimator = new Estimator(hardware);
        List<LayerProfile> layers = new ArrayList<>();
        for (int i = 0; i < work.size(); i++) {
            layers.add(estimator.layer(network.layers().get(i), work.get(i)));
        }
        return Profile.builder(key, layers).link(hardware.bytesPerSecondToDevice(), hardware.bytesPerSecondToHost()).build();
    }

    private LayerProfile layer(LayerDescription layer, LayerWork work) {
        double parameters = layer.parameterBytes();
        double activations = work.activationBytes();
        double gradient = layer.gradientWritten() ? layer.gradientBytes() : 0;
        double forward = visit(work.forwardFlops(), parameters * layer.forwardTouches() + 2 * activations);
        double backward = visit(work.backwardFlops(), parameters * layer.backwardTouches() + 3 * activations + gradient);
        double toDevice = NANOS / hardware.bytesPerSecondToDevice();
        double toHost = NANOS / hardware.bytesPerSecondToHost();
        return LayerProfile.builder(nanos(forward), nanos(backward))
                .direct(nanos(Math.max(forward, parameters * layer.forwardTouches() * toDevice)),
                        nanos(Math.max(backward, parameters * layer.backwardTouches() * toDevice)))
                .gradientDirect(nanos(Math.max(backward, gradientInPlace(layer, gradient, toDevice, toHost))))
                .update(nanos(layer.gradientCount() * NANOS / hardware.updatedParametersPerSecond()))
                .activations(work.activationBytes()).build();
    }

    /** A recurrent layer adds to its gradient in each step of time: it reads in place what it wrote in the step before. */
    private static double gradientInPlace(LayerDescription layer, double gradient, double toDevice, double toHost) {
        int steps = Math.max(1, layer.forwardTouches());
        return gradient * (steps * toHost + (steps - 1) * toDevice);
    }

    private double visit(double flops, double bytes) {
        return Math.max(flops * NANOS / (hardware.deviceFlopsPerSecond() * hardware.deviceFlopsEfficiency()),
                bytes * NANOS / hardware.deviceBytesPerSecond());
    }

    private static long nanos(double nanos) {
        return (long) Math.ceil(nanos);
    }
}
