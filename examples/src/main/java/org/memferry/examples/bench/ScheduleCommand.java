package org.memferry.examples.bench;

import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.List;
import java.util.concurrent.Callable;

/** {@code memferry bench schedule}. */
@Command(name = "schedule", mixinStandardHelpOptions = true,
        description = {"Compares the strategies with ZeRO-Offload: several networks train by each of them on an emulated device whose link is"
                + " as slow beside the network's computation as PCI Express is beside a GPU's, and end with plain DL4J's bits.", ""})
public final class ScheduleCommand implements Callable<Integer> {

    @Option(names = "--models", paramLabel = "MODEL", split = ",",
            description = "Of ${COMPLETION-CANDIDATES}. Default: all but TINY.")
    private List<OffloadModel> models;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "5",
            description = "Blocks of five iterations of each strategy. Default: ${DEFAULT-VALUE}.")
    private int rounds;

    @Option(names = "--quick", description = "One small network, one link, one block: shows that it works, not how fast.")
    private boolean quick;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (rounds < 1) {
            throw new ParameterException(spec.commandLine(), "--rounds: " + rounds + " (expected: >= 1)");
        }
        Screen screen = Screen.of(spec.commandLine().getOut(), spec.commandLine().getErr());
        List<OffloadModel> chosen = models != null ? models : quick ? List.of(OffloadModel.TINY) : OffloadModel.measured();
        ScheduleBench bench = new ScheduleBench(chosen, quick ? ScheduleBench.RATIOS.subList(0, 1) : ScheduleBench.RATIOS, quick ? 1 : rounds,
                screen);
        bench.run();
        screen.line(bench.result().toString());
        if (!bench.isIdentical()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the numbers are not plain DL4J's");
        }
        return bench.isIdentical() ? 0 : 1;
    }
}
