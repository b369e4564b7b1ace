package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Strategy;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Compares the simulator with the emulated device: several networks, links and all strategies. Times are profiled in one process and
 * measured in another one.
 */
final class SimulatorBench {

    /** Times of all parameters on the link over those of forward and backward. */
    static final List<Double> RATIOS = List.of(0.2, 1.0, 2.0);

    private static final String ROW = "%-12s %9s  %-15s %9s %12s %9s  %s";

    private final List<OffloadModel> models;
    private final List<Double> ratios;
    private final int rounds;
    private final Screen screen;
    private final Map<Strategy, List<Double>> errors = new EnumMap<>(Strategy.class);
    private boolean peakExact = true;

    /**
     * @param models networks
     * @param ratios transfer over compute that the link is chosen for
     * @param rounds blocks of iterations of each strategy that count
     * @param screen for results and status
     */
    SimulatorBench(List<OffloadModel> models, List<Double> ratios, int rounds, Screen screen) {
        this.models = models;
        this.ratios = ratios;
        this.rounds = rounds;
        this.screen = screen;
    }

    /** Runs everything; afterwards {@link #result} says how it went. */
    void run() throws IOException {
        screen.line("Emulated device; one OpenMP thread, one update thread, layers held to the times of a first, stretched run. Profiled in one process, measured in another;"
                + " median of %d blocks of iterations per strategy, in turns.", rounds);
        screen.line(ROW, "model", "transfer", "strategy", "step ms", "simulated ms", "error", "device bytes");
        for (OffloadModel model : models) {
            for (double ratio : ratios) {
                screen.status(model.title() + ", transfer over compute " + ratio);
                compare(model, ratio);
            }
        }
        errors.forEach((strategy, values) -> screen.line("%-15s error: median %.1f %%, worst %.1f %% of %d runs", strategy,
                100 * median(values), 100 * worst(values), values.size()));
    }

    private void compare(OffloadModel model, double ratio) throws IOException {
        Path folder = Files.createTempDirectory("memferry-bench");
        try {
            Map<String, String> setting = ChildProcess.run(SavedProfiles.class, model.title(), Double.toString(ratio), folder.toString())
                    .get(0);
            ChildProcess.run(SimulatorRun.class, model.title(), setting.get("setting"), folder.toString(), Integer.toString(rounds))
                    .forEach(row -> show(model, setting.get("transfer_over_compute"), row));
        } finally {
            for (File file : folder.toFile().listFiles()) {
                Files.delete(file.toPath());
            }
            Files.delete(folder);
        }
    }

    private void show(OffloadModel model, String transferOverCompute, Map<String, String> row) {
        double error = Double.parseDouble(row.get("error"));
        boolean exact = Boolean.parseBoolean(row.get("peak_exact"));
        errors.computeIfAbsent(Strategy.valueOf(row.get("name")), s -> new ArrayList<>()).add(error);
        peakExact &= exact;
        screen.line(ROW, model.title(), transferOverCompute, row.get("name"), row.get("step_ms"), row.get("simulated_ms"),
                String.format(Locale.ROOT, "%.1f %%", 100 * error), row.get("slab_bytes")
                + (exact ? ", as simulated" : ", simulated " + row.get("simulated_slab_bytes"))
                + (Boolean.parseBoolean(row.get("replanned")) ? ", planned anew meanwhile" : ""));
    }

    private static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(v -> v).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static double worst(List<Double> values) {
        return values.stream().mapToDouble(v -> v).max().orElse(Double.NaN);
    }

    /** Whether every strategy took exactly the device bytes that the simulator says. */
    boolean isPeakExact() {
        return peakExact;
    }

    /** The machine-readable line: of the strategies, the largest median and the worst error. */
    ResultLine result() {
        double median = errors.values().stream().mapToDouble(SimulatorBench::median).max().orElse(Double.NaN);
        double worst = errors.values().stream().mapToDouble(SimulatorBench::worst).max().orElse(Double.NaN);
        return new ResultLine("bench-simulator").add("runs", errors.values().stream().mapToInt(List::size).sum())
                .add("median_error", String.format(Locale.ROOT, "%.3f", median)).add("worst_error", String.format(Locale.ROOT, "%.3f", worst))
                .add("peak_exact", peakExact);
    }
}
