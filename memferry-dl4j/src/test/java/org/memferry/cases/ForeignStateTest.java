package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Updater state is read as what it is: never as that of another rule, and in the layout of the blocks that it was written for. */
class ForeignStateTest {

    @TempDir
    private Path directory;

    // A23: the same length (RmsProp and Nesterovs, Adam and Nadam) tells nothing
    @Test
    void theStateOfAnotherRuleIsNotInterpretedAndOneWarningSaysSo() {
        IUpdater[][] pairs = {{new RmsProp(0.01), new Adam(0.01)}, {new Adam(0.01), new AMSGrad(0.01)}, {new Nesterovs(0.1), new RmsProp(0.01)},
            {new Adam(0.01), new Nadam(0.01)}, {new Adam(0.01), new Sgd(0.01)}, {new Sgd(0.01), new Adam(0.01)}};
        for (IUpdater[] pair : pairs) {
            String name = pair[0].getClass().getSimpleName() + ", now " + pair[1].getClass().getSimpleName();
            MultiLayerNetwork changed = trainedWith(pair[0], pair[1]);
            MultiLayerNetwork stock = trainedWith(pair[0], pair[1]);
            // What DL4J does with rules that were changed: its updater is dropped and begins anew.
            stock.setUpdater(null);
            try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(changed, Setup.MIXED.config())) {
                assertThat(logs.at(Level.WARN)).as(name).singleElement().asString().contains("made for other rules (layer 0 (DenseLayer),"
                        + " parameter W: " + name + ")").endsWith("moments start from zero at iteration 3");
                for (int i = 3; i < 6; i++) {
                    changed.fit(Nets.batch(i));
                    stock.fit(Nets.batch(i));
                    Numbers.assertSame(stock, changed, name + ", step " + i);
                }
                assertThat(ferry.metrics().iterations()).isEqualTo(3);
                assertThat(logs.at(Level.WARN)).as(name).hasSize(1);
            }
        }
    }

    private static MultiLayerNetwork trainedWith(IUpdater before, IUpdater after) {
        MultiLayerNetwork net = Nets.layers(before.clone());
        Nets.train(net, 0, 3);
        for (int i = 0; i < net.getnLayers(); i++) {
            ((BaseLayer) net.getLayer(i).conf().getLayer()).setIUpdater(after.clone());
        }
        return net;
    }

    // A23: a rate changed in the configuration alone splits a block, and the moments stay with their parameters
    @Test
    void aRateChangedInTheConfigurationMovesNoMoments() {
        MultiLayerNetwork changed = Nets.layers(new Adam(0.01));
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        for (MultiLayerNetwork net : List.of(changed, stock)) {
            Nets.train(net, 0, 3);
        }
        ((BaseLayer) changed.getLayer(1).conf().getLayer()).setIUpdater(new Adam(0.002));
        stock.setLearningRate(1, 0.002);
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(changed, Setup.MIXED.config())) {
            for (int i = 3; i < 6; i++) {
                changed.fit(Nets.batch(i));
                stock.fit(Nets.batch(i));
                Numbers.assertSame(stock, changed, "step " + i);
            }
            assertThat(ferry.isOpen()).isTrue();
            assertThat(logs.at(Level.WARN)).isEmpty();
        }
    }

    // A23
    @Test
    void aNegativeSecondMomentIsRefusedAndTheNetworkStaysAsItWas() throws IOException {
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        Nets.train(net, 0, 2);
        INDArray state = Nets.updaterState(net);
        // The first half are first moments, which may be negative; layer 1's bias in the second half.
        state.putScalar(0, -0.5f);
        long at = net.params().length() + net.getLayer(0).numParams() + net.getParam("1_W").length() + 2;
        state.putScalar(at, -0.25f);
        String refusal = "updater state of layer 1 (DenseLayer), parameter b: ADAM has a second moment of -0.25 (expected: at least 0)";
        assertThatThrownBy(() -> MemFerry.attach(net, Setup.MIXED.config())).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith(refusal).hasMessageContaining("call setUpdater(null) before attaching");
        assertThat(MemFerry.of(net)).isNull();
        assertThat(Nets.updaterState(net)).isSameAs(state);

        File file = directory.resolve("foreign.zip").toFile();
        ModelSerializer.writeModel(net, file, true);
        assertThatThrownBy(() -> MemFerry.restoreMultiLayerNetwork(file, true, Setup.MIXED.config())).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith(refusal);
        MemFerry.of(MemFerry.restoreMultiLayerNetwork(file, false, Setup.MIXED.config())).close();

        net.setUpdater(null);
        try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
            net.fit(Nets.batch(3));
            assertThat(net.params().isNaN().any()).isFalse();
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    /** Blocks: Adam for weights and Sgd for biases in turn, nothing for what is frozen, NoOp for running statistics. */
    private static MultiLayerConfiguration blocks() {
        return new NeuralNetConfiguration.Builder().seed(7).activation(Activation.TANH).updater(new Adam(0.01)).biasUpdater(new Nesterovs(0.1))
                .list().layer(Nets.dense(0)).layer(new FrozenLayer(Nets.dense(1))).layer(new BatchNormalization.Builder().build())
                .layer(new DenseLayer.Builder().nOut(6).updater(new AMSGrad(0.01)).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(Nets.CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build();
    }

    // A54
    @ParameterizedTest
    @EnumSource(Setup.class)
    void savedWithAndLoadedWithoutAndTheOtherWayRoundIsTheUninterruptedRun(Setup setup) throws IOException {
        MultiLayerNetwork straight = Nets.initialised(blocks());
        Nets.train(straight, 0, 6);

        File plain = directory.resolve("plain.zip").toFile();
        MultiLayerNetwork first = Nets.initialised(blocks());
        Nets.train(first, 0, 3);
        ModelSerializer.writeModel(first, plain, true);
        MultiLayerNetwork resumed = MemFerry.restoreMultiLayerNetwork(plain, true, setup.config());
        try (MemFerry ferry = MemFerry.of(resumed)) {
            Nets.train(resumed, 3, 3);
            Numbers.assertSame(straight, resumed, "saved by plain DL4J, " + setup);
            assertThat(ferry.metrics().iterations()).isEqualTo(3);
        }

        File ours = directory.resolve("ours.zip").toFile();
        MultiLayerNetwork second = Nets.initialised(blocks());
        try (MemFerry ferry = MemFerry.attach(second, setup.config())) {
            Nets.train(second, 0, 3);
            ferry.save(ours, true);
        }
        MultiLayerNetwork back = ModelSerializer.restoreMultiLayerNetwork(ours, true);
        Nets.train(back, 3, 3);
        Numbers.assertSame(straight, back, "saved by MemFerry, " + setup);
    }

    // A54
    @Test
    void aStateOfAnotherLengthIsRefusedWithBothLengths() throws IOException {
        MultiLayerNetwork net = Nets.initialised(blocks());
        Nets.train(net, 0, 1);
        MultiLayerNetwork other = Nets.layers(new AMSGrad(0.01));
        Nets.train(other, 0, 1);
        File file = directory.resolve("mixed.zip").toFile();
        ModelSerializer.writeModel(net, file, true);
        File swapped = withStateOf(other, file);
        assertThatThrownBy(() -> MemFerry.restoreMultiLayerNetwork(swapped, true, Setup.MIXED.config()))
                .isInstanceOf(MemFerryException.class)
                .hasMessageContaining(String.valueOf(Nets.updaterState(other).length()))
                .hasMessageContaining(String.valueOf(Nets.updaterState(net).length()));
    }

    private File withStateOf(MultiLayerNetwork other, File file) throws IOException {
        File foreign = directory.resolve("other.zip").toFile();
        ModelSerializer.writeModel(other, foreign, true);
        File swapped = directory.resolve("swapped.zip").toFile();
        Zips.copy(file, swapped, entry -> entry.equals(ModelSerializer.UPDATER_BIN) ? foreign : file);
        return swapped;
    }
}
