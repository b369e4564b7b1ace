package org.memferry.examples.bench;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.nd4j.linalg.dataset.DataSet;

import java.util.List;
import java.util.Locale;

/**
 * Trains a plain network and an attached one in turns, iteration by iteration on the same data, and compares time and bits. Which of the
 * two begins changes from pair to pair.
 */
final class FitBench {

    private static final int WARM_UP = 3;

    private final FitTask task;
    private final int pairs;
    private final Screen screen;
    private final Stopwatch plainTime = new Stopwatch();
    private final Stopwatch attachedTime = new Stopwatch();
    private boolean scoresEqual = true;
    private boolean identical;

    /**
     * @param task   networks and data
     * @param pairs  iterations of each network that count
     * @param screen for results and status
     */
    FitBench(FitTask task, int pairs, Screen screen) {
        this.task = task;
        this.pairs = pairs;
        this.screen = screen;
    }

    /** Runs everything; afterwards {@link #result} says how it went. */
    void run() {
        int examples = task.batches.get(0).numExamples();
        MemFerryConfig config = MemFerryConfig.builder().device("host").expect(examples, task.input).build();
        MultiLayerNetwork plain = new MultiLayerNetwork(task.configuration.get());
        MultiLayerNetwork attached = new MultiLayerNetwork(task.configuration.get());
        plain.init();
        screen.status(task.name + ": one of the two networks is made");
        try (MemFerry ferry = MemFerry.init(attached, config)) {
            screen.line("%s: %,d parameters, %d examples an iteration, %d pairs of iterations", task.name, plain.numParams(), examples,
                    pairs);
            train(plain, attached);
            compare(plain, attached);
        }
        screen.line("plain DL4J %.1f ms, attached %.1f ms an iteration (median of each); median of the pairs' ratios: %s; scores, parameters and"
                + " Adam's state after %d iterations: %s", plainTime.median() / 1e6, attachedTime.median() / 1e6, speedup(), WARM_UP + pairs,
                parity());
        attached.close();
        plain.close();
    }

    private void train(MultiLayerNetwork plain, MultiLayerNetwork attached) {
        for (int i = 0; i < WARM_UP + pairs; i++) {
            if (i == WARM_UP) {
                List.of(plainTime, attachedTime).forEach(Stopwatch::reset);
            }
            screen.status(task.name + ": " + (i < WARM_UP ? "warming up" : "pair " + (i - WARM_UP + 1) + "/" + pairs));
            DataSet batch = task.batches.get(i % task.batches.size());
            if (i % 2 == 0) {
                plainTime.time(() -> plain.fit(batch));
                attachedTime.time(() -> attached.fit(batch));
            } else {
                attachedTime.time(() -> attached.fit(batch));
                plainTime.time(() -> plain.fit(batch));
            }
            scoresEqual &= Double.doubleToRawLongBits(plain.score()) == Double.doubleToRawLongBits(attached.score());
        }
    }

    private void compare(MultiLayerNetwork plain, MultiLayerNetwork attached) {
        identical = scoresEqual && Bits.maxUlp(plain.params(), attached.params()) == 0
                && Bits.maxUlp(plain.getUpdater().getStateViewArray(), attached.getUpdater().getStateViewArray()) == 0;
    }

    /** Plain DL4J's time over the attached one's. */
    private String speedup() {
        return String.format(Locale.ROOT, "%.2f", plainTime.times(attachedTime));
    }

    private String parity() {
        return identical ? "bit-identical" : "different";
    }

    /** Whether both networks have the same scores, parameters and updater state, to the bit. */
    boolean isIdentical() {
        return identical;
    }

    /** The machine-readable line. */
    ResultLine result() {
        return new ResultLine("bench-fit").add("model", task.name)
                .add("speedup_vs_stock", speedup()).add("parity", parity());
    }
}
