package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.Model;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryRuntime;
import org.memferry.base.Sizes;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.plan.Hardware;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.memferry.planner.Estimate;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.io.IOException;
import java.util.List;
import java.util.Locale;

/**
 * Compares the estimate with what training takes: each network is estimated, given an emulated device that is little larger than what its
 * smallest strategy needs, and trained on it. Device: slab, workspaces and ordinary arrays at their highest together, after garbage of
 * earlier iterations is collected. Host: the pages of parameters, gradients and updater state that the kernel holds after training.
 */
final class EstimateBench {

    /** Share of the device beside what the smallest strategy needs. */
    private static final double ROOM = 0.05;
    /** Share of the device that is left alone. */
    private static final double HEADROOM = 0.02;

    private final List<KnownNetwork> networks;
    private final int iterations;
    private final Screen screen;
    private double deviceError;
    private double activationError;
    private double hostError;
    private boolean kept = true;

    /**
     * @param iterations of each network, at least 1; some of DL4J's workspaces know their size only after the third
     */
    EstimateBench(List<KnownNetwork> networks, int iterations, Screen screen) {
        this.networks = List.copyOf(networks);
        this.iterations = iterations;
        this.screen = screen;
    }

    void run() throws IOException {
        screen.line("emulated device; estimated / measured; device = slab + workspaces + arrays; beside = device without the slab; "
                + "host = parameters, gradients, updater state, measured as the pages of them that the kernel holds; garbage of earlier iterations "
                + "is collected");
        screen.line("%-12s %6s %12s %10s %21s %6s %21s %6s %21s %6s", "network", "batch", "parameters", "budget", "device", "", "beside", "",
                "host", "");
        for (KnownNetwork network : networks) {
            run(network);
        }
    }

    private void run(KnownNetwork known) throws IOException {
        screen.status("estimating " + known.title());
        Model network = known.network();
        Hardware hardware = Hardware.named("V100-32-PCIe3");
        Estimate estimate = MemFerry.estimate(network, known.batch(), hardware, known.input());
        long least = estimate.needs().stream().mapToLong(Estimate.Need::deviceBytes).min().orElseThrow(IllegalStateException::new);
        long budget = (long) (least * (1 + ROOM));
        DeviceMeter.settle();
        long before = DeviceMeter.arrayBytes();
        INDArray features = known.features();
        INDArray labels = known.labels();
        MemFerryConfig config = MemFerryConfig.builder().device("emulated:" + budget)
                .headroom(String.valueOf((long) (budget * HEADROOM))).expect(known.batch(), known.input()).build();
        try (MemFerry ferry = MemFerry.init(network, config);
                DeviceMeter meter = DeviceMeter.start(ferry.metrics().device()::slabBytes)) {
            Plan plan = ferry.plan();
            for (int i = 0; i < iterations; i++) {
                screen.status(known.title() + ": iteration " + (i + 1));
                DeviceMeter.collect();
                KnownNetwork.fit(network, features, labels);
                meter.sample();
            }
            long told = plan.slabBytes() + estimate.memory().totalBytes();
            long measured = meter.peak().totalBytes() - before;
            long slab = meter.peak().slabBytes();
            long toldHost = estimate.need(Strategy.MEMFERRY).orElseThrow().hostBytes();
            long host = ResidentPages.bytes(network.params()) + ResidentPages.bytes(network.getGradientsViewArray())
                    + ResidentPages.bytes(KnownNetwork.updaterState(network));
            report(known, estimate, budget, new long[] {told, measured}, slab, new long[] {toldHost, host});
        } finally {
            network.close();
        }
    }

    private void report(KnownNetwork known, Estimate estimate, long budget, long[] device, long slab, long[] host) {
        long besideTold = estimate.memory().totalBytes();
        long besideMeasured = device[1] - slab;
        deviceError = Math.max(deviceError, error(device[0], device[1]));
        activationError = Math.max(activationError, error(besideTold, besideMeasured));
        hostError = Math.max(hostError, error(host[0], host[1]));
        kept &= device[1] <= budget;
        screen.line("%-12s %6d %,12d %10s %21s %5.1f%% %21s %5.1f%% %21s %5.1f%%", known.title(), known.batch(), estimate.parameterCount(),
                Sizes.format(budget), pair(device[0], device[1]), 100 * error(device[0], device[1]), pair(besideTold, besideMeasured),
                100 * error(besideTold, besideMeasured), pair(host[0], host[1]), 100 * error(host[0], host[1]));
    }

    private static String pair(long told, long measured) {
        return Sizes.format(told) + " / " + Sizes.format(measured);
    }

    private static double error(long told, long measured) {
        return Math.abs((double) told / measured - 1);
    }

    /** Whether every network stayed within its device. */
    boolean isKept() {
        return kept;
    }

    /** The machine-readable line. */
    ResultLine result() {
        return new ResultLine("bench-estimate").add("nets", networks.size()).add("emulated", true)
                .add("max_device_error", share(deviceError)).add("max_host_error", share(hostError))
                .add("max_activation_error", share(activationError)).add("within_budget", kept)
                .add("managers", MemFerryRuntime.isInstalled());
    }

    private static String share(double error) {
        return String.format(Locale.ROOT, "%.4f", error);
    }
}
