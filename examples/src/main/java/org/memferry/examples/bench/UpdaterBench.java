package org.memferry.examples.bench;

import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.update.ElementType;
import org.memferry.update.FusedUpdate;
import org.memferry.update.RuleStep;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRange;
import org.memferry.update.UpdateRequest;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateYardsticks;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;

import java.util.List;
import java.util.Locale;
import java.util.function.IntConsumer;

/**
 * Times one rule's update, each contestant once in every round so that all see the same machine, and compares its numbers with plain
 * DL4J's on a smaller array. A ratio is the median over the rounds of a ratio within a round.
 */
final class UpdaterBench {

    private static final int MINIBATCH = 32;
    private static final long COMPARED = 100_003;
    private static final int COMPARED_STEPS = 5;
    private static final int WARM_UP = 2;
    private static final String NONE = "none";

    private final UpdateRule rule;
    private final long length;
    private final int threads;
    private final int rounds;
    private final boolean hasNative;
    private final String nativeFailure;
    private final Screen screen;
    private final IUpdater updater;

    private final Stopwatch streamBefore = new Stopwatch();
    private final Stopwatch streamAfter = new Stopwatch();
    private final Stopwatch memcpy = new Stopwatch();
    private final Stopwatch kernel = new Stopwatch();
    private final Stopwatch java = new Stopwatch();
    private final Stopwatch stock = new Stopwatch();
    private final Stopwatch stockInOurs = new Stopwatch();
    private long ulp;

    /**
     * @param rule          the rule, with DL4J's defaults
     * @param length        parameters
     * @param threads       of every contestant
     * @param rounds        how often each is timed
     * @param nativeFailure why there is no native library, null if there is: without, the Java kernel is measured in its place
     * @param screen        for the table and the status
     */
    UpdaterBench(UpdateRule rule, long length, int threads, int rounds, String nativeFailure, Screen screen) {
        this.rule = rule;
        this.length = length;
        this.threads = threads;
        this.rounds = rounds;
        this.hasNative = nativeFailure == null;
        this.nativeFailure = nativeFailure;
        this.screen = screen;
        this.updater = Rules.defaults(rule);
    }

    /** Runs everything; afterwards {@link #result} says how it went. */
    void run() {
        Runnable threadsAsBefore = StockUpdate.useThreads(threads);
        try (UpdateEngine inJava = UpdateYardsticks.javaEngine(threads);
                UpdateEngine engine = hasNative ? UpdateEngine.start(threads) : UpdateYardsticks.javaEngine(threads)) {
            screen.line("%s, %,d parameters of 4 bytes, kernel: %s, %d rounds", name(), length, engine, rounds);
            if (!hasNative) {
                screen.line("No native library: %s. There is no stream without it; these are the figures of the Java kernel.",
                        nativeFailure);
            }
            if (StockUpdate.runs(rule)) {
                ulp = Math.max(ulpAgainstStock(engine), ulpAgainstStock(inJava));
            } else {
                screen.line("Plain DL4J cannot train with %s: it fails before the first step. Nothing to compare with.", name());
            }
            try (UpdaterArrays arrays = new UpdaterArrays(rule, length)) {
                race(engine, inJava, arrays);
            }
        } finally {
            threadsAsBefore.run();
        }
        printTable();
    }

    private String name() {
        return rule.name().toLowerCase(Locale.ROOT);
    }

    /** Some steps on the same random gradients. */
    private long ulpAgainstStock(UpdateEngine engine) {
        long n = Math.min(COMPARED, length);
        try (UpdaterArrays theirs = new UpdaterArrays(rule, n); UpdaterArrays ours = new UpdaterArrays(rule, n)) {
            StockUpdate stockUpdate = new StockUpdate(updater, theirs.parameters, theirs.gradients, theirs.state);
            FusedUpdate fused = fused(engine, n);
            if (ours.state != null) {
                ours.state.assign(theirs.state);
            }
            long max = 0;
            for (int i = 0; i < COMPARED_STEPS; i++) {
                INDArray gradients = Nd4j.randn(DataType.FLOAT, n);
                theirs.gradients.assign(gradients);
                ours.gradients.assign(gradients);
                stockUpdate.step(MINIBATCH, i);
                fused.run(request(ours, i));
                max = Math.max(max, Bits.maxUlp(theirs.parameters, ours.parameters));
                max = Math.max(max, ours.state == null ? 0 : Bits.maxUlp(theirs.state, ours.state));
            }
            return max;
        }
    }

    private static FusedUpdate fused(UpdateEngine engine, long n) {
        return new FusedUpdate(engine, ElementType.FLOAT, List.of(UpdateRange.of(n).build()));
    }

    private UpdateRequest request(UpdaterArrays arrays, int iteration) {
        return UpdateRequest.of(RuleStep.of(updater, ElementType.FLOAT, iteration, 0)).minibatch(MINIBATCH)
                .at(arrays.parameterAddress(), arrays.gradientAddress(), arrays.stateAddress()).build();
    }

