package org.memferry.examples.gpucheck;

import org.memferry.base.RefusedException;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.Callable;

/** {@code memferry gpu-check}; a program of its own where ND4J is not there. */
@Command(name = "gpu-check", mixinStandardHelpOptions = true,
        description = {"Measures a card and its link and lets MemFerry serve recorded networks on it, with the CUDA runtime alone: no ND4J, no"
                + " network. Writes report.md, report.json and hardware.json.", ""},
        footer = {"", "Exit code: 0 done, 1 a call failed, 2 there is no card, or the command line is wrong."})
public final class GpuCheckCommand implements Callable<Integer> {

    @Option(names = "--card", paramLabel = "N", defaultValue = "0", description = "The card, as CUDA numbers them. Default: ${DEFAULT-VALUE}.")
    private int card;

    @Option(names = "--out", paramLabel = "FOLDER", defaultValue = "gpu-check", description = "Where the report goes. Default: ${DEFAULT-VALUE}.")
    private String out;

    @Option(names = "--minutes", paramLabel = "M", defaultValue = "8", description = "How long it may take. Default: ${DEFAULT-VALUE}.")
    private double minutes;

    @Option(names = "--trial", description = "Small sizes, to see that everything works: the figures mean nothing.")
    private boolean trial;

    @Option(names = "--fake", description = "Marks all figures as fake: the CUDA runtime is one for tests.")
    private boolean fake;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    /** Runs the check alone, without the other commands and what they need. */
    public static void main(String[] arguments) {
        CommandLine command = new CommandLine(new GpuCheckCommand());
        command.setExecutionExceptionHandler((e, line, parsed) -> {
            if (e instanceof RefusedException) {
                line.getErr().println("gpu-check: " + e.getMessage());
                return CommandLine.ExitCode.USAGE;
            }
            throw e;
        });
        command.setOut(new PrintWriter(System.out, true)).setErr(new PrintWriter(System.err, true));
        command.setExecutionStrategy(Output::execute);
        System.exit(command.execute(arguments));
    }

    @Override
    public Integer call() throws IOException {
        if (!(minutes > 0)) {
            throw new RefusedException("--minutes: " + minutes + " (expected: more than 0)");
        }
        Screen screen = output.screen();
        Path folder = Paths.get(out);
        GpuCheck check = new GpuCheck(card, trial ? Extent.TRIAL : Extent.CARD, 60 * minutes, fake, folder, screen::status);
        check.run();
        check.replays().forEach(screen::result);
        screen.result(new ResultLine("gpu-check").add("figures", check.figures()).add("strategies", check.replays().size())
                .add("report", folder.resolve("report.md")));
        return 0;
    }
}
