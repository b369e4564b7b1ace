package org.memferry.examples.bench;

import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.concurrent.Callable;

/** {@code memferry bench simulator}. */
@Command(name = "simulator", mixinStandardHelpOptions = true,
        description = {"Compares the simulator with the emulated device: several networks, links and all strategies; profiled in one process,"
                + " measured in another one.", ""})
public final class SimulatorCommand implements Callable<Integer> {

    @Mixin
    private Selection selection;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        Screen screen = output.screen();
        selection.announce(screen);
        SimulatorBench bench = new SimulatorBench(selection.models(), selection.ratios(SimulatorBench.RATIOS), selection.rounds(), screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.isPeakExact()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the device bytes are not those simulated");
        }
        return bench.isPeakExact() ? 0 : 1;
    }
}
