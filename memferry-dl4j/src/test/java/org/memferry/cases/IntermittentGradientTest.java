package org.memferry.cases;

import org.assertj.core.data.Offset;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.memferry.plan.LayerDescription;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;

import java.util.Arrays;

import static org.assertj.core.api.Assertions.assertThat;

/** A layer that contributes at some steps only: at the others its gradient is zero, which still is a step. */
class IntermittentGradientTest {

    /** Steps at which the second head of the network counts, as in the report. */
    private static final boolean[] USED = {true, true, false, false, true, false};

    // B11
    @ParameterizedTest
    @EnumSource(Setup.class)
    void aZeroGradientDecaysTheMomentsAndTheCounterIsTheNetworks(Setup setup) {
        ComputationGraph stock = twoHeads();
        ComputationGraph net = twoHeads();
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            LayerDescription head = ferry.plan().network().layers().stream().filter(l -> l.name().equals("3")).findFirst().orElseThrow();
            double[] before = null;
            double[] weightsBefore = null;
            for (int step = 0; step < USED.length; step++) {
                stock.fit(batch(step));
                net.fit(batch(step));
                Numbers.assertSame(stock, net, "after step " + (step + 1));
                double[] moment = moments(net, head);
                double[] weights = Numbers.values(net.getLayer("3").params());
                if (!USED[step]) {
                    // m = beta1 * m + (1 - beta1) * 0, in the precision of the state
                    for (int i = 0; i < moment.length; i++) {
                        assertThat(moment[i]).as("moment %d at step %d", i, step + 1)
                                .isCloseTo(0.9 * before[i], Offset.offset(1e-6 * Math.abs(before[i])));
                    }
                    assertThat(Arrays.equals(weights, weightsBefore)).as("weights of the unused head stand still").isFalse();
                }
                before = moment;
                weightsBefore = weights;
            }
            assertThat(net.getIterationCount()).as("counter").isEqualTo(USED.length);
        }
    }

    // B11: the same where nothing at all counts at some steps
    @ParameterizedTest
    @EnumSource(Setup.class)
    void aBatchWhoseLabelsAreAllMaskedIsAStepLikeAnyOther(Setup setup) {
        MultiLayerNetwork stock = Nets.layers(new Nesterovs(0.1, 0.9));
        MultiLayerNetwork net = Nets.layers(new Nesterovs(0.1, 0.9));
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            for (int step = 0; step < USED.length; step++) {
                stock.fit(masked(step));
                net.fit(masked(step));
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            assertThat(ferry.metrics().iterations()).isEqualTo(USED.length);
        }
    }

    /** First moments of a layer. One rule for all parameters means one block of state: all first moments, then all second ones. */
    private static double[] moments(ComputationGraph net, LayerDescription layer) {
        double[] state = Numbers.values(net.getUpdater().getStateViewArray());
        return Arrays.copyOfRange(state, (int) layer.offset(), (int) (layer.offset() + layer.parameterCount()));
    }

    private static ComputationGraph twoHeads() {
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).graphBuilder().addInputs("in")
                .setInputTypes(InputType.feedForward(Nets.INPUTS)).addLayer("0", Nets.dense(0), "in").addLayer("1", Nets.dense(2), "0")
                .addLayer("2", Nets.softmax(), "1").addLayer("3", Nets.softmax(), "0").setOutputs("2", "3").build());
    }

    private static MultiDataSet batch(int step) {
        INDArray used = USED[step] ? Nd4j.ones(Nets.BATCH, 1) : Nd4j.zeros(Nets.BATCH, 1);
        return new MultiDataSet(new INDArray[] {Nets.gaussian(step, Nets.BATCH, Nets.INPUTS)},
                new INDArray[] {Nets.classes(step, Nets.BATCH, Nets.CLASSES), Nets.classes(60 + step, Nets.BATCH, Nets.CLASSES)}, null,
                new INDArray[] {Nd4j.ones(Nets.BATCH, 1), used});
    }

    private static DataSet masked(int step) {
        DataSet batch = Nets.batch(step);
        batch.setLabelsMaskArray(USED[step] ? Nd4j.ones(Nets.BATCH, 1) : Nd4j.zeros(Nets.BATCH, 1));
        return batch;
    }
}
