package org.memferry.examples.bench;

import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.concurrent.Callable;

/** {@code memferry bench fit}. */
@Command(name = "fit", mixinStandardHelpOptions = true,
        description = {"Measures whole iterations: a plain network and an attached one train on the same data in turns, and end with the "
                + "same bits. Adam, 32 examples an iteration, on the CPU: the gain is that of the update.", ""})
public final class FitCommand implements Callable<Integer> {

    @Option(names = "--model", paramLabel = "MODEL", defaultValue = "mlp60m",
            description = "mlp60m: five dense layers, 60 million parameters; lstm: two LSTM layers on characters, 3.4 million; cnn: three "
                    + "convolutions and a dense layer on small colour images, 2.2 million. Default: ${DEFAULT-VALUE}.")
    private FitModel model;

    @Option(names = "--pairs", paramLabel = "N", defaultValue = "21",
            description = "Pairs of iterations, one plain, one attached. Default: ${DEFAULT-VALUE}.")
    private int pairs;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (pairs < 1) {
            throw new ParameterException(spec.commandLine(), "--pairs: " + pairs + " (expected: >= 1)");
        }
        Screen screen = output.screen();
        FitBench bench = new FitBench(model.task(), pairs, screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.isIdentical()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the numbers are not plain DL4J's");
        }
        return bench.isIdentical() ? 0 : 1;
    }
}
