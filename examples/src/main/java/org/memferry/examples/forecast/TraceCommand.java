package org.memferry.examples.forecast;

import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.plan.Strategy;
import org.memferry.plan.Timeline;
import org.memferry.planner.Simulator;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

/** {@code memferry trace}. */
@Command(name = "trace", mixinStandardHelpOptions = true,
        description = {"Trains a network for some iterations on a device and draws one of them, the one of median length: NAME.html is a page with "
                + "what was predicted above what was measured, NAME.trace.json opens in chrome://tracing and Perfetto.", ""},
        footer = {"", "Exit code: 0 drawn, 2 the command line or a file is wrong."})
public final class TraceCommand implements Callable<Integer> {

    private static final int MOST_TO_PROFILE = 40;
    private static final int SETTLING = 3;

    @Parameters(index = "0", arity = "0..1", paramLabel = "MODEL", defaultValue = "transformer",
            description = "A model file, trained on random batches, or the built-in transformer on the bundled text. Default: ${DEFAULT-VALUE}.")
    private String model;

    @Option(names = "--input", paramLabel = "TYPE", split = ",",
            description = "Input types of a model file, as in memferry plan; one per network input.")
    private List<String> inputs = new ArrayList<>();

    @Option(names = "--batch", paramLabel = "N", defaultValue = "8", description = "Examples in an iteration. Default: ${DEFAULT-VALUE}.")
    private int batch;

    @Option(names = "--device", paramLabel = "DEVICE", defaultValue = "emulated:16MB,h2d=0.01,d2h=0.01",
            description = "Where to train, as in MemFerryConfig. Default: ${DEFAULT-VALUE}.")
    private String device;

    @Option(names = "--strategy", paramLabel = "S", defaultValue = "AUTO",
            description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private Strategy strategy;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "5", description = "Iterations to record. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Option(names = "--out", paramLabel = "NAME", defaultValue = "memferry-timeline",
            description = "Files to write, without their endings. Default: ${DEFAULT-VALUE}.")
    private Path out;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    private Screen screen;

    @Override
    public Integer call() throws IOException {
        if (batch < 1 || iterations < 1) {
            throw new RefusedException("--batch: " + batch + ", --iterations: " + iterations + " (expected: >= 1)");
        }
        screen = output.screen();
        try (TracedTraining training = TracedTraining.start(model, inputs, batch, device, strategy)) {
            Timeline timeline = record(training);
            MemFerry ferry = training.ferry();
            Path page = write(".html", ferry.timelinePage(timeline));
            Path trace = write(".trace.json", ferry.timelineTrace(timeline));
            screen.line("%s and %s", page, trace);
            ResultLine result = new ResultLine("trace").add("device", device.split(":")[0]).add("strategy", ferry.plan().strategy());
            if (ferry.profile() != null) {
                result.add("predicted_ms", millis(Simulator.simulate(ferry.plan(), ferry.profile()).iterationNanos()));
            }
            screen.result(result.add("measured_ms", millis(timeline.nanos())).add("spans", timeline.spans().size())
                    .add("dropped", timeline.dropped()));
        }
        return 0;
    }

    private Timeline record(TracedTraining training) {
        MemFerry ferry = training.ferry();
        // The first iterations are measured, and the plan that is drawn is made of them.
        for (int i = 0; i < MOST_TO_PROFILE && training.isProfiled() && ferry.profile() == null; i++) {
            screen.status("profiling, iteration " + (i + 1));
            training.iterate();
        }
        for (int i = 0; i < SETTLING; i++) {
            training.iterate();
        }
        ferry.recordTimeline(iterations);
        // The start of one more says where the last one ends.
        for (int i = 0; i <= iterations; i++) {
            screen.status("recording, iteration " + (i + 1));
            training.iterate();
        }
        List<Timeline> timelines = new ArrayList<>(ferry.timelines());
        timelines.sort(Comparator.comparingLong(Timeline::nanos));
        return timelines.get((timelines.size() - 1) / 2);
    }

    private Path write(String ending, String content) throws IOException {
        return Files.writeString(out.resolveSibling(out.getFileName() + ending), content);
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.3f", nanos / 1e6);
    }
}
