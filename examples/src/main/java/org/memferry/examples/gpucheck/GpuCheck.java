package org.memferry.examples.gpucheck;

import org.memferry.device.cuda.CudaDevice;
import org.memferry.examples.GraphicsCards;
import org.memferry.examples.Processor;
import org.memferry.examples.ResultLine;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateYardsticks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Consumer;

/**
 * Checks MemFerry on a card with the CUDA runtime alone, without ND4J's CUDA build: the link, reads in place, and recorded networks served
 * by every strategy. Writes {@code report.md}, {@code report.json} and {@code hardware.json}.
 */
final class GpuCheck {

    private static final String FAKE = "FAKE";

    private final int card;
    private final Extent extent;
    private final Pace pace;
    private final boolean fake;
    private final Path folder;
    private final Consumer<String> progress;
    private List<ResultLine> replays = List.of();

    /**
     * @param card     as CUDA numbers them
     * @param seconds  that the check may take
     * @param fake     whether the CUDA runtime is one without a card, so that figures mean nothing
     * @param folder   for the report
     * @param progress is told what is being measured
     */
    GpuCheck(int card, Extent extent, double seconds, boolean fake, Path folder, Consumer<String> progress) {
        this.card = card;
        this.extent = extent;
        this.pace = new Pace(seconds, extent.figureMillis);
        this.fake = fake;
        this.folder = folder;
        this.progress = progress;
    }

    /** Runs everything and writes the files. */
    void run() throws IOException {
        Report report = new Report(fake ? "MemFerry without a GPU: FAKE figures of a CUDA runtime for tests" : "MemFerry on a GPU");
        String name = describe(report);
        KernelsMaker maker = new KernelsMaker(card);
        if (maker.failure() != null) {
            report.unproven("arithmetic: cuBLAS could not be loaded (" + maker.failure() + "), so copies stand in for products");
        }
        try (Runtime runtime = new Runtime(card); UpdateEngine steps = UpdateEngine.start()) {
            Files.createDirectories(folder);
            progress.accept("copies");
            CopyRates link = new CopyRates(runtime, pace, extent.copyBytes);
            link.run(report);
            progress.accept("calls");
            new EventCosts(runtime, pace).run(report);
            DirectReads direct = reads(report, maker);
            double updated = updatedPerSecond(report, runtime, steps);
            if (fake || maker.failure() == null) {
                writeHardware(name, link, direct, updated);
            }
            progress.accept("recorded networks");
            replays = new ReplayCheck(card, pace, extent, maker, link, steps).run(report, figures());
        }
        Unproven.withoutNd4j(report);
        report.fact("seconds taken", Math.round(pace.seconds()));
        Files.writeString(folder.resolve("report.md"), report.markdown());
        Files.writeString(folder.resolve("report.json"), report.json());
    }

    /** What the figures are, for result lines. */
    String figures() {
        return fake ? FAKE : "measured";
    }

    private String describe(Report report) {
        String name = fake ? FAKE : GraphicsCards.name(card);
        report.fact("card", name);
        report.fact("figures", fake ? "FAKE: the CUDA runtime is one for tests and there is no card" : "measured on this card");
        report.fact("date", ZonedDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS));
        try (CudaDevice device = CudaDevice.builder(card).compute(() -> 0).build()) {
            report.fact("compute capability", "sm_" + device.computeCapability());
            report.fact("bytes of the card's memory", device.totalBytes());
        }
        report.fact("CUDA runtime", Runtime.version());
        report.fact("processor", Processor.name(Path.of("/")) + ", " + java.lang.Runtime.getRuntime().availableProcessors() + " threads");
        return name;
    }

    private DirectReads reads(Report report, KernelsMaker maker) {
        progress.accept("reads in place");
        long activations = (long) extent.width * 1024 * Float.BYTES;
        long rows = (long) extent.rows * 1024 * Float.BYTES;
        try (Runtime runtime = new Runtime(card);
                Kernels kernels = maker.make(Math.max(activations, rows), Math.max(extent.largestArrayBytes(), rows), extent.rows)) {
            DirectReads direct = new DirectReads(runtime, pace, kernels, extent);
            direct.run(report);
            return direct;
        }
    }

    private double updatedPerSecond(Report report, Runtime runtime, UpdateEngine steps) {
        long count = extent.copyBytes / Float.BYTES;
        long parameters = runtime.pinnedMemory(extent.copyBytes);
        long gradients = runtime.pinnedMemory(extent.copyBytes);
        long state = runtime.pinnedMemory(2 * extent.copyBytes);
        double nanos = pace.nanos(() -> UpdateYardsticks.stream(steps, UpdateRule.ADAM, ElementType.FLOAT, count, parameters, gradients, state),
                () -> { });
        double perSecond = count / (nanos / 1e9);
        report.table("The host's step", "A stream of the bytes that Adam moves, in pinned memory (" + steps + "): 10^9 parameters and 10^9 bytes per"
                + " second.", "parameters", "parameters per second", "bytes per second").row(count, perSecond / 1e9,
                perSecond * UpdateYardsticks.bytesPerParameter(UpdateRule.ADAM, ElementType.FLOAT) / 1e9);
        return perSecond;
    }

    private void writeHardware(String name, CopyRates link, DirectReads direct, double updated) throws IOException {
        int moved = UpdateYardsticks.bytesPerParameter(UpdateRule.ADAM, ElementType.FLOAT);
        new HardwareSheet(name, fake ? "FAKE, no card" : "measured by gpu-check")
                .put("deviceBytes", Runtime.deviceBytes(), "cudaMemGetInfo")
                .put("bytesPerSecondToDevice", link.toDevice(), "pinned copies of " + extent.copyBytes + " bytes")
                .put("bytesPerSecondToHost", link.toHost(), "pinned copies of " + extent.copyBytes + " bytes")
                .put("deviceFlopsPerSecond", direct.flopsPerSecond(), "the fastest of the products measured")
                .put("deviceFlopsEfficiency", Math.min(1, direct.flopsOfBatch() / direct.flopsPerSecond()), "the largest layer with 256 examples,"
                        + " of the fastest")
                .put("deviceBytesPerSecond", link.onCard(), "copies within the card, read and write counted each")
                .put("hostBytesPerSecond", updated * moved, "the stream of Adam's bytes")
                .put("updatedParametersPerSecond", updated, "the stream of Adam's bytes, which no optimizer beats")
                .write(folder.resolve("hardware.json"));
    }

    /** One per network, batch and strategy. */
    List<ResultLine> replays() {
        return replays;
    }
}
