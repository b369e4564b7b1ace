package org.memferry.examples.forecast;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Hardware;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;
import org.memferry.planner.Forecast;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

/** {@code memferry simulate}. */
@Command(name = "simulate", mixinStandardHelpOptions = true,
        description = {"Predicts an iteration of a network under several strategies, without running it: the engine itself on a device that "
                + "is but a clock, with times estimated from the hardware description.", ""},
        footer = {"", "Exit code: 0 simulated, 2 the command line or a file is wrong."})
public final class SimulateCommand implements Callable<Integer> {

    /** What is simulated as a whole. */
    enum Suite {
        /** The models and testbeds of the MemFerry paper. */
        PAPER
    }

    @Mixin
    private Subject subject;

    @Option(names = "--strategies", paramLabel = "S", split = ",", description = "Strategies to compare; all if not given.")
    private List<Strategy> strategies = Arrays.asList(Strategy.values());

    @Option(names = "--suite", paramLabel = "SUITE", description = "paper: the models and testbeds of the MemFerry paper.")
    private Suite suite;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if ((suite != null) == subject.isNamed()) {
            throw new ParameterException(spec.commandLine(), "expected: a model file or a built-in network, or --suite paper");
        }
        Screen screen = output.screen();
        if (suite != null) {
            new PaperSuite(screen).run();
        } else {
            compare(screen);
        }
        return 0;
    }

    private void compare(Screen screen) throws IOException {
        Hardware hardware = subject.hardware();
        Workload workload = subject.workload();
        Profile profile = Forecast.estimate(workload, hardware);
        ObjectNode root = output.document().put("workload", workload.key()).put("hardware", hardware.name());
        ArrayNode all = root.putArray("strategies");
        screen.line("%s: %,d parameters, simulated on %s with %s", subject.name(), workload.network().parameterCount(), hardware.name(),
                Sizes.format(subject.deviceBytes(hardware)));
        screen.line("%-15s %12s %11s %11s %11s %11s %11s", "strategy", "step", "peak", "to device", "to host", "in place", "waits");
        ResultLine result = new ResultLine("simulate").add("simulated", true);
        for (Strategy strategy : strategies) {
            screen.status("simulating " + strategy);
            try {
                Forecast forecast = Forecast.of(strategy, workload, profile, hardware,
                        workload.budget(subject.deviceBytes(hardware), subject.headroomBytes()));
                Json.add(all.addObject(), forecast, false);
                result.add(strategy.name().toLowerCase(Locale.ROOT) + "_ms", millis(forecast.simulation().stepNanos()));
                show(screen, strategy, forecast.simulation());
            } catch (OutOfMemoryException e) {
                all.addObject().put("strategy", strategy.name()).put("fits", false).put("why", e.getMessage());
                screen.line("%-15s does not fit: %s asked for, %s there", strategy, Sizes.format(e.askedBytes()), Sizes.format(e.availableBytes()));
            }
        }
        screen.result(result);
    }

    private static void show(Screen screen, Strategy strategy, Simulation s) {
        screen.line("%-15s %9s ms %11s %11s %11s %11s %8s ms", strategy, millis(s.stepNanos()), Sizes.format(s.devicePeakBytes()),
                Sizes.format(s.bytesToDevice()), Sizes.format(s.bytesToHost()), Sizes.format(s.directBytes()),
                millis(s.copyWaitNanos() + s.updateWaitNanos()));
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.3f", nanos / 1e6);
    }
}
