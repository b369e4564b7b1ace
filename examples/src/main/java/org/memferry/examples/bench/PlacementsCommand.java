package org.memferry.examples.bench;

import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

/** {@code memferry bench placements}. */
@Command(name = "placements", mixinStandardHelpOptions = true,
        description = {"Shows what each way to serve layers costs: a network trains with all of its layers resident, copied ahead, or read in"
                + " place, on an emulated device with room for all of it.", ""})
public final class PlacementsCommand implements Callable<Integer> {

    private static final List<Double> RATIOS = List.of(1.0, 0.2);
    private static final String ROW = "%-10s %9s %14s %10s";

    @Mixin
    private Selection selection;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Screen screen = output.screen();
        selection.announce(screen);
        boolean identical = true;
        for (OffloadModel model : selection.models()) {
            for (double ratio : selection.ratios(RATIOS)) {
                screen.status(model.title() + ", transfer over compute " + ratio);
                identical &= show(screen, model, ratio, ChildProcess.run(PlacementsRun.class, model.title(), Double.toString(ratio),
                        Integer.toString(selection.rounds())));
            }
        }
        screen.result(new ResultLine("bench-placements").add("device", "emulated").add("direct", "modelled")
                .add("parity", identical ? "bit-identical" : "different"));
        return identical ? 0 : 1;
    }

    private static boolean show(Screen screen, OffloadModel model, double ratio, List<Map<String, String>> results) {
        Map<String, String> setting = results.get(0);
        screen.line("");
        screen.line("%s: %s parameters, compute %s ms (dilation %s), link %s GB/s: all parameters take %s of the computation's time",
                model.title(), setting.get("params"), setting.get("compute_ms"), setting.get("dilation"), setting.get("link_gbps"), ratio);
        screen.line(ROW, "placement", "step ms", "times compute", "slab MB");
        for (Map<String, String> row : results.subList(1, results.size())) {
            screen.line(ROW, row.get("name"), row.get("step_ms"), row.get("vs_compute"),
                    String.format(Locale.ROOT, "%.2f", Long.parseLong(row.get("slab_bytes")) / (double) (1 << 20)));
        }
        return setting.get("parity").equals("bit-identical");
    }
}
