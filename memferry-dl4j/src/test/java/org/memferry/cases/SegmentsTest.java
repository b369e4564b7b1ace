package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;

import static org.assertj.core.api.Assertions.assertThat;

/** Truncated back-propagation: one fit makes several updates, each a whole iteration of its own. */
class SegmentsTest {

    private static final int LENGTH = 130;
    private static final int SEGMENT = 50;
    private static final int UPDATES = 3;
    private static final int INPUTS = 5;
    private static final int CLASSES = 4;
    private static final int BATCH = 3;

    // A46
    @ParameterizedTest(name = "{0}, {1}, masks {2}, workspaces {3}")
    @CsvSource({"LAYERS, HOST, true, ENABLED", "LAYERS, MIXED, true, ENABLED", "LAYERS, PREFETCH, false, NONE",
        "GRAPH, RESIDENT, true, ENABLED", "GRAPH, PREFETCH, false, NONE"})
    void severalUpdatesPerFitEachCountOnceAndCarryTheState(Nets.Kind kind, Setup setup, boolean masks, WorkspaceMode mode) {
        Model stock = network(kind, mode, new Adam(1e-2));
        Model net = network(kind, mode, new Adam(1e-2));
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device, "0", "2"))) {
            for (int fit = 0; fit < 2; fit++) {
                Nets.fit(stock, series(fit, masks));
                Nets.fit(net, series(fit, masks));
                Numbers.assertSame(stock, net, "after fit " + (fit + 1));
                assertThat(Nets.iteration(net)).as("counter").isEqualTo(UPDATES * (fit + 1));
                assertThat(ferry.metrics().iterations()).as("iterations of the ferry").isEqualTo(UPDATES * (fit + 1));
            }
            // The order of copies begins anew with every segment: nothing is read out of order, nothing is copied twice.
            assertThat(ferry.metrics().unplannedReads()).as("reads out of order").isZero();
            assertThat(ferry.metrics().repeatedCopies()).as("copies made again").isZero();
            INDArray features = Nets.gaussian(99, BATCH, INPUTS, 7);
            Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
        }
    }

    // A46: the learning rate of each segment is that of its own iteration.
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void segmentsStepThroughTheScheduleOneByOne(Nets.Kind kind) {
        IUpdater halving = new Nesterovs(new StepSchedule(ScheduleType.ITERATION, 0.1, 0.5, 1), 0.9);
        Model stock = network(kind, WorkspaceMode.ENABLED, halving);
        Model net = network(kind, WorkspaceMode.ENABLED, halving);
        try (Device device = Setup.PREFETCH.open(); MemFerry ferry = MemFerry.attach(net, Setup.PREFETCH.config(device))) {
            Nets.fit(stock, series(0, true));
            Nets.fit(net, series(0, true));
            Numbers.assertSame(stock, net, "after three rates");
            assertThat(ferry.metrics().iterations()).isEqualTo(UPDATES);
        }
    }

    private static Model network(Nets.Kind kind, WorkspaceMode mode, IUpdater updater) {
        NeuralNetConfiguration.Builder conf = Nets.configuration(updater, mode);
        InputType input = InputType.recurrent(INPUTS);
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(conf.list().layer(graves(9)).layer(lstm(7)).layer(output()).setInputType(input)
                    .backpropType(BackpropType.TruncatedBPTT).tBPTTLength(SEGMENT).build());
        }
        return Nets.initialised(conf.graphBuilder().addInputs("in").setInputTypes(input).addLayer("0", graves(9), "in")
                .addLayer("1", lstm(7), "0").addLayer("2", output(), "1").setOutputs("2").backpropType(BackpropType.TruncatedBPTT)
                .tBPTTForwardLength(SEGMENT).tBPTTBackwardLength(SEGMENT).build());
    }

    /** The layer of DL4J's own text generation network. */
    @SuppressWarnings("deprecation")
    private static org.deeplearning4j.nn.conf.layers.GravesLSTM graves(int size) {
        return new org.deeplearning4j.nn.conf.layers.GravesLSTM.Builder().nOut(size).build();
    }

    private static LSTM lstm(int size) {
        return new LSTM.Builder().nOut(size).build();
    }

    private static RnnOutputLayer output() {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    /** Series of 130 steps; with masks, of 130, 97 and 51: in the last segment one is alive, in the second the shortest has one step. */
    private static DataSet series(int seed, boolean masks) {
        INDArray features = Nets.gaussian(seed, BATCH, INPUTS, LENGTH);
        INDArray labels = Nets.classes(50 + seed, BATCH * LENGTH, CLASSES).reshape(BATCH, LENGTH, CLASSES).permute(0, 2, 1).dup('c');
        if (!masks) {
            return new DataSet(features, labels);
        }
        INDArray mask = Nd4j.zeros(BATCH, LENGTH);
        int[] lengths = {LENGTH, 97, 51};
        for (int i = 0; i < BATCH; i++) {
            for (int t = 0; t < lengths[i]; t++) {
                mask.putScalar(i, t, 1);
            }
        }
        return new DataSet(features, labels, mask, mask.dup());
    }
}