    private void race(UpdateEngine engine, UpdateEngine inJava, UpdaterArrays arrays) {
        if (!StockUpdate.runs(rule)) {
            race(engine, inJava, arrays, iteration -> { });
            return;
        }
        try (StockArrays ordinary = new StockArrays(arrays)) {
            StockUpdate inItsOwn = new StockUpdate(updater, ordinary.parameters, ordinary.gradients, ordinary.state);
            StockUpdate inOurs = new StockUpdate(updater, arrays.parameters, arrays.gradients, arrays.state);
            race(engine, inJava, arrays, iteration -> {
                ordinary.gradients.assign(arrays.gradients);
                stock.time(() -> inItsOwn.step(MINIBATCH, iteration));
                stockInOurs.time(() -> inOurs.step(MINIBATCH, iteration));
            });
        }
    }

    private void race(UpdateEngine engine, UpdateEngine inJava, UpdaterArrays arrays, IntConsumer stockUpdates) {
        FusedUpdate fused = fused(engine, length);
        FusedUpdate fusedInJava = fused(inJava, length);
        for (int round = -WARM_UP; round < rounds; round++) {
            if (round == 0) {
                List.of(streamBefore, streamAfter, memcpy, kernel, java, stock, stockInOurs).forEach(Stopwatch::reset);
            }
            screen.status(round < 0 ? "warming up" : "round " + (round + 1) + "/" + rounds);
            UpdateRequest request = request(arrays, round + WARM_UP);
            arrays.refreshGradients();
            stream(streamBefore, engine, arrays);
            kernel.time(() -> fused.run(request));
            stream(streamAfter, engine, arrays);
            memcpy.time(() -> arrays.copyGradients(engine.workers()));
            java.time(() -> fusedInJava.run(request));
            stockUpdates.accept(round + WARM_UP);
        }
    }

    private void stream(Stopwatch watch, UpdateEngine engine, UpdaterArrays arrays) {
        if (hasNative) {
            watch.time(() -> UpdateYardsticks.stream(engine, rule, ElementType.FLOAT, length, arrays.parameterAddress(),
                    arrays.gradientAddress(), arrays.stateAddress()));
        }
    }

    private long traffic() {
        return length * UpdateYardsticks.bytesPerParameter(rule, ElementType.FLOAT);
    }

    private long copyTraffic() {
        return 2 * length * Float.BYTES;
    }

    private void printTable() {
        screen.line("%-16s%12s%12s%10s%24s%14s", "", "median ms", "best ms", "GB/s", "kernel's speed: wall", "process CPU");
        Stopwatch stream = Stopwatch.mean(streamBefore, streamAfter);
        row("stream", stream, traffic(), 1);
        row("memcpy", memcpy, copyTraffic(), perByte());
        row("kernel", kernel, traffic(), 1);
        row("kernel in Java", java, traffic(), 1);
        row("plain DL4J", stock, 0, 1);
        row("  in our memory", stockInOurs, 0, 1);
        screen.line("The kernel's speed is a ratio of times; against memcpy, of times per byte read or written. RESULT has wall time; CPU");
        screen.line("time is steadier on a busy machine, but that of plain DL4J counts the waiting of OpenMP's threads too.");
        screen.line("Plain DL4J works in arrays that ND4J makes, as it does in training, and once more in MemFerry's host memory.");
        if (hasNative) {
            screen.line("The stream moves its bytes at %s of memcpy's speed.", streamVsMemcpy(stream));
        }
    }

    /** How many bytes the stream moves in the time in which memcpy moves one. */
    private String streamVsMemcpy(Stopwatch stream) {
        return stream.isEmpty() ? NONE : String.format(Locale.ROOT, "%.2f", memcpy.times(stream) * perByte());
    }

    /** Turns memcpy's time into the time in which it would move the rule's bytes. */
    private double perByte() {
        return (double) traffic() / copyTraffic();
    }

    private void row(String contestant, Stopwatch watch, long bytes, double factor) {
        if (!watch.isEmpty()) {
            screen.line("%-16s%12.2f%12.2f%10s%24.2f%14.2f", contestant, watch.median() / 1e6, watch.best() / 1e6,
                    bytes == 0 ? "" : gbps(watch, bytes), factor * watch.times(kernel), factor * watch.cpuTimes(kernel));
        }
    }

    private static String gbps(Stopwatch watch, long bytes) {
        return watch.isEmpty() ? NONE : String.format(Locale.ROOT, "%.1f", bytes / watch.median());
    }

    private String ratio(Stopwatch watch, double factor) {
        return watch.isEmpty() ? NONE : String.format(Locale.ROOT, "%.2f", factor * watch.times(kernel));
    }

    /** Whether every compared bit is plain DL4J's; true for a rule that plain DL4J cannot run. */
    boolean equalsStock() {
        return ulp == 0;
    }

    /** The machine-readable line; what was not measured is {@code none}. */
    ResultLine result() {
        Stopwatch stream = Stopwatch.mean(streamBefore, streamAfter);
        return new ResultLine("bench-updater").add("rule", name()).add("params", length).add("threads", threads)
                .add("stream_gbps", gbps(stream, traffic())).add("vs_stream", ratio(stream, 1))
                .add("vs_memcpy", ratio(memcpy, perByte())).add("vs_dl4j", ratio(stock, 1)).add("vs_java", ratio(java, 1))
                .add("ulp_vs_dl4j", StockUpdate.runs(rule) ? ulp : NONE).add("stream_vs_memcpy", streamVsMemcpy(stream))
                .add("vs_dl4j_in_our_memory", ratio(stockInOurs, 1));
    }
}
