package org.memferry.examples.bench;

import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.List;
import java.util.concurrent.Callable;

/** {@code memferry bench estimate}. */
@Command(name = "estimate", mixinStandardHelpOptions = true,
        description = {"Compares the estimate of memory with what training takes: networks of DL4J's zoo and others train on an emulated device"
                + " that is 5 % larger than what the smallest strategy is estimated to need.", ""})
public final class EstimateBenchCommand implements Callable<Integer> {

    @Option(names = "--models", paramLabel = "MODEL", split = ",", description = "Of ${COMPLETION-CANDIDATES}. Default: all.")
    private List<KnownNetwork> models;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "4", description = "Of each network. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (iterations < 1) {
            throw new ParameterException(spec.commandLine(), "--iterations: " + iterations + " (expected: >= 1)");
        }
        JavaCppLimit.lift();
        Screen screen = Screen.of(spec.commandLine().getOut(), spec.commandLine().getErr());
        EstimateBench bench = new EstimateBench(models != null ? models : List.of(KnownNetwork.values()), iterations, screen);
        bench.run();
        screen.line(bench.result().toString());
        if (!bench.isKept()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": a network took more than its device has");
        }
        return bench.isKept() ? 0 : 1;
    }
}
