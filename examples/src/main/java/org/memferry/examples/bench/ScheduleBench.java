package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Strategy;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Compares the strategies on several networks, each on an emulated device whose link is slow beside the network's computation, and on one
 * whose link is fast. Each pair runs in a process of its own.
 */
final class ScheduleBench {

    /** Times of all parameters on the link over those of forward and backward: bound by transfers, and bound by computation. */
    static final List<Double> RATIOS = List.of(1.0, 0.2);

    private static final double TRANSFER_BOUND_FROM = 0.8;
    private static final double TRANSFER_BOUND_TO = 1.25;
    private static final double COMPUTE_BOUND_BELOW = 0.3;
    private static final String ROW = "%-15s %9s %12s %9s %11s  %s";

    private final List<OffloadModel> models;
    private final List<Double> ratios;
    private final int rounds;
    private final Screen screen;
    private final List<Double> speedups = new ArrayList<>();
    private boolean identical = true;

    /**
     * @param models networks
     * @param ratios transfer over compute that the link is chosen for
     * @param rounds blocks of iterations of each strategy that count
     * @param screen for results and status
     */
    ScheduleBench(List<OffloadModel> models, List<Double> ratios, int rounds, Screen screen) {
        this.models = models;
        this.ratios = ratios;
        this.rounds = rounds;
        this.screen = screen;
    }

    /** Runs everything; afterwards {@link #result} says how it went. */
    void run() {
        screen.line("Emulated device; one OpenMP thread, one update thread. A first run on a fast link, stretched by the dilation, gives each layer's"
                + " time to all, and each link is chosen for a given time of all parameters on it over forward and backward. Each device has the"
                + " bytes of the smallest on which ZERO_OFFLOAD runs, activations included; that of NATIVE_OFFLOAD those that it needs itself."
                + " Median of %d blocks of iterations per strategy, in turns.", rounds);
        for (double ratio : ratios) {
            for (OffloadModel model : models) {
                screen.status(model.title() + ", transfer over compute " + ratio);
                show(model, ChildProcess.run(ScheduleRun.class, model.title(), Double.toString(ratio), Integer.toString(rounds)));
            }
        }
    }

    private void show(OffloadModel model, List<Map<String, String>> results) {
        Map<String, String> setting = results.get(0);
        screen.line("");
        screen.line("%s: %s parameters, compute %s ms (dilation %s), link %s GB/s, lower bound %s ms (%s)", model.title(), setting.get("params"),
                setting.get("compute_ms"), setting.get("dilation"), setting.get("link_gbps"), setting.get("bound_ms"), setting.get("bound_by"));
        screen.line(ROW, "strategy", "step ms", "simulated ms", "vs ZERO", "device MB", "steps");
        for (Map<String, String> row : results.subList(1, results.size())) {
            screen.line(ROW, row.get("name"), row.get("step_ms"), row.get("simulated_ms"), row.get("vs_zero_offload"),
                    String.format(Locale.ROOT, "%.2f", Long.parseLong(row.get("device_bytes")) / (double) (1 << 20)), row.get("steps"));
        }
        Map<String, String> auto = results.stream().filter(row -> row.get("name").equals(Strategy.AUTO.name())).findFirst().orElseThrow();
        screen.result(line(model, setting, auto));
        speedups.add(Double.parseDouble(auto.get("vs_zero_offload")));
        identical &= setting.get("parity").equals("bit-identical");
    }

    private static ResultLine line(OffloadModel model, Map<String, String> setting, Map<String, String> auto) {
        return new ResultLine("bench-schedule").add("model", model.title()).add("device", "emulated").add("dilation", setting.get("dilation"))
                .add("link_gbps", setting.get("link_gbps")).add("transfer_over_compute", setting.get("transfer_over_compute"))
                .add("bound", bound(Double.parseDouble(setting.get("transfer_over_compute"))))
                .add("vs_zero_offload", auto.get("vs_zero_offload")).add("vs_native_offload", auto.get("vs_native_offload"))
                .add("vs_lower_bound", auto.get("vs_lower_bound")).add("parity", setting.get("parity"));
    }

    /** What bounds a network: transfers, computation, or by these words neither. */
    static String bound(double transferOverCompute) {
        if (transferOverCompute >= TRANSFER_BOUND_FROM && transferOverCompute <= TRANSFER_BOUND_TO) {
            return "transfer";
        }
        return transferOverCompute < COMPUTE_BOUND_BELOW ? "compute" : "other";
    }

    /** Whether every strategy's parameters were those of plain DL4J, to the bit. */
    boolean isIdentical() {
        return identical;
    }

    /** The machine-readable line. */
    ResultLine result() {
        double mean = speedups.stream().mapToDouble(v -> v).average().orElse(Double.NaN);
        return new ResultLine("bench-schedule-mean").add("vs_zero_offload", String.format(Locale.ROOT, "%.2f", mean));
    }
}
