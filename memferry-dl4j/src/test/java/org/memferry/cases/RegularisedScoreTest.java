package org.memferry.cases;

import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.UpdateTiming;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** The score's penalty is on the parameters before the step, also where a layer has taken its step by then. */
class RegularisedScoreTest {

    private static final int STEPS = 60;

    @Test
    void scoresWithPenaltiesEqualStocksAlthoughTheirLayersStepDuringBackward() {
        MultiLayerNetwork stock = network();
        MultiLayerNetwork net = network();
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:64MB,poison,delay=5/200")
                .expect(Nets.BATCH, InputType.feedForward(Nets.INPUTS)).build())) {
            assertThat(ferry.plan().updateTiming()).isEqualTo(UpdateTiming.EAGER);
            assertThat(ferry.plan().network().layers().stream().filter(LayerDescription::readAfterBackward).map(LayerDescription::name)
                    .collect(Collectors.toList())).as("layers whose step waits: penalties of two norms, and the output").containsExactly("3", "4");
            for (int step = 0; step < STEPS; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                assertThat(net.score()).as("score of step %d", step + 1).isEqualTo(stock.score());
            }
            Numbers.assertSame(stock, net, "after " + STEPS + " steps");
        }
    }

    private static MultiLayerNetwork network() {
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list()
                .layer(new DenseLayer.Builder().nOut(1031).l2(1e-2).l2Bias(1e-3).build())
                .layer(new DenseLayer.Builder().nOut(67).l1(1e-3).build())
                .layer(new DenseLayer.Builder().nOut(517).weightDecay(1e-2, true).build())
                .layer(new DenseLayer.Builder().nOut(33).l1(1e-3).l2(1e-2).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(Nets.CLASSES).activation(Activation.SOFTMAX).l2(1e-3).build())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
    }
}
