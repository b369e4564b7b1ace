package org.memferry.examples.bench;

import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;

/** {@code memferry bench simulator}. */
@Command(name = "simulator", mixinStandardHelpOptions = true,
        description = {"Compares the simulator with the emulated device: several networks, links and all strategies; profiled in one process,"
                + " measured in another one.", ""})
public final class SimulatorCommand implements Callable<Integer> {

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
    public Integer call() throws IOException {
        if (rounds < 1) {
            throw new ParameterException(spec.commandLine(), "--rounds: " + rounds + " (expected: >= 1)");
        }
        Screen screen = Screen.of(spec.commandLine().getOut(), spec.commandLine().getErr());
        List<OffloadModel> chosen = models != null ? models : quick ? List.of(OffloadModel.TINY) : OffloadModel.measured();
        SimulatorBench bench = new SimulatorBench(chosen, quick ? SimulatorBench.RATIOS.subList(0, 1) : SimulatorBench.RATIOS,
                quick ? 1 : rounds, screen);
        bench.run();
        screen.line(bench.result().toString());
        if (!bench.isPeakExact()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the device bytes are not those simulated");
        }
        return bench.isPeakExact() ? 0 : 1;
    }
}
