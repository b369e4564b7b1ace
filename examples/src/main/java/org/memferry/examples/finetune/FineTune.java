package org.memferry.examples.finetune;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.memferry.base.Sizes;
import org.memferry.examples.Digits;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The example: a network trained on the digits 0-4 learns the digits 5-9 on a device that has a third of the memory it takes, and then
 * again in plain DL4J, to compare every bit.
 */
final class FineTune {

    private static final double WANTED_ACCURACY = 0.95;
    /** Plain DL4J holds at least four values per parameter: itself, its gradient, and Adam's two moments. */
    private static final int STOCK_COPIES = 4;
    private static final int SHARE = 3;

    private final Scale scale;
    private final Digits digits;
    private final Screen screen;
    private final List<String> failures = new ArrayList<>();
    private Outcome ferry;
    private Outcome stock;
    private long budget;

    FineTune(Scale scale, Digits digits, Screen screen) {
        this.scale = scale;
        this.digits = digits;
        this.screen = screen;
    }

    /** Runs everything; afterwards {@link #result} and {@link #failures} say how it went. */
    void run() throws IOException {
        Path directory = Files.createTempDirectory("memferry-finetune");
        File model = directory.resolve("digits-0-4.zip").toFile();
        try {
            long parameters = pretrain(model);
            budget = parameters * STOCK_COPIES * Float.BYTES / SHARE;
            Task task = new Task(scale, model, digits);
            screen.line("2. MemFerry: fine-tune it for the digits 5-9 on an emulated device of %s", Sizes.exact(budget));
            ferry = new FerryRun(task, screen).run(budget);
            screen.line("3. Plain DL4J: the same on as much memory as it takes");
            stock = new StockRun(task, screen).run();
        } finally {
            Files.deleteIfExists(model.toPath());
            Files.delete(directory);
        }
        check();
    }

    private long pretrain(File model) throws IOException {
        MultiLayerNetwork net = Networks.untrained(scale);
        net.init();
        screen.line("1. Plain DL4J: train a network of %,d parameters on the digits 0-4, and save it", net.numParams());
        List<DataSet> train = digits.only(0, Networks.CLASSES - 1).train(Networks.SEED).batches(0, Networks.CLASSES, scale.batch);
        new Training(screen).fit(net, train, scale.pretrainEpochs, "pre-training", new RunRecord(), null);
        ModelSerializer.writeModel(net, model, false);
        screen.line("   saved %s, %s", model.getName(), Sizes.format(model.length()));
        long parameters = net.numParams();
        net.close();
        return parameters;
    }

    private void check() {
        String difference = stock.record.differenceFrom(ferry.record);
        if (difference != null) {
            failures.add("plain DL4J and MemFerry differ: " + difference);
        }
        if (ferry.peak.totalBytes() > budget) {
            failures.add("the device held " + ferry.peak + ", more than its budget of " + Sizes.exact(budget));
        }
        if (SHARE * budget > stock.peak.totalBytes()) {
            failures.add("the budget of " + Sizes.exact(budget) + " is more than a third of plain DL4J's " + stock.peak);
        }
        if (ferry.accuracy < WANTED_ACCURACY) {
            failures.add(String.format(Locale.ROOT, "accuracy %.4f is below %.2f", ferry.accuracy, WANTED_ACCURACY));
        }
        if (difference == null) {
            screen.line("4. Scores of %d iterations, parameters and Adam state after both stages: equal, bit for bit. Device bytes: %s"
                    + " against %s.", ferry.record.iterations(), Sizes.format(ferry.peak.totalBytes()),
                    Sizes.format(stock.peak.totalBytes()));
        }
    }

    /** The claims that do not hold; empty if all do. */
    List<String> failures() {
        return failures;
    }

    /** The machine-readable line. */
    ResultLine result() {
        return new ResultLine("finetune").add("device", "emulated").add("params", ferry.parameters).add("budget_bytes", budget)
                .add("peak_device_bytes", ferry.peak.totalBytes()).add("stock_device_bytes", stock.peak.totalBytes())
                .add("accuracy", String.format(Locale.ROOT, "%.4f", ferry.accuracy))
                .add("parity", stock.record.differenceFrom(ferry.record) == null ? "bit-identical" : "different");
    }
}
