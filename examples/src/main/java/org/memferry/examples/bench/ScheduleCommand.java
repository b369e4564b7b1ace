package org.memferry.examples.bench;

import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

import java.util.concurrent.Callable;

/** {@code memferry bench schedule}. */
@Command(name = "schedule", mixinStandardHelpOptions = true,
        description = {"Compares the strategies with ZeRO-Offload: several networks train by each of them on an emulated device whose link is"
                + " as slow beside the network's computation as PCI Express is beside a GPU's, and end with plain DL4J's bits.", ""})
public final class ScheduleCommand implements Callable<Integer> {

    @Mixin
    private Selection selection;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Screen screen = output.screen();
        selection.announce(screen);
        ScheduleBench bench = new ScheduleBench(selection.models(), selection.ratios(ScheduleBench.RATIOS), selection.rounds(), screen);
        bench.run();
        screen.result(bench.result());
        if (!bench.isIdentical()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": the numbers are not plain DL4J's");
        }
        return bench.isIdentical() ? 0 : 1;
    }
}
