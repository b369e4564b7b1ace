package org.memferry.examples.gpucheck;

import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.examples.ResultLine;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.planner.PlacementRules;
import org.memferry.planner.Simulator;
import org.memferry.planner.StrategyPlanner;
import org.memferry.update.UpdateEngine;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Serves recorded networks by every strategy on the card, and compares times and device bytes with ZeRO-Offload's. */
final class ReplayCheck {

    private static final List<Strategy> STRATEGIES = List.of(Strategy.ZERO_OFFLOAD, Strategy.NATIVE_OFFLOAD, Strategy.MEMFERRY, Strategy.GO_MEMFERRY,
            Strategy.STREAM, Strategy.AUTO);
    /** How many times the recorded batch: of a network that the link bounds, and of one that arithmetic bounds more. */
    private static final double[] BATCHES = {1, 32};

    private final int card;
    private final Pace pace;
    private final Extent extent;
    private final KernelsMaker maker;
    private final CopyRates link;
    private final UpdateEngine steps;

    ReplayCheck(int card, Pace pace, Extent extent, KernelsMaker maker, CopyRates link, UpdateEngine steps) {
        this.card = card;
        this.pace = pace;
        this.extent = extent;
        this.maker = maker;
        this.link = link;
        this.steps = steps;
    }

    /**
     * Runs all.
     *
     * @param figures what the figures are, for the lines
     * @return one line per network, batch and strategy that fits
     */
    List<ResultLine> run(Report report, String figures) {
        Report.Table table = report.table("Recorded networks by every strategy", "The accesses of networks that were recorded in training, served by"
                + " MemFerry's engine on this card; the layers' sizes are scaled, products of dense layers stand for DL4J's operations, and a"
                + " stream of Adam's bytes for the step. Device bytes: parameters and gradients there, without activations. Simulated: what the"
                + " planner predicted from the layers' times measured here.", "network", "batch factor", "strategy", "step ms", "simulated ms",
                "vs ZERO_OFFLOAD", "device bytes", "iterations");
        for (double factor : BATCHES) {
            for (String name : TracedNetwork.NAMES) {
                if (pace.isPast(0.85)) {
                    report.unproven("network " + name + " with batch factor " + factor + " was left out for want of time");
                } else {
                    replay(table, TracedNetwork.named(name).scaled(extent.parameterBytes, factor, extent.columns), factor);
                }
            }
        }
        return table.rows().stream().filter(row -> row.get(3) instanceof Double).map(row -> line(row, figures)).collect(Collectors.toList());
    }

    private static ResultLine line(List<Object> row, String figures) {
        return new ResultLine("gpu-check-replay").add("figures", figures).add("network", row.get(0)).add("batch_factor", row.get(1))
                .add("strategy", row.get(2)).add("step_ms", decimals(row.get(3))).add("simulated_ms", decimals(row.get(4)))
                .add("vs_zero_offload", decimals(row.get(5))).add("device_bytes", row.get(6));
    }

    private static String decimals(Object value) {
        return String.format(Locale.ROOT, "%.3f", (Double) value);
    }

    private void replay(Report.Table table, TracedNetwork network, double factor) {
        List<LayerDescription> layers = network.network().layers();
        long activations = IntStream.range(0, layers.size()).mapToLong(i -> network.shape(i).activationBytes()).max().orElse(0);
        long largest = layers.stream().mapToLong(LayerDescription::parameterBytes).max().orElse(0);
        try (Kernels kernels = maker.make(activations, largest, 1);
                Device device = CudaDevice.builder(card).compute(kernels).build();
                HostMemory memory = new HostMemory(device, network.network(), steps)) {
            Profile profile;
            try (Runtime runtime = new Runtime(card)) {
                memory.fill(runtime);
                long pinned = runtime.pinnedMemory(largest);
                long onCard = runtime.deviceMemory(largest);
                runtime.fill(pinned, largest);
                runtime.fill(onCard, largest);
                profile = new CardProfile(pace, kernels, memory, pinned, onCard)
                        .measure(network, link.toDevice(), link.toHost());
            }
            double zero = Double.NaN;
            for (Strategy strategy : STRATEGIES) {
                try {
                    zero = train(table, network, factor, strategy, profile, new Place(device, kernels, memory), zero);
                } catch (OutOfMemoryException e) {
                    table.row(network.name(), factor, strategy.name(), "does not fit", "", "", e.askedBytes(), 0);
                }
            }
        }
    }

    /** Where a strategy runs. */
    private static final class Place {

        final Device device;
        final Kernels kernels;
        final HostMemory memory;

        Place(Device device, Kernels kernels, HostMemory memory) {
            this.device = device;
            this.kernels = kernels;
            this.memory = memory;
        }
    }

    /** Returns the time of an iteration by ZeRO-Offload, which comes first. */
    private double train(Report.Table table, TracedNetwork network, double factor, Strategy strategy, Profile profile, Place place, double zero) {
        Plan plan = StrategyPlanner.plan(strategy, network.network(), profile, budget(strategy, network.network(), profile), PlacementRules.none());
        try (CardTraining training = new CardTraining(network, plan, place.device, place.kernels, place.memory)) {
            training.run(extent.strategySeconds);
            double millis = training.medianMillis();
            double first = strategy == Strategy.ZERO_OFFLOAD ? millis : zero;
            table.row(network.name(), factor, strategy.name(), millis, Simulator.simulate(plan, profile).stepNanos() / 1e6, first / millis,
                    plan.slabBytes(), training.iterations());
            return first;
        }
    }

    /** As much as ZeRO-Offload needs; what the one that keeps all gradients needs for that one. */
    private static Budget budget(Strategy strategy, NetworkDescription network, Profile profile) {
        long zero = StrategyPlanner.smallestBudget(Strategy.ZERO_OFFLOAD, network, profile);
        long own = strategy == Strategy.NATIVE_OFFLOAD ? StrategyPlanner.smallestBudget(strategy, network, profile) : 0;
        return new Budget(Math.max(zero, own), 0, true, 0, true);
    }
}
