package org.memferry.examples.bench;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryRuntime;
import org.memferry.examples.ResultLine;
import org.memferry.nd4j.DeviceMeter;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * One training of VGG16 in a process of its own, as {@link Vgg16Bench} starts it, so that what the kernel says of the process is this
 * training's. The arguments are {@code stock} or {@code ferry}, the updater, and the budget in bytes.
 */
final class Vgg16Run {

    private static final KnownNetwork KNOWN = KnownNetwork.VGG16_224;
    private static final int ITERATIONS = 3;
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path CLEAR = Path.of("/proc/self/clear_refs");

    private Vgg16Run() {
    }

    /** @param args mode, updater, budget */
    public static void main(String[] args) throws IOException {
        MemFerryRuntime.install();
        IUpdater updater = args[1].equals("adam") ? new Adam(1e-4) : new Nesterovs(1e-4);
        long budget = Long.parseLong(args[2]);
        System.out.println(args[0].equals("stock") ? stock(updater, budget) : ferry(updater, budget));
    }

    /** Plain DL4J where libnd4j itself, by the counter that the meter reads, allows arrays of as many bytes as the device has. */
    private static ResultLine stock(IUpdater updater, long budget) {
        INDArray features = KNOWN.features();
        INDArray labels = KNOWN.labels();
        Nd4j.getEnvironment().setDeviceLimit(0, budget);
        String refusal = "";
        try {
            ComputationGraph network = KnownNetwork.vgg16(224, updater);
            network.init();
            KnownNetwork.fit(network, features, labels);
        } catch (RuntimeException e) {
            refusal = String.valueOf(e.getMessage());
        }
        return new ResultLine("vgg16-run").add("refused", !refusal.isEmpty()).add("text", refusal.replaceAll("[\\s=]+", "_"));
    }

    private static ResultLine ferry(IUpdater updater, long budget) throws IOException {
        warmUp();
        long base = status("VmRSS");
        INDArray features = KNOWN.features();
        INDArray labels = KNOWN.labels();
        Files.writeString(CLEAR, "5");
        long arrays = DeviceMeter.arrayBytes() - 4 * (features.length() + labels.length());
        ComputationGraph network = KnownNetwork.vgg16(224, updater);
        MemFerryConfig config = MemFerryConfig.builder().device("emulated:" + budget).expect(KNOWN.batch(), KNOWN.input()).build();
        long start = System.nanoTime();
        try (MemFerry ferry = MemFerry.init(network, config); DeviceMeter meter = DeviceMeter.start(ferry.metrics().device()::slabBytes)) {
            long attached = status("VmHWM") - base;
            for (int i = 0; i < ITERATIONS; i++) {
                KnownNetwork.fit(network, features, labels);
                meter.sample();
            }
            long device = meter.peak().totalBytes() - arrays;
            long plan = ferry.plan().hostBytes();
            return new ResultLine("vgg16-run").add("iterations", network.getIterationCount()).add("peak_device", device)
                    .add("plan_host", plan).add("attach_rss", attached).add("peak_rss", status("VmHWM") - base)
                    .add("seconds", (System.nanoTime() - start) / 1_000_000_000L).add("score", network.score());
        }
    }

    /** Libraries, thread pools and JavaCPP's buffers are there before anything is measured. */
    private static void warmUp() {
        KnownNetwork small = KnownNetwork.LENET;
        org.deeplearning4j.nn.api.Model network = small.network();
        MemFerryConfig config = MemFerryConfig.builder().device("emulated:200MB").expect(small.batch(), small.input()).build();
        try (MemFerry ferry = MemFerry.init(network, config)) {
            KnownNetwork.fit(network, small.features(), small.labels());
        }
        network.close();
        DeviceMeter.settle();
    }

    private static long status(String name) throws IOException {
        for (String line : Files.readAllLines(STATUS)) {
            if (line.startsWith(name + ":")) {
                return Long.parseLong(line.replaceAll("\\D", "")) << 10;
            }
        }
        throw new IOException(STATUS + " has no line " + name);
    }
}
