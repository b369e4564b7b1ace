package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.MemFerryException;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

import java.io.File;
import java.nio.file.Path;

import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** An iteration that an exception ends after some layers have taken their step leaves no numbers that anybody could take for a result. */
class TornIterationTest {

    private static final String DEVICE = "emulated:64MB,poison,delay=3/100";

    @Test
    void everyLaterFitSaysThatLayersAreAStepApartAndHowToGoOn(@TempDir Path directory) {
        File checkpoint = directory.resolve("checkpoint.zip").toFile();
        Model stock = network();
        Model net = network();
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(DEVICE).build())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            ferry.save(checkpoint, true);
            failInFirstLayer(net);
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> Nets.train(net, 3, 1)).isInstanceOf(MemFerryException.class)
                        .hasMessageContaining("given up in the middle of backward").hasMessageContaining("checkpoint")
                        .hasMessageContaining("eagerUpdate(false)");
            }
            assertThat(Nets.output(net, Nets.gaussian(5, 3, Nets.INPUTS)).rows()).as("inference is still served").isEqualTo(3);
        }
        Model restored = MemFerry.restoreMultiLayerNetwork(checkpoint, true, MemFerryConfig.builder().device(DEVICE).build());
        try (MemFerry again = MemFerry.of(restored)) {
            Nets.train(stock, 2, 3);
            Nets.train(restored, 2, 3);
            Numbers.assertSame(stock, restored, "after going on from the checkpoint");
        }
    }

    @Test
    void withoutEagerStepsAnIterationThatIsGivenUpChangesNothing() {
        Model stock = network();
        Model net = network();
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(DEVICE).eagerUpdate(false).build())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            failInFirstLayer(stock);
            failInFirstLayer(net);
            Nets.train(stock, 3, 2);
            Nets.train(net, 3, 2);
            Numbers.assertSame(stock, net, "after an iteration that was given up");
        }
    }

    @Test
    void aListenerThatReadsBeforeTheStepSeesStockNumbersSinceNoStepIsTakenEarly() {
        Model stock = network();
        Model net = network();
        ParameterReader seenOfStock = new ParameterReader();
        ParameterReader seen = new ParameterReader();
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device(DEVICE).build())) {
            Nets.setListeners(stock, seenOfStock);
            Nets.setListeners(net, seen);
            Nets.train(stock, 0, 3);
            Nets.train(net, 0, 3);
            assertThat(seen.sum).as("sum of the parameters after backward, before the step").isEqualTo(seenOfStock.sum);
            Numbers.assertSame(stock, net, "with a listener that reads before the step");
        }
    }

    /** Backward reaches the first layer last: the two behind it have taken their step, or their gradients are on their way. */
    private static void failInFirstLayer(Model net) {
        Tripwire.armed = true;
        try {
            assertThatThrownBy(() -> Nets.train(net, 2, 1)).hasMessageContaining("on purpose");
        } finally {
            Tripwire.armed = false;
        }
    }

    private static Model network() {
        DenseLayer first = new DenseLayer.Builder().nOut(11).activation(new Tripwire()).build();
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list().layer(first).layer(Nets.dense(0))
                .layer(Nets.dense(2)).layer(Nets.softmax()).setInputType(InputType.feedForward(Nets.INPUTS)).build());
    }

    /** An activation whose backward throws when it is told to. */
    public static final class Tripwire extends ActivationTanH {

        private static final long serialVersionUID = 1L;
        private static boolean armed;

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            if (armed) {
                throw new IllegalStateException("backward, on purpose");
            }
            return super.backprop(in, epsilon);
        }
    }

    private static final class ParameterReader extends BaseTrainingListener {

        private double sum;

        @Override
        public void onBackwardPass(Model model) {
            sum = model.params().sumNumber().doubleValue();
        }
    }
}
