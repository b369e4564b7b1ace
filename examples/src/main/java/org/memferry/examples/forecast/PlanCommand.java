package org.memferry.examples.forecast;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Hardware;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;
import org.memferry.planner.Forecast;
import org.memferry.report.ForecastTable;
import org.memferry.report.PlanTable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.File;
import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.Callable;

/** {@code memferry plan}. */
@Command(name = "plan", mixinStandardHelpOptions = true,
        description = {"Plans a network for a device without running it: where each layer is served from and why, and what an iteration is "
                + "predicted to take. A profile beside the model file (<model>.profile.json) is used where it is of the same network and batch.",
                ""},
        footer = {"", "Exit code: 0 planned, 1 it does not fit, 2 the command line or a file is wrong."})
public final class PlanCommand implements Callable<Integer> {

    @Mixin
    private Subject subject;

    @Option(names = "--strategy", paramLabel = "S", defaultValue = "AUTO",
            description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private Strategy strategy;

    @Option(names = "--profile", paramLabel = "FILE", description = "A saved profile to plan from; its times are shown as measured.")
    private File profileFile;

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
        Hardware hardware = subject.hardware();
        Workload workload = subject.workload();
        screen.status("planning " + workload.network().layers().size() + " layers");
        Profile profile = profile(workload, hardware);
        Forecast forecast;
        try {
            forecast = Forecast.of(strategy, workload, profile, hardware,
                    workload.budget(subject.deviceBytes(hardware), subject.headroomBytes()));
        } catch (OutOfMemoryException e) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": " + e.getMessage());
            output.document().put("strategy", strategy.name()).put("fits", false).put("why", e.getMessage());
            return 1;
        }
        Json.add(output.document(), forecast, true).put("workload", workload.key()).put("hardware", hardware.name())
                .put("measured", profile.measured()).put("readShare", profile.readShare()).put("writeShare", profile.writeShare())
                .put("activationBytes", workload.activationBytes());
        show(screen, hardware, workload, profile, forecast);
        return 0;
    }

    private void show(Screen screen, Hardware hardware, Workload workload, Profile profile, Forecast forecast) {
        screen.line("%s: %,d parameters, %s on %s", subject.name(), workload.network().parameterCount(), strategy, hardware.name());
        screen.line("times %s; activations %s by %s", profile.measured() ? "measured: " + profile.key() : "estimated",
                Sizes.format(workload.activationBytes()), workload.activationSource());
        screen.line("link: %s to the device, %s beside as many bytes read in place; %s to the host, %s beside as many written in place",
                rate(profile.bytesPerSecondToDevice()), rate(profile.bytesPerSecondToDeviceBesideReads()), rate(profile.bytesPerSecondToHost()),
                rate(profile.bytesPerSecondToHostBesideWrites()));
        if (forecast.plan().isPresent()) {
            screen.line("%s", PlanTable.summary(forecast.plan().get()));
            screen.line("%s", ForecastTable.render(forecast.plan().get(), profile, forecast.simulation()));
        } else {
            screen.line("%s", ForecastTable.totals(forecast.simulation()));
        }
        screen.result(new ResultLine("plan").add("simulated", true).add("strategy", forecast.strategy())
                .add("step_ms", String.format(Locale.ROOT, "%.3f", forecast.simulation().stepNanos() / 1e6))
                .add("device_peak_bytes", forecast.simulation().devicePeakBytes()));
    }

    private static String rate(double bytesPerSecond) {
        return Double.isInfinite(bytesPerSecond) ? "without limit" : String.format(Locale.ROOT, "%.2f GB/s", bytesPerSecond / (1L << 30));
    }

    private Profile profile(Workload workload, Hardware hardware) throws IOException {
        File file = profileFile != null ? profileFile : ProfileFile.beside(subject.file());
        if (profileFile == null && !file.isFile()) {
            return Forecast.estimate(workload, hardware);
        }
        Profile profile = ProfileFile.read(file);
        boolean same = profile.key().startsWith(workload.key()) && profile.layers().size() == workload.network().layers().size();
        if (!same && profileFile != null) {
            throw new RefusedException(file + " is of " + profile.key() + " (expected: a profile of " + workload.key() + ")");
        }
        return same ? profile : Forecast.estimate(workload, hardware);
    }
}
