package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Trains one network by every strategy, planned from a profile that another process saved, and compares what the simulator predicts from
 * that profile with what is measured. Runs in a process of its own; see {@link ChildProcess}.
 */
final class SimulatorRun {

    private SimulatorRun() {
    }

    /** Entry of the child process: model, setting, folder with the profiles, rounds. */
    public static void main(String[] arguments) {
        run(OffloadModel.valueOf(arguments[0].toUpperCase(Locale.ROOT)), Setting.parse(arguments[1]), new File(arguments[2]),
                Integer.parseInt(arguments[3]), System.out::println);
    }

    /** Hands on a result line per strategy. */
    static void run(OffloadModel model, Setting setting, File folder, int rounds, Consumer<String> lines) {
        List<DataSet> batches = model.batches();
        List<Contestant> contestants = new ArrayList<>();
        try {
            for (Strategy strategy : ScheduleRun.STRATEGIES) {
                Contestant contestant = Contestant.attach(model, batches, strategy, setting.device(strategy),
                        SavedProfiles.file(folder, strategy));
                contestants.add(contestant);
                if (!contestant.isProfileFound()) {
                    throw new IllegalStateException("the saved profile was not used for " + strategy + " on " + setting.device(strategy));
                }
            }
            // The virtual machine compiles what is new in this process; blocks of the first round do not count.
            contestants.forEach(Contestant::warmUp);
            for (int round = 0; round < rounds; round++) {
                contestants.forEach(Contestant::block);
            }
            contestants.forEach(c -> lines.accept(line(c).toString()));
        } finally {
            contestants.forEach(Contestant::close);
        }
    }

    private static ResultLine line(Contestant c) {
        Simulation simulation = c.simulation();
        double simulated = simulation.stepNanos() / 1e6;
        return new ResultLine(c.title()).add("step_ms", String.format(Locale.ROOT, "%.2f", c.measuredMillis()))
                .add("simulated_ms", String.format(Locale.ROOT, "%.2f", simulated))
                .add("error", String.format(Locale.ROOT, "%.4f", Math.abs(simulated / c.measuredMillis() - 1)))
                .add("slab_bytes", c.slabBytes()).add("simulated_slab_bytes", simulation.slabBytes())
                .add("peak_exact", c.slabBytes() == simulation.slabBytes()).add("replanned", c.isReplanned());
    }
}
