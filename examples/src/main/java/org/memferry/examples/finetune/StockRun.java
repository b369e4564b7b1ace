package org.memferry.examples.finetune;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.memferry.examples.Screen;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.nd4j.DeviceMeter.Usage;

import java.io.IOException;

/**
 * The same work in plain DL4J. Its device bytes are those of the training alone: what restoring and TransferLearning take on top is shown
 * but not held against it, and networks of earlier steps are closed and collected before the next one trains.
 */
final class StockRun {

    private final Task task;
    private final Screen screen;
    private final Training training;
    private final RunRecord record = new RunRecord();

    StockRun(Task task, Screen screen) {
        this.task = task;
        this.screen = screen;
        this.training = new Training(screen);
    }

    Outcome run() throws IOException {
        DeviceMeter.settle();
        try (DeviceMeter meter = DeviceMeter.start(() -> 0)) {
            MultiLayerNetwork frozen = transfer();
            screen.line("   restoring and TransferLearning: %s", meter.peak());
            DeviceMeter.settle();
            meter.restart();
            training.fit(frozen, task.train, task.scale.frozenEpochs, "new output layer", record, meter);
            screen.line("   accuracy on held-out digits %.4f", training.accuracy(frozen, task.test));
            Usage head = meter.peak();
            MultiLayerNetwork open = open(frozen);
            DeviceMeter.settle();
            meter.restart();
            training.fit(open, task.train, task.scale.openEpochs, "all layers", record, meter);
            double accuracy = training.accuracy(open, task.test);
            meter.sample();
            Usage all = meter.peak();
            Usage peak = head.totalBytes() > all.totalBytes() ? head : all;
            screen.line("   accuracy on held-out digits %.4f; most on the device while training: %s", accuracy, peak);
            Outcome outcome = new Outcome(record, accuracy, peak, open.numParams());
            open.close();
            return outcome;
        }
    }

    private MultiLayerNetwork transfer() throws IOException {
        MultiLayerNetwork trained = ModelSerializer.restoreMultiLayerNetwork(task.model, false);
        MultiLayerNetwork frozen = Networks.transferred(trained, task.scale);
        trained.close();
        return frozen;
    }

    private MultiLayerNetwork open(MultiLayerNetwork frozen) {
        MultiLayerNetwork open = Networks.opened(frozen);
        open.init();
        open.params().assign(frozen.params());
        frozen.close();
        return open;
    }
}
