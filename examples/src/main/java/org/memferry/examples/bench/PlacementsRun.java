package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.plan.Placement;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * Trains one network with all its layers in one placement after the other, in turns, and compares the times with that of the computation
 * alone. Runs in a process of its own; see {@link ChildProcess}.
 */
final class PlacementsRun {

    private PlacementsRun() {
    }

    /** Entry of the child process: model, transfer over compute, rounds. */
    public static void main(String[] arguments) throws IOException {
        run(OffloadModel.valueOf(arguments[0].toUpperCase(Locale.ROOT)), Double.parseDouble(arguments[1]), Integer.parseInt(arguments[2]),
                System.out::println);
    }

    /** Hands on a result line for the setting and one per placement. */
    static void run(OffloadModel model, double transferOverCompute, int rounds, Consumer<String> lines) throws IOException {
        List<DataSet> batches = model.batches();
        List<Contestant> contestants = new ArrayList<>();
        File pace = File.createTempFile("memferry-bench", ".pace.json");
        try {
            Setting setting = Setting.find(model, batches, transferOverCompute, pace);
            for (Placement placement : Placement.values()) {
                contestants.add(Contestant.placed(model, batches, placement, setting.roomyDevice()));
            }
            Contestant.takeTurns(contestants, rounds);
            lines.accept(new ResultLine("setting").add("params", contestants.get(0).plan().network().parameterCount())
                    .add("compute_ms", decimals(1, setting.computeMillis())).add("dilation", setting.dilation())
                    .add("link_gbps", decimals(5, setting.gigabytesPerSecond()))
                    .add("parity", Contestant.areLikePlain(model, batches, contestants) ? "bit-identical" : "different").toString());
            for (Contestant c : contestants) {
                lines.accept(new ResultLine(c.title()).add("step_ms", decimals(1, c.measuredMillis()))
                        .add("vs_compute", decimals(2, c.measuredMillis() / setting.computeMillis())).add("slab_bytes", c.slabBytes())
                        .toString());
            }
        } finally {
            contestants.forEach(Contestant::close);
            Files.deleteIfExists(pace.toPath());
        }
    }

    private static String decimals(int count, double value) {
        return String.format(Locale.ROOT, "%." + count + "f", value);
    }
}
