package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.planner.LowerBound;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Trains one network by every strategy, in turns, on emulated devices of one {@link Setting}, and compares their times and, with a plain
 * network, their bits. Runs in a process of its own; see {@link ChildProcess}.
 */
final class ScheduleRun {

    static final List<Strategy> STRATEGIES = List.of(Strategy.ZERO_OFFLOAD, Strategy.NATIVE_OFFLOAD, Strategy.MEMFERRY,
            Strategy.GO_MEMFERRY, Strategy.STREAM, Strategy.AUTO);

    private final OffloadModel model;
    private final double transferOverCompute;
    private final int rounds;
    private final List<DataSet> batches;
    private final List<Contestant> contestants = new ArrayList<>();
    private Setting setting;

    /**
     * @param model               what is trained
     * @param transferOverCompute see {@link Setting#find}
     * @param rounds              blocks of iterations of each strategy that count
     */
    ScheduleRun(OffloadModel model, double transferOverCompute, int rounds) {
        this.model = model;
        this.transferOverCompute = transferOverCompute;
        this.rounds = rounds;
        this.batches = model.batches();
    }

    /** Entry of the child process: model, transfer over compute, rounds. */
    public static void main(String[] arguments) throws IOException {
        OffloadModel model = OffloadModel.valueOf(arguments[0].toUpperCase(Locale.ROOT));
        new ScheduleRun(model, Double.parseDouble(arguments[1]), Integer.parseInt(arguments[2])).run(System.out::println);
    }

    /** Runs everything. Hands on a result line for the whole, and one per strategy. */
    void run(Consumer<String> lines) throws IOException {
        File pace = File.createTempFile("memferry-bench", ".pace.json");
        File profile = File.createTempFile("memferry-bench", ".profile.json");
        try {
            setting = Setting.find(model, batches, transferOverCompute, pace);
            Files.delete(profile.toPath());
            for (Strategy strategy : STRATEGIES) {
                // The device of NATIVE_OFFLOAD is another one: its profile would not be found, and the file be overwritten.
                File file = strategy == Strategy.NATIVE_OFFLOAD ? null : profile;
                contestants.add(Contestant.attach(model, batches, strategy, setting.device(strategy), file));
            }
            Contestant.takeTurns(contestants, rounds);
            report(lines);
        } finally {
            contestants.forEach(Contestant::close);
            Files.deleteIfExists(profile.toPath());
            Files.deleteIfExists(pace.toPath());
        }
    }

    private Contestant of(Strategy strategy) {
        return contestants.get(STRATEGIES.indexOf(strategy));
    }

    private void report(Consumer<String> lines) {
        Contestant zero = of(Strategy.ZERO_OFFLOAD);
        NetworkDescription network = zero.plan().network();
        Profile profile = zero.profile();
        LowerBound bound = LowerBound.of(network, profile);
        lines.accept(new ResultLine("setting").add("params", network.parameterCount())
                .add("link_gbps", decimals(5, setting.gigabytesPerSecond())).add("dilation", setting.dilation())
                .add("compute_ms", decimals(1, Setting.computeNanos(profile) / 1e6))
                .add("transfer_over_compute", decimals(3, setting.transferOverCompute(network, profile)))
                .add("bound_ms", decimals(1, bound.stepNanos() / 1e6)).add("bound_by", bound.part())
                .add("parity", Contestant.areLikePlain(model, batches, contestants) ? "bit-identical" : "different").toString());
        STRATEGIES.forEach(s -> lines.accept(line(s, of(s), zero, bound).toString()));
    }

    private ResultLine line(Strategy strategy, Contestant c, Contestant zero, LowerBound bound) {
        return new ResultLine(strategy.name()).add("step_ms", decimals(1, c.measuredMillis()))
                .add("simulated_ms", decimals(1, c.simulation().stepNanos() / 1e6)).add("device_bytes", setting.bytes(strategy))
                .add("steps", c.isReplanned() ? "replanned" : c.plan().updateTiming())
                .add("vs_zero_offload", decimals(3, zero.times(c)))
                .add("vs_native_offload", decimals(3, of(Strategy.NATIVE_OFFLOAD).times(c)))
                .add("vs_lower_bound", decimals(3, c.measuredMillis() * 1e6 / bound.stepNanos()));
    }

    private static String decimals(int count, double value) {
        return String.format(Locale.ROOT, "%." + count + "f", value);
    }
}
