package org.memferry.cases;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.List;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.data.Offset.offset;

/** Every parameter is updated by its own rule, rate and regularisation, and by no neighbour's. */
class DifferentRulesTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    private static DenseLayer.Builder dense(int size) {
        return new DenseLayer.Builder().nOut(size);
    }

    private static OutputLayer output() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static NeuralNetConfiguration.Builder base(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(5).activation(Activation.TANH).updater(updater);
    }

    private static DataSet batch(int step) {
        return Twins.batch(80 + step, CLASSES, BATCH, INPUTS);
    }

    // A32
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void rulesOfLayersAndBiasesAreTheirOwn(Setup setup) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> base(new Adam(5e-3)).biasUpdater(new Adam(1e-2)).list()
                .layer(dense(11).updater(new Adam(1e-2)).build())
                .layer(dense(8).updater(new Sgd(1e-3)).biasUpdater(new Nesterovs(1e-2, 0.9)).build())
                .layer(dense(7).build())
                .layer(output()).setInputType(InputType.feedForward(INPUTS)).build())) {
            twins.attach(setup.config());
            for (int i = 0; i < 8; i++) {
                DataSet batch = batch(i);
                twins.both(net -> net.fit(batch));
                twins.assertSame(setup + ", step " + i);
            }
        }
    }

    // B32: equal layers side by side get equal gradients, so that the steps are as the rates
    @Test
    void theFirstStepsAreAsTheRates() {
        double[] rates = {1e-3, 2e-3, 8e-3};
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> new NeuralNetConfiguration.Builder().seed(1).activation(Activation.IDENTITY)
                .dataType(DataType.DOUBLE).list()
                .layer(square(rates[0])).layer(square(rates[1])).layer(square(rates[2]))
                .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(3).nOut(3).activation(Activation.IDENTITY).updater(new Sgd(0)).build())
                .build())) {
            // With identities everywhere each layer's gradient of W is the same product of input and error.
            for (MultiLayerNetwork net : List.of(twins.stock(), twins.attached())) {
                for (int layer = 0; layer < 4; layer++) {
                    net.setParam(layer + "_W", Nd4j.eye(3).castTo(DataType.DOUBLE));
                }
            }
            INDArray before = twins.attached().params().dup();
            twins.attach(Setup.PREFETCH.config());
            DataSet batch = new DataSet(Nets.gaussian(1, 5, 3), Nets.gaussian(2, 5, 3));
            twins.both(net -> net.fit(batch));
            twins.assertSame("after the first step");
            INDArray step = twins.attached().params().sub(before);
            for (int i = 0; i < 12; i++) {
                double first = step.getDouble(i);
                assertThat(first).isNotZero();
                assertThat(step.getDouble(12 + i) / first).isCloseTo(rates[1] / rates[0], offset(1e-9));
                assertThat(step.getDouble(24 + i) / first).isCloseTo(rates[2] / rates[0], offset(1e-9));
            }
        }
    }

    private static DenseLayer square(double rate) {
        return new DenseLayer.Builder().nIn(3).nOut(3).updater(new Sgd(rate)).build();
    }

    // B33
    @Test
    void l2AndWeightDecayAreDifferentThingsUnderAdamAndEachIsStocks() {
        INDArray[] results = new INDArray[3];
        for (int flavour = 0; flavour < 3; flavour++) {
            int which = flavour;
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> decayed(which))) {
                twins.attach(Setup.PREFETCH.config());
                for (int i = 0; i < 3; i++) {
                    DataSet batch = batch(i);
                    twins.both(net -> net.fit(batch));
                    twins.assertSame("flavour " + which + ", step " + i);
                }
                results[which] = twins.attached().params().dup();
            }
        }
        assertThat(results[0]).as("l2 is not weight decay").isNotEqualTo(results[1]);
        assertThat(results[1]).as("the learning rate counts").isNotEqualTo(results[2]);
    }

    private static MultiLayerConfiguration decayed(int flavour) {
        DenseLayer.Builder layer = dense(11);
        BaseLayer.Builder<?> decayed = flavour == 0 ? layer.l2(0.1) : layer.weightDecay(0.1, flavour == 1);
        return base(new Adam(1e-2)).list().layer((DenseLayer) decayed.build()).layer(output())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    /** AdaBelief of 1.0.0-M2.1 cannot make itself from a network's updater state: plain DL4J fails at the first step. */
    @Test
    void aRuleThatTheLoadedDl4jCannotTrainWithIsRefusedByName() {
        Supplier<MultiLayerConfiguration> configuration = () -> base(new AdaBelief(1e-2)).list().layer(dense(11).build()).layer(output())
                .setInputType(InputType.feedForward(INPUTS)).build();
        try (Twins<MultiLayerNetwork> twins = Twins.layers(configuration)) {
            if (catchThrowable(() -> twins.stock().fit(batch(0))) == null) {
                twins.attach(Setup.PREFETCH.config());
                twins.attached().fit(batch(0));
                twins.assertSame("where DL4J can");
                return;
            }
            INDArray params = twins.attached().params();
            assertThatThrownBy(() -> twins.attach(Setup.PREFETCH.config())).isInstanceOf(RefusedException.class)
                    .hasMessageStartingWith("layer 0 (DenseLayer), parameter W: the loaded DL4J cannot make its own rule AdaBelief")
                    .hasMessageEndingWith("Use another rule.");
            assertThat(twins.attached().params()).isSameAs(params);
            assertThat(twins.attached().output(batch(0).getFeatures()).isNaN().any()).isFalse();
        }
    }

    // B36
    @Test
    void aGradientOfZeroMovesNothing() {
        List<IUpdater> rules = List.of(new Adam(0.1), new AMSGrad(0.1), new AdaMax(0.1), new Nadam(0.1), new Nesterovs(0.1), new RmsProp(0.1),
                new AdaGrad(0.1), new AdaDelta(), new Sgd(0.1));
        for (DataType type : List.of(DataType.FLOAT, DataType.DOUBLE)) {
            for (IUpdater rule : rules) {
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> new NeuralNetConfiguration.Builder().seed(2).dataType(type)
                        .updater(rule.clone()).activation(Activation.IDENTITY).list()
                        .layer(new OutputLayer.Builder(LossFunction.MSE).nIn(4).nOut(4).activation(Activation.IDENTITY).build()).build())) {
                    twins.attach(Setup.PREFETCH.config());
                    INDArray before = twins.attached().params().dup();
                    // No input, no output, no bias: the error is 0.
                    DataSet nothing = new DataSet(Nd4j.zeros(type, 3, 4), Nd4j.zeros(type, 3, 4));
                    for (int i = 0; i < 3; i++) {
                        twins.both(net -> net.fit(nothing));
                        twins.assertSame(rule + ", " + type);
                    }
                    Twins.assertSameBits(before, twins.attached().params(), rule + ", " + type + ", after steps of nothing");
                }
            }
        }
    }
}
