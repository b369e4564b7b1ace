package org.memferry.examples.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code memferry bench}. */
@Command(name = "bench", mixinStandardHelpOptions = true, subcommands = {UpdaterCommand.class, FitCommand.class, BigStateCommand.class,
        ScheduleCommand.class, SimulatorCommand.class, PlacementsCommand.class, EstimateBenchCommand.class,
        Vgg16Command.class, BackendCommand.class, SaveCommand.class},
        synopsisSubcommandLabel = "BENCH",
        description = "Measures MemFerry against plain DL4J and against what memory allows, interleaved within one process.",
        footer = {"", "Exit code: 0 if the numbers are plain DL4J's, 1 if they are not, 2 if the command line is wrong."})
public final class BenchCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "no bench given (expected: " + String.join(" or ", spec.subcommands().keySet())
                + ")");
    }
}
