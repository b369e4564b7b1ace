package org.memferry.examples.bench;

import org.bytedeco.javacpp.Pointer;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateWorkers;
import org.memferry.update.UpdateYardsticks;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.concurrent.Callable;

/** {@code memferry bench updater}. */
@Command(name = "updater", mixinStandardHelpOptions = true,
        description = {"Measures the update of one rule: MemFerry's kernel against a native stream of the same bytes, memcpy, the kernel "
                + "in Java, and the three operations of plain DL4J, on as many threads. All work in MemFerry's host memory but plain DL4J, "
                + "which has arrays of its own as in training, and is timed in MemFerry's memory as well.", ""})
public final class UpdaterCommand implements Callable<Integer> {

    @Option(names = "--rule", paramLabel = "RULE", defaultValue = "adam", description = "One of: ${COMPLETION-CANDIDATES} (in either "
            + "case). Default: ${DEFAULT-VALUE}.")
    private UpdateRule rule;

    @Option(names = "--params", paramLabel = "N", defaultValue = "100000000",
            description = "Parameters, of 4 bytes. Default: ${DEFAULT-VALUE}.")
    private long parameters;

    @Option(names = "--threads", paramLabel = "N", description = "Threads of each contestant. Default: as MemFerry chooses.")
    private Integer threads;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "15",
            description = "Rounds, each with every contestant in it. Default: ${DEFAULT-VALUE}.")
    private int rounds;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        int workers = threads == null ? UpdateWorkers.defaultThreads() : threads;
        require(parameters >= 1, "--params: " + parameters + " (expected: >= 1)");
        require(workers >= 1, "--threads: " + workers + " (expected: >= 1)");
        require(rounds >= 1, "--rounds: " + rounds + " (expected: >= 1)");
        long bytes = Math.addExact(UpdaterArrays.bytes(rule, parameters), StockArrays.bytes(rule, parameters));
        long available = Pointer.availablePhysicalBytes();
        require(bytes < available, "--params: " + parameters + " need " + Sizes.format(bytes) + " of memory, " + Sizes.format(available)
                + " are available (expected: fewer)");
        Screen screen = output.screen();
        UpdaterBench bench = new UpdaterBench(rule, parameters, workers, rounds, UpdateYardsticks.nativeLibraryFailure().orElse(null),
                screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.equalsStock()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the numbers are not plain DL4J's");
        }
        return bench.equalsStock() ? 0 : 1;
    }

    private void require(boolean holds, String message) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }
}
