package org.memferry.examples.bench;

import org.memferry.MemFerryRuntime;
import org.memferry.base.RefusedException;
import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;

/** {@code memferry bench estimate}. */
@Command(name = "estimate", mixinStandardHelpOptions = true,
        description = {"Compares the estimate of memory with what training takes: networks of DL4J's zoo and others train on an emulated device"
                + " that is 5 %% larger than what the smallest strategy is estimated to need.", ""})
public final class EstimateBenchCommand implements Callable<Integer> {

    private static final Logger LOG = LoggerFactory.getLogger(EstimateBenchCommand.class);

    @Option(names = "--models", paramLabel = "MODEL", split = ",", description = "Of ${COMPLETION-CANDIDATES}. Default: all.")
    private List<KnownNetwork> models;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "4", description = "Of each network. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if (iterations < 1) {
            throw new ParameterException(spec.commandLine(), "--iterations: " + iterations + " (expected: >= 1)");
        }
        JavaCppLimit.lift();
        installManagers();
        Screen screen = output.screen();
        EstimateBench bench = new EstimateBench(models != null ? models : List.of(KnownNetwork.values()), iterations, screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.isKept()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": a network took more than its device has");
        }
        return bench.isKept() ? 0 : 1;
    }

    private static void installManagers() {
        try {
            MemFerryRuntime.install();
        } catch (RefusedException e) {
            // Somebody has used ND4J in this process already: the same is measured, but nothing enforces the budget.
            LOG.info("{}", e.getMessage());
        }
    }
}
