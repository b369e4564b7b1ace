package org.memferry.planner;

import org.memferry.base.Sizes;
import org.memferry.plan.Hardware;
import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;
import org.memferry.report.MemoryTable;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * What training a network takes, on the device and on the host, told before anything runs or is allocated: so that somebody can decide
 * whether it will fit, with which strategy and batch, and whether moving parameters off the device helps at all. Immutable.
 */
public final class Estimate {

    private static final int LARGEST_BATCH = 1 << 20;

    private final String key;
    private final NetworkDescription network;
    private final int batch;
    private final IterationMemory memory;
    private final String hardware;
    private final long deviceBytes;
    private final List<Need> needs;

    /** What one strategy takes at least. */
    public static final class Need {

        private final Strategy strategy;
        private final long parameterBytes;
        private final long deviceBytes;
        private final long hostBytes;
        private final boolean fits;
        private final int largestBatch;

        private Need(Strategy strategy, long parameterBytes, long deviceBytes, long hostBytes, boolean fits, int largestBatch) {
            this.strategy = strategy;
            this.parameterBytes = parameterBytes;
            this.deviceBytes = deviceBytes;
            this.hostBytes = hostBytes;
            this.fits = fits;
            this.largestBatch = largestBatch;
        }

        /** Which strategy. */
        public Strategy strategy() {
            return strategy;
        }

        /** Device bytes for parameters, gradients and updater state: slots and resident layers, or all of them in plain training. */
        public long parameterBytes() {
            return parameterBytes;
        }

        /** Device bytes with activations, working memory and data. */
        public long deviceBytes() {
            return deviceBytes;
        }

        /** Bytes of MemFerry's host regions: parameters, gradients, updater state; 0 in plain training. */
        public long hostBytes() {
            return hostBytes;
        }

        /** Whether the device has that much. */
        public boolean fits() {
            return fits;
        }

        /** The largest batch with which it fits; 0 if it does not fit with any. */
        public int largestBatch() {
            return largestBatch;
        }
    }

    private Estimate(Workload workload, int batch, Hardware hardware, List<Need> needs) {
        this.key = workload.key();
        this.network = workload.network();
        this.batch = batch;
        this.memory = workload.memory();
        this.hardware = hardware.name();
        this.deviceBytes = hardware.deviceBytes();
        this.needs = List.copyOf(needs);
    }

    /**
     * Makes an estimate.
     *
     * @param workload the network with its batch
     * @param batch    examples in an iteration of the workload
     * @param memories what an iteration of another batch holds on the device beside parameters
     * @param hardware the device
     */
    public static Estimate of(Workload workload, int batch, IntFunction<IterationMemory> memories, Hardware hardware) {
        Objects.requireNonNull(memories, "memories");
        NetworkDescription network = workload.network();
        Profile timeless = Profile.builder("sizes alone", Collections.nCopies(network.layers().size(), LayerProfile.builder(0, 0).build()))
                .build();
        List<Need> needs = new ArrayList<>();
        for (Strategy strategy : Strategy.values()) {
            if (strategy == Strategy.AUTO) {
                continue;
            }
            long slab = StrategyPlanner.smallestBudget(strategy, network, timeless);
            long device = Math.addExact(slab, workload.memory().totalBytes());
            long host = strategy == Strategy.NONE ? 0
                    : Math.addExact(Math.multiplyExact(2L, network.parameterBytes()), network.updaterStateBytes());
            needs.add(new Need(strategy, slab, device, host, device <= hardware.deviceBytes(),
                    largestBatch(memories, hardware.deviceBytes() - slab)));
        }
        return new Estimate(workload, batch, hardware, needs);
    }

