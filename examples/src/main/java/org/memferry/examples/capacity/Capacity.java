package org.memferry.examples.capacity;

import org.deeplearning4j.nn.api.Model;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.examples.Screen;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.plan.Budget;
import org.memferry.plan.Hardware;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;
import org.memferry.planner.Forecast;
import org.memferry.planner.PlacementRules;
import org.memferry.planner.StrategyPlanner;

import java.util.EnumMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Finds the largest network of a kind that trains under each strategy: by planning alone, from sizes and the estimate of activations; then
 * proves it by training on the emulated device, and by the refusal of the network that is one notch larger.
 *
 * <p>The host holds parameters, gradients and Adam's state: 16 bytes per parameter. A network is too large where it takes more than the
 * device or more than the host has.
 */
final class Capacity {

    /** One part in so many of the device is kept free, since activations are only estimated. */
    private static final int HEADROOM_SHARE = 16;
    private static final int MOST_ITERATIONS = 40;

    private final CapacityModel model;
    private final long deviceBytes;
    private final long hostBytes;
    private final Hardware hardware;
    private final Screen screen;
    private final Map<Integer, Workload> known = new TreeMap<>();

    Capacity(CapacityModel model, long deviceBytes, long hostBytes, Hardware hardware, Screen screen) {
        this.model = model;
        this.deviceBytes = deviceBytes;
        this.hostBytes = hostBytes;
        this.hardware = hardware;
        this.screen = screen;
    }

    /** What was found for one strategy. */
    static final class Found {

        final int notch;
        final long parameters;
        final long stepNanos;

        private Found(int notch, long parameters, long stepNanos) {
            this.notch = notch;
            this.parameters = parameters;
            this.stepNanos = stepNanos;
        }

        /** Predicted time of a step per parameter. */
        double nanosPerParameter() {
            return (double) stepNanos / parameters;
        }
    }

    private long headroom() {
        return deviceBytes / HEADROOM_SHARE;
    }

    private Workload workload(int notch) {
        return known.computeIfAbsent(notch, n -> MemFerry.describe(model.network(n), CapacityModel.BATCH, model.input()));
    }

    /** By strategy; one is missing where not even the smallest network trains under it. */
    Map<Strategy, Found> search() {
        Map<Strategy, Found> found = new EnumMap<>(Strategy.class);
        for (Strategy strategy : Strategy.values()) {
            int notch = largest(strategy);
            if (notch > 0) {
                Workload workload = workload(notch);
                Forecast forecast = Forecast.of(strategy, workload, Forecast.estimate(workload, hardware), hardware, budget(workload));
                found.put(strategy, new Found(notch, workload.network().parameterCount(), forecast.simulation().stepNanos()));
            }
        }
        return found;
    }

    private Budget budget(Workload workload) {
        return workload.budget(deviceBytes, headroom());
    }

    private int largest(Strategy strategy) {
        int fits = 0;
        int tooLarge = 1;
        while (fits(strategy, tooLarge)) {
            fits = tooLarge;
            tooLarge *= 2;
        }
        while (tooLarge - fits > 1) {
            int middle = (fits + tooLarge) >>> 1;
            if (fits(strategy, middle)) {
                fits = middle;
            } else {
                tooLarge = middle;
            }
        }
        return fits;
    }

    private boolean fits(Strategy strategy, int notch) {
        screen.status(String.format("%s, %s: width %d", model.name().toLowerCase(), strategy, notch * CapacityModel.NOTCH));
        Workload workload = workload(notch);
        if (hostBytes(workload) > hostBytes) {
            return false;
        }
        Profile profile = Forecast.estimate(workload, hardware);
        try {
            if (strategy == Strategy.NONE) {
                Forecast.of(strategy, workload, profile, hardware, budget(workload));
            } else {
                StrategyPlanner.plan(strategy, workload.network(), profile, budget(workload), PlacementRules.none());
            }
            return true;
        } catch (OutOfMemoryException e) {
            return false;
        }
    }

    static long hostBytes(Workload workload) {
        return Math.addExact(Math.multiplyExact(2L, workload.network().parameterBytes()), workload.network().updaterStateBytes());
    }

    /** Whether the host, not the device, bounds what was found. */
    boolean isBoundByHost(Found found) {
        return hostBytes(workload(found.notch + 1)) > hostBytes;
    }

    private MemFerryConfig config(Strategy strategy) {
        return MemFerryConfig.builder().device("emulated:" + deviceBytes).headroom(String.valueOf(headroom())).strategy(strategy)
                .expect(CapacityModel.BATCH, model.input()).build();
    }

    /**
     * Trains the network of a strategy until an iteration has run under the strategy's own plan; the iterations before are measured.
     *
     * @return most device bytes in training: slab, workspaces and ordinary arrays
     */
    long train(Strategy strategy, Found found) {
        Model network = model.network(found.notch);
        DeviceMeter.settle();
        try (MemFerry ferry = MemFerry.init(network, config(strategy));
                DeviceMeter meter = DeviceMeter.start(() -> ferry.metrics().device().slabBytes())) {
            for (int i = 0; ferry.profile() == null; i++) {
                if (i == MOST_ITERATIONS) {
                    throw new IllegalStateException(i + " iterations without a measured profile");
                }
                screen.status(String.format("%s, %s: iteration %d with %,d parameters", model.name().toLowerCase(), strategy, i + 1,
                        found.parameters));
                model.fit(network);
            }
            return meter.peak().totalBytes();
        }
    }

    /** Whether MemFerry itself refuses the next larger network on the device. */
    boolean isOneMoreRefused(Strategy strategy, Found found) {
        int notch = found.notch + 1;
        try (MemFerry ferry = MemFerry.init(model.network(notch), config(strategy))) {
            return false;
        } catch (OutOfMemoryException e) {
            return true;
        }
    }

    String device() {
        return Sizes.format(deviceBytes);
    }
}
