package org.memferry.network;

import org.memferry.engine.VisitClock;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;
import org.memferry.plan.UpdateTiming;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Measures a network in its first iterations on the attached device, which train it like any other. First each layer's computation and
 * each layer's step by themselves ({@link UpdateTiming#IN_CHUNKS}: no step runs beside backward), then both at once, which shows how much
 * a step slows the computation where the CPU computes. Every figure is the median of its iterations; the first of each kind is left out.
 */
final class ProfileRun implements VisitClock {

    /** Iterations of each kind that count. */
    static final int MEASURED = 4;

    private final NetworkDescription network;
    private final String key;
    private final double bytesPerSecondToDevice;
    private final double bytesPerSecondToHost;
    private final Samples alone;
    private final Samples beside;
    private int iterations;

    // The iteration under way.
    private Samples present;
    private long opened;
    private long visits;
    private long barrierFrom;
    private long barrier;

    /**
     * @param network                what is measured
     * @param key                    what the profile holds for
     * @param bytesPerSecondToDevice measured rate of copies from host to device
     * @param bytesPerSecondToHost   measured rate of copies from device to host
     */
    ProfileRun(NetworkDescription network, String key, double bytesPerSecondToDevice, double bytesPerSecondToHost) {
        this.network = network;
        this.key = key;
        this.bytesPerSecondToDevice = bytesPerSecondToDevice;
        this.bytesPerSecondToHost = bytesPerSecondToHost;
        this.alone = new Samples(network.layers().size());
        this.beside = new Samples(network.layers().size());
    }

    /** When the steps of the next iteration are to be taken. */
    UpdateTiming timing() {
        return iterations <= MEASURED ? UpdateTiming.IN_CHUNKS : UpdateTiming.EAGER;
    }

    /** True once {@link #profile} can be asked. */
    boolean isComplete() {
        return iterations > 2 * MEASURED + 1;
    }

    /** An iteration opens, and the one before ends with all that lies between the two. */
    void opened() {
        long now = System.nanoTime();
        if (present != null) {
            present.end(now - opened - visits - barrier);
        }
        if (opened != 0) {
            iterations++;
        }
        boolean first = iterations == 0 || iterations == MEASURED + 1;
        present = first || isComplete() ? null : iterations <= MEASURED ? alone : beside;
        opened = now;
        visits = 0;
        barrier = 0;
    }

    @Override
    public void visited(int layer, boolean backward, long computedNanos, long lastedNanos) {
        visits += lastedNanos;
        if (present != null) {
            (backward ? present.backward : present.forward)[layer] += computedNanos;
        }
    }

    /** The barrier begins: from here to {@link #closed} the iteration waits for copies and steps. */
    void barrier() {
        barrierFrom = System.nanoTime();
    }

    /** The iteration is closed, after the steps of its layers. */
    void closed(LayerSteps steps) {
        barrier = System.nanoTime() - barrierFrom;
        for (int layer = 0; present != null && layer < present.update.length; layer++) {
            present.update[layer] = steps.isClaimed(layer) ? steps.nanos(layer) : 0;
        }
    }

    /** What was measured. */
    Profile profile() {
        List<LayerProfile> layers = new ArrayList<>();
        for (int i = 0; i < network.layers().size(); i++) {
            layers.add(layer(i));
        }
        return Profile.builder(key, layers).measured().link(bytesPerSecondToDevice, bytesPerSecondToHost).slowdown(0, updateSlowdown())
                .between(Math.max(0, alone.between())).build();
    }

    private LayerProfile layer(int i) {
        long bytes = network.layers().get(i).parameterBytes();
        long forward = alone.forward(i);
        long backward = alone.backward(i);
        // Until a device tells more, what is read or written in place lasts as long as its bytes take to cross the link.
        return LayerProfile.builder(forward, backward)
                .direct(toDevice(bytes * network.layers().get(i).forwardTouches()), toDevice(bytes * network.layers().get(i).backwardTouches()))
                .gradientDirect(Math.round(network.layers().get(i).gradientBytes() / bytesPerSecondToHost * 1e9))
                .update(alone.update(i))
                .build();
    }

    private long toDevice(long bytes) {
        return Math.round(bytes / bytesPerSecondToDevice * 1e9);
    }

    /** What the steps beside backward added to its time, over the time they ran beside it. */
    private double updateSlowdown() {
        long added = 0;
        long backward = 0;
        long steps = 0;
        for (int i = 0; i < network.layers().size(); i++) {
            added += beside.backward(i) - alone.backward(i);
            backward += alone.backward(i);
            steps += alone.update(i);
        }
        long together = Math.min(backward, steps);
        return together == 0 ? 0 : Math.max(0, (double) added / together);
    }

    /** The times of some iterations. */
    private static final class Samples {

        private final long[] forward;
        private final long[] backward;
        private final long[] update;
        private final List<long[]> forwards = new ArrayList<>();
        private final List<long[]> backwards = new ArrayList<>();
        private final List<long[]> updates = new ArrayList<>();
        private final List<long[]> betweens = new ArrayList<>();

        private Samples(int layers) {
            forward = new long[layers];
            backward = new long[layers];
            update = new long[layers];
        }

        private void end(long between) {
            forwards.add(forward.clone());
            backwards.add(backward.clone());
            updates.add(update.clone());
            betweens.add(new long[] {between});
            Arrays.fill(forward, 0);
            Arrays.fill(backward, 0);
            Arrays.fill(update, 0);
        }

        private long forward(int layer) {
            return median(forwards, layer);
        }

        private long backward(int layer) {
            return median(backwards, layer);
        }

        private long update(int layer) {
            return median(updates, layer);
        }

        private long between() {
            return median(betweens, 0);
        }

        private static long median(List<long[]> samples, int index) {
            return samples.stream().mapToLong(s -> s[index]).sorted().skip((samples.size() - 1) / 2).findFirst().orElse(0);
        }
    }
}