    private static int largestBatch(IntFunction<IterationMemory> memories, long room) {
        int low = 0;
        int high = 1;
        while (high < LARGEST_BATCH && memories.apply(high).totalBytes() <= room) {
            low = high;
            high *= 2;
        }
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (memories.apply(middle).totalBytes() <= room) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** What it was made for: network, batch and input types. */
    public String key() {
        return key;
    }

    /** Number of parameters. */
    public long parameterCount() {
        return network.parameterCount();
    }

    /** Bytes of the parameters. */
    public long parameterBytes() {
        return network.parameterBytes();
    }

    /** Bytes of the gradients: as many as of the parameters. */
    public long gradientBytes() {
        return network.parameterBytes();
    }

    /** Bytes of the updater state. */
    public long updaterStateBytes() {
        return network.updaterStateBytes();
    }

    /** Examples in an iteration. */
    public int batch() {
        return batch;
    }

    /** What an iteration holds on the device beside parameters. */
    public IterationMemory memory() {
        return memory;
    }

    /** Memory of the device. */
    public long deviceBytes() {
        return deviceBytes;
    }

    /** What each strategy takes at least; {@link Strategy#AUTO} is one of the others. */
    public List<Need> needs() {
        return needs;
    }

    /** What a strategy takes at least; empty for {@link Strategy#AUTO}. */
    public Optional<Need> need(Strategy strategy) {
        return needs.stream().filter(need -> need.strategy == strategy).findFirst();
    }

    /** The strategies that fit, in the order of {@link Strategy}. */
    public List<Strategy> fitting() {
        List<Strategy> fitting = new ArrayList<>();
        needs.stream().filter(Need::fits).forEach(need -> fitting.add(need.strategy));
        return fitting;
    }

    /** Whether activations, their gradients and working memory are the larger part of plain training. */
    public boolean activationsDominate() {
        return memory.totalBytes() > plain().parameterBytes;
    }

    private Need plain() {
        return need(Strategy.NONE).orElseThrow(() -> new IllegalStateException("no estimate of plain training"));
    }

    private Need smallest() {
        return needs.stream().filter(need -> need.strategy != Strategy.NONE)
                .reduce((a, b) -> b.deviceBytes < a.deviceBytes ? b : a).orElseThrow(IllegalStateException::new);
    }

    /** In a sentence or two: whether it fits, and whether moving parameters to the host helps. */
    public String verdict() {
        Need plain = plain();
        Need smallest = smallest();
        String share = String.format(Locale.ROOT, "activations and working memory are %.0f %% of plain training",
                100.0 * memory.totalBytes() / plain.deviceBytes);
        if (plain.fits) {
            return "Plain training fits, with batches of up to " + count(plain.largestBatch) + "; moving parameters to the host allows "
                    + count(smallest.largestBatch) + ". Here " + share + ".";
        }
        if (smallest.fits) {
            return "Plain training does not fit" + (plain.largestBatch == 0 ? " with any batch" : " (batches of up to " + count(plain.largestBatch)
                    + " would)") + "; moving parameters to the host helps: " + smallest.strategy + " needs "
                    + Sizes.format(smallest.deviceBytes) + ", with batches of up to " + count(smallest.largestBatch) + ". Here " + share + ".";
        }
        String way = smallest.largestBatch == 0 ? "No batch is small enough for this device."
                : "A batch of " + count(smallest.largestBatch) + " fits with " + smallest.strategy + ".";
        return memory.totalBytes() > deviceBytes
                ? "Moving parameters to the host does not help: activations and working memory alone need "
                        + Sizes.format(memory.totalBytes()) + " of " + Sizes.format(deviceBytes) + ". " + way
                : "Moving parameters to the host is not enough: " + smallest.strategy + " needs " + Sizes.format(smallest.deviceBytes) + ". "
                        + way + " Here " + share + ".";
    }

    private static String count(int batch) {
        return String.format(Locale.ROOT, "%,d", batch) + (batch >= LARGEST_BATCH - 1 ? " or more" : "");
    }

    /** Everything as a table; each line says what is counted. */
    public String table() {
        MemoryTable.Builder table = MemoryTable.builder()
                .text(String.format(Locale.ROOT, "%,d parameters, batch %,d, on %s with %s", network.parameterCount(), batch, hardware,
                        Sizes.format(deviceBytes)))
                .row("parameters", parameterBytes(), "on the host with MemFerry, on the device in plain training")
                .row("gradients", gradientBytes(), "where the parameters are")
                .row("updater state", updaterStateBytes(), "where the parameters are")
                .row("activations", memory.activationBytes(), "device: what forward leaves for backward")
                .row("activation gradients", memory.gradientBytes(), "device: what backward hands from layer to layer")
                .row("working memory", memory.workingBytes(), "device: within the layer that takes most")
                .row("data", memory.dataBytes(), "device: features and labels of one batch, none fetched ahead")
                .text("not counted: arrays that wait for a garbage collection, the CUDA context, the Java heap")
                .text(String.format("%-15s %12s %12s %12s %6s %14s", "strategy", "parameters", "device", "host", "fits", "largest batch"));
        for (Need need : needs) {
            table.text(String.format(Locale.ROOT, "%-15s %12s %12s %12s %6s %,14d", need.strategy, Sizes.format(need.parameterBytes),
                    Sizes.format(need.deviceBytes), Sizes.format(need.hostBytes), need.fits ? "yes" : "no", need.largestBatch));
        }
        return table.text("parameters: device bytes of slots and resident layers at least; device: with activations, working memory and data")
                .text(verdict()).build().render();
    }

    @Override
    public String toString() {
        return table();
    }
}
