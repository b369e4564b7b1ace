package org.memferry.examples.forecast;

import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.planner.Estimate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.concurrent.Callable;

/** {@code memferry estimate}. */
@Command(name = "estimate", mixinStandardHelpOptions = true,
        description = {"Tells what training a network takes on the device and on the host under each strategy, which of them fit, with which "
                + "batch, and whether moving parameters to the host helps. Nothing is run, and nothing of the network's size is allocated.", ""},
        footer = {"", "Exit code: 0 a strategy fits, 1 none does, 2 the command line or a file is wrong."})
public final class EstimateCommand implements Callable<Integer> {

    @Mixin
    private Subject subject;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if (!subject.isNamed()) {
            throw new ParameterException(spec.commandLine(), "no model given (expected: a model file or a built-in network)");
        }
        Screen screen = output.screen();
        Estimate estimate = subject.estimate();
        boolean fits = !estimate.fitting().isEmpty();
        Json.add(output.document(), estimate);
        screen.line("%s", estimate.table());
        screen.result(new ResultLine("estimate").add("model", subject.name()).add("batch", estimate.batch())
                .add("device_memory_bytes", estimate.deviceBytes()).add("activation_bytes", estimate.memory().totalBytes())
                .add("fits", fits ? estimate.fitting().get(0) : "no"));
        return fits ? 0 : 1;
    }
}
