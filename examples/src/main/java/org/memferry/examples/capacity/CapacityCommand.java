package org.memferry.examples.capacity;

import org.memferry.base.Sizes;
import org.memferry.examples.HardwareNames;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Hardware;
import org.memferry.plan.Strategy;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;

/** {@code memferry capacity}. */
@Command(name = "capacity", mixinStandardHelpOptions = true,
        description = {"Finds the largest MLP and transformer that train under each strategy on a small device: by planning, then by "
                + "training on the emulated device, where one notch more is refused. Step times are predicted, not measured.", ""},
        footer = {"", "step_cost_go and step_cost_best: predicted step time per parameter at the largest size of GO_MEMFERRY and AUTO, over "
                + "that of ZERO_OFFLOAD at its own.", "Exit code: 0 if every size trains and the next is refused, 1 if not, 2 if the command "
                + "line is wrong."})
public final class CapacityCommand implements Callable<Integer> {

    private static final String JAVACPP_LIMIT = "org.bytedeco.javacpp.maxphysicalbytes";

    @Option(names = "--device-memory", paramLabel = "SIZE", defaultValue = "256MB",
            description = "Memory of the emulated device. Default: ${DEFAULT-VALUE}.")
    private String deviceMemory;

    @Option(names = "--host-memory", paramLabel = "SIZE", defaultValue = "8GB",
            description = "Host memory for parameters, gradients and updater state. Default: ${DEFAULT-VALUE}.")
    private String hostMemory;

    @Option(names = "--hardware", paramLabel = "NAME", defaultValue = "V100-32-PCIe3", completionCandidates = HardwareNames.class,
            description = "Hardware that step times are predicted for; its own memory does not matter here: ${COMPLETION-CANDIDATES}. Default: "
                    + "${DEFAULT-VALUE}.")
    private String hardware;

    @Option(names = "--plan-only", description = "Skips the training: sizes by planning alone.")
    private boolean planOnly;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    private Screen screen;
    private int failures;

    @Override
    public Integer call() {
        // JavaCPP counts what the ferry holds on the host, and stops at four times the Java heap unless told otherwise.
        if (System.getProperty(JAVACPP_LIMIT) == null) {
            System.setProperty(JAVACPP_LIMIT, "0");
        }
        long device = Sizes.parse(deviceMemory, "--device-memory");
        long host = Sizes.parse(hostMemory, "--host-memory");
        Hardware described = Hardware.named(hardware);
        screen = output.screen();
        screen.line("device emulated, %s; host %s for 16 bytes per parameter; step times simulated for %s, %d example", deviceMemory,
                hostMemory, described.name(), CapacityModel.BATCH);
        for (CapacityModel model : CapacityModel.values()) {
            String name = model == CapacityModel.TRANSFORMER ? "capacity" : "capacity-" + model.name().toLowerCase(Locale.ROOT);
            run(new Capacity(model, device, host, described, screen), model, name, device);
        }
        return failures == 0 ? 0 : 1;
    }

    private void run(Capacity capacity, CapacityModel model, String name, long device) {
        Map<Strategy, Capacity.Found> all = capacity.search();
        screen.line("");
        screen.line("%s", model);
        screen.line("%-15s %16s %14s %12s  %s", "strategy", "parameters", "simulated step", "per 10^6", "bounded by; trained; one notch more");
        all.forEach((strategy, found) -> screen.line("%-15s %,16d %11.3f ms %9.4f ms  %s", strategy, found.parameters, found.stepNanos / 1e6,
                found.nanosPerParameter(), proof(capacity, strategy, found, device)));
        Capacity.Found zero = all.get(Strategy.ZERO_OFFLOAD);
        Capacity.Found go = all.get(Strategy.GO_MEMFERRY);
        Capacity.Found best = all.get(Strategy.AUTO);
        Capacity.Found nativeOffload = all.get(Strategy.NATIVE_OFFLOAD);
        if (zero == null || nativeOffload == null || go == null || best == null) {
            failures++;
            screen.line("%s holds not even the smallest %s under some strategy (expected: a larger --device-memory)", capacity.device(),
                    model.name().toLowerCase(Locale.ROOT));
            return;
        }
        screen.result(new ResultLine(name).add("device_budget_bytes", device).add("zero_offload_params", zero.parameters)
                .add("native_offload_params", nativeOffload.parameters).add("go_params", go.parameters).add("best_params", best.parameters)
                .add("ratio_go_vs_native", ratio(go.parameters, nativeOffload.parameters))
                .add("ratio_go_vs_zero", ratio(go.parameters, zero.parameters))
                .add("ratio_best_vs_zero", ratio(best.parameters, zero.parameters))
                .add("step_cost_go", ratio(go.nanosPerParameter(), zero.nanosPerParameter()))
                .add("step_cost_best", ratio(best.nanosPerParameter(), zero.nanosPerParameter())));
    }

    private static String ratio(double a, double b) {
        return String.format(Locale.ROOT, "%.2f", a / b);
    }

    private String proof(Capacity capacity, Strategy strategy, Capacity.Found found, long device) {
        boolean byHost = capacity.isBoundByHost(found);
        String bound = byHost ? "host" : "device";
        if (strategy == Strategy.NONE || planOnly) {
            return bound + "; simulated only";
        }
        long peak = capacity.train(strategy, found);
        boolean refused = byHost || capacity.isOneMoreRefused(strategy, found);
        failures += peak <= device && refused ? 0 : 1;
        return bound + "; peak " + Sizes.format(peak) + (peak <= device ? "" : ", MORE THAN THE DEVICE HAS") + "; "
                + (byHost ? "more than the host has" : refused ? "refused" : "NOT REFUSED");
    }
}
