package org.memferry.examples.finetune;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.memferry.examples.Screen;
import org.memferry.nd4j.DeviceMeter;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

import java.util.List;

/** Trains and tests a network, plain or attached: the calls are the same. Prints a line per epoch, records every score. */
final class Training {

    private final Screen screen;

    Training(Screen screen) {
        this.screen = screen;
    }

    /**
     * Trains one stage.
     *
     * @param batches the same arrays in every epoch: an iterator that joins examples anew would leave garbage on the device
     * @param stage  its name, for the reader
     * @param record takes the scores, and the state at the end
     * @param meter  looks at the device within every iteration; null if nobody measures
     */
    void fit(MultiLayerNetwork net, List<DataSet> batches, int epochs, String stage, RunRecord record, DeviceMeter meter) {
        net.addListeners(new Watcher(stage, epochs, batches.size(), record, meter));
        net.fit(new ExistingDataSetIterator(batches), epochs);
        record.stageEnded(stage, net);
    }

    /** Share of the examples that the network gets right. */
    double accuracy(MultiLayerNetwork net, List<DataSet> batches) {
        // The cast chooses between two methods that evaluate.
        return net.evaluate((DataSetIterator) new ExistingDataSetIterator(batches)).accuracy();
    }

    /** Sees every iteration of a stage. */
    private final class Watcher extends BaseTrainingListener {

        private final String stage;
        private final int epochs;
        private final int perEpoch;
        private final RunRecord record;
        private final DeviceMeter meter;
        private int done;
        private long epochStart;

        Watcher(String stage, int epochs, int perEpoch, RunRecord record, DeviceMeter meter) {
            this.stage = stage;
            this.epochs = epochs;
            this.perEpoch = perEpoch;
            this.record = record;
            this.meter = meter;
        }

        @Override
        public void onEpochStart(Model model) {
            epochStart = System.nanoTime();
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            sample();
        }

        @Override
        public void onBackwardPass(Model model) {
            sample();
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            sample();
            record.score(model.score());
            screen.status(String.format("   %s: epoch %d/%d, iteration %d/%d", stage, done / perEpoch + 1, epochs, done % perEpoch + 1,
                    perEpoch));
            done++;
        }

        @Override
        public void onEpochEnd(Model model) {
            screen.line("   %s: epoch %d/%d, loss %.4f, %.1f s", stage, done / perEpoch, epochs, record.meanOfLast(perEpoch),
                    (System.nanoTime() - epochStart) / 1e9);
        }

        private void sample() {
            if (meter != null) {
                meter.sample();
            }
        }
    }
}
