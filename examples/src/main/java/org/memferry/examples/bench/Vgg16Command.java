package org.memferry.examples.bench;

import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.List;
import java.util.concurrent.Callable;

/** {@code memferry bench vgg16}. */
@Command(name = "vgg16", mixinStandardHelpOptions = true,
        description = {"Trains VGG16 (138 million parameters, images of 224 x 224, one an iteration) for three iterations within an emulated"
                + " device in which plain DL4J is refused, and measures what device and host take. Linux only; 3 GB of memory.", ""})
public final class Vgg16Command implements Callable<Integer> {

    @Option(names = "--device-memory", paramLabel = "SIZE", defaultValue = "1GB", description = "Default: ${DEFAULT-VALUE}.")
    private String deviceMemory;

    @Option(names = "--updaters", paramLabel = "NAME", split = ",", defaultValue = "nesterovs,adam",
            description = "nesterovs, adam. Default: both.")
    private List<String> updaters;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (!List.of("nesterovs", "adam").containsAll(updaters)) {
            throw new ParameterException(spec.commandLine(), "--updaters: " + updaters + " (expected: nesterovs or adam)");
        }
        Screen screen = output.screen();
        Vgg16Bench bench = new Vgg16Bench(Sizes.parse(deviceMemory, "--device-memory"), updaters, screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.holds()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": plain DL4J was not refused, or MemFerry took more than the device has");
        }
        return bench.holds() ? 0 : 1;
    }
}
