package org.memferry.examples.bench;

import org.bytedeco.javacpp.Pointer;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.concurrent.Callable;

/** {@code memferry bench big-state}. */
@Command(name = "big-state", mixinStandardHelpOptions = true,
        description = {"Trains a network whose Adam state has more elements than plain DL4J can count (2^31 - 1), and compares parameters and "
                + "state with DL4J's own rule on small arrays: near the start, at layer boundaries, across element 2^31 of the state, at the "
                + "end, and in between. Takes 16 bytes of memory for each parameter, 17.4 GB as it is.", ""})
public final class BigStateCommand implements Callable<Integer> {

    @Option(names = "--params", paramLabel = "N", defaultValue = "1080000000",
            description = "At least so many parameters, of 4 bytes. Default: ${DEFAULT-VALUE}.")
    private long parameters;

    @Option(names = "--steps", paramLabel = "N", defaultValue = "3", description = "Iterations. Default: ${DEFAULT-VALUE}.")
    private int steps;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        require(parameters >= 1, "--params: " + parameters + " (expected: >= 1)");
        require(steps >= 1, "--steps: " + steps + " (expected: >= 1)");
        JavaCppLimit.lift();
        long bytes = BigStateBench.bytes(parameters);
        long available = Pointer.availablePhysicalBytes();
        require(bytes < available, "--params: " + parameters + " need " + Sizes.format(bytes) + " of memory, " + Sizes.format(available)
                + " are available (expected: fewer)");
        long limit = Pointer.maxPhysicalBytes();
        require(limit == 0 || bytes < limit, "--params: " + parameters + " need " + Sizes.format(bytes) + " of memory, JavaCPP allows "
                + Sizes.format(limit) + " (expected: java -D" + JavaCppLimit.PROPERTY + "=0)");
        Screen screen = output.screen();
        BigStateBench bench = new BigStateBench(parameters, steps, screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.isIdentical()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the numbers are not plain DL4J's");
        }
        return bench.isIdentical() ? 0 : 1;
    }

    private void require(boolean holds, String message) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }
}
