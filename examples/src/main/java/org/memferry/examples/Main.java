package org.memferry.examples;

import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.memferry.examples.bench.BenchCommand;
import org.memferry.examples.capacity.CapacityCommand;
import org.memferry.examples.charlm.CharLmCommand;
import org.memferry.examples.doctor.DoctorCommand;
import org.memferry.examples.finetune.FineTuneCommand;
import org.memferry.examples.forecast.EstimateCommand;
import org.memferry.examples.forecast.PlanCommand;
import org.memferry.examples.forecast.SimulateCommand;
import org.memferry.examples.forecast.TraceCommand;
import org.memferry.examples.gpucheck.GpuCheckCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.zip.ZipException;

/**
 * The command line. Results go to stdout, logs and errors to stderr. Exit codes: 0 done; 1 the work failed, or a claim that it checks
 * does not hold; 2 the command line or a file that it names is wrong, said in one line.
 */
@Command(name = "memferry", mixinStandardHelpOptions = true, versionProvider = Main.Version.class,
        subcommands = {FineTuneCommand.class, CharLmCommand.class, EstimateCommand.class, PlanCommand.class, SimulateCommand.class,
            TraceCommand.class, CapacityCommand.class, BenchCommand.class, GpuCheckCommand.class, DoctorCommand.class,
            CompletionCommand.class},
        synopsisSubcommandLabel = "COMMAND",
        description = "Trains DeepLearning4J networks that are larger than the memory of their device.",
        footer = {"", "memferry COMMAND --help says more about a command."})
public final class Main implements Runnable {

    @Spec
    private CommandSpec spec;

    private Main() {
    }

    /** Runs a command and ends the program with its exit code. */
    public static void main(String[] args) {
        PrintWriter out = new PrintWriter(System.out, true);
        // ND4J prints lines of its own on stdout, which are no results.
        System.setOut(System.err);
        System.exit(run(out, new PrintWriter(System.err, true), args));
    }

    /**
     * Runs a command.
     *
     * @return the exit code
     */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        return commandLine(out, err).execute(args);
    }

    static CommandLine commandLine(PrintWriter out, PrintWriter err) {
        CommandLine commands = new CommandLine(new Main());
        commands.setOut(out);
        commands.setErr(err);
        commands.setCaseInsensitiveEnumValuesAllowed(true);
        commands.setExecutionStrategy(Output::execute);
        commands.setParameterExceptionHandler((e, arguments) -> refuse(e.getCommandLine(), message(e)));
        commands.setExecutionExceptionHandler((e, command, parsed) -> fail(command, e));
        return commands;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "no command given (expected: "
                + String.join(" or ", spec.subcommands().keySet()) + ")");
    }

    private static String message(ParameterException e) {
        List<String> meant = e instanceof UnmatchedArgumentException ? ((UnmatchedArgumentException) e).getSuggestions() : List.of();
        return meant.isEmpty() ? e.getMessage() : e.getMessage() + " (did you mean " + String.join(" or ", meant) + "?)";
    }

    private static int fail(CommandLine command, Exception e) throws Exception {
        Throwable cause = e instanceof UncheckedIOException ? e.getCause() : e;
        if (cause instanceof NoSuchFileException || cause instanceof FileNotFoundException) {
            return refuse(command, cause.getMessage() + ": there is no such file");
        }
        if (cause instanceof RefusedException) {
            return refuse(command, cause.getMessage());
        }
        if (cause instanceof CharacterCodingException || cause instanceof ZipException || cause instanceof FileSystemException) {
            return refuse(command, "a file cannot be read: " + cause);
        }
        if (cause instanceof IOException || cause instanceof MemFerryException) {
            say(command, String.valueOf(cause.getMessage()));
            return CommandLine.ExitCode.SOFTWARE;
        }
        throw e;
    }

    private static int refuse(CommandLine command, String message) {
        say(command, message + " (--help says more)");
        return CommandLine.ExitCode.USAGE;
    }

    private static void say(CommandLine command, String message) {
        command.getErr().println(command.getCommandSpec().qualifiedName() + ": " + message.replaceAll("\\R", " "));
    }

    /** The version from the jar's manifest. */
    static final class Version implements IVersionProvider {

        @Override
        public String[] getVersion() {
            String version = Main.class.getPackage().getImplementationVersion();
            return new String[] {"memferry " + (version == null ? "(not from a jar)" : version)};
        }
    }
}
