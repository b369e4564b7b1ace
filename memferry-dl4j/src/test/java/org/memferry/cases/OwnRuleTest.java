package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** A rule or regularisation that a user has written runs as in stock DL4J, on host memory, and the plan says so where. */
class OwnRuleTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    private static DenseLayer.Builder dense(int size) {
        return new DenseLayer.Builder().nOut(size);
    }

    /** Layer 0 and 1 have the user's rule, but for the bias of 1; layer 2 a regularisation of the user's; 3 and 4 are all DL4J's. */
    private static MultiLayerConfiguration configuration() {
        IUpdater own = new SignMomentum(1e-2, 0.9);
        return new NeuralNetConfiguration.Builder().seed(5).activation(Activation.TANH).updater(new Adam(1e-2)).list()
                .layer(dense(11).updater(own).l2(1e-2).gradientNormalization(GradientNormalization.ClipL2PerLayer)
                        .gradientNormalizationThreshold(1e-3).build())
                .layer(dense(8).updater(own).biasUpdater(new Adam(2e-2))
                        .gradientNormalization(GradientNormalization.ClipElementWiseAbsoluteValue).gradientNormalizationThreshold(1e-2).build())
                .layer(dense(7).regularization(List.of(new PullToOne(0.01))).build())
                .layer(dense(6).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .updater(new Adam(5e-3)).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void trainsAsInStock(Setup setup) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(OwnRuleTest::configuration)) {
            twins.attach(setup.config());
            for (int i = 0; i < 8; i++) {
                DataSet batch = Twins.batch(70 + i, CLASSES, BATCH, INPUTS);
                twins.both(net -> net.fit(batch));
                twins.assertSame(setup + ", step " + i);
            }
            assertThat(Twins.updaterState(twins.attached()).isNaN().any()).isFalse();
        }
    }

    @Test
    void thePlanSaysWhichParametersItIsAndWhichComeAlong() {
        try (Logs logs = new Logs(); Twins<MultiLayerNetwork> twins = Twins.layers(OwnRuleTest::configuration)) {
            MemFerry ferry = twins.attach(Setup.HOST.config()).ferry();
            List<String> rows = List.of(ferry.planTable().split("\\R"));
            String rule = " by DL4J's own code for your rule " + SignMomentum.class.getName();
            String term = " by DL4J's own code for your regularisation " + PullToOne.class.getName();
            assertThat(rows.get(1)).endsWith("; update of W, b" + rule);
            assertThat(rows.get(2)).endsWith("; update of W" + rule);
            assertThat(rows.get(3)).endsWith("; update of W, b" + term);
            // Layer 3 has the same Adam as layer 2: one updater block, one state.
            assertThat(rows.get(4)).endsWith("; update of W, b" + term);
            assertThat(rows.get(5)).doesNotContain("update of");
            assertThat(ferry.plan().network().layers().get(1).updateNote()).isEqualTo("update of W" + rule);
            assertThat(logs.at(Level.INFO)).anyMatch(line -> line.contains("update of W" + rule));
        }
    }

    @Test
    void whatIsAllDl4jsHasNoNote() {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> Nets.layers(new Adam()).getLayerWiseConfigurations())) {
            MemFerry ferry = twins.attach(Setup.HOST.config()).ferry();
            assertThat(ferry.planTable()).doesNotContain("update of");
        }
    }

    /** B35 for blocks that go DL4J's way: seen in the update. The rule of layers 0 and 1 makes 0 of a NaN, which is its business. */
    @Test
    void anUpdateThatIsNotFiniteIsSeenThereToo() {
        try (Logs logs = new Logs(); Twins<MultiLayerNetwork> twins = Twins.layers(OwnRuleTest::configuration)) {
            twins.attach(Setup.HOST.config());
            DataSet batch = Twins.batch(1, CLASSES, BATCH, INPUTS);
            batch.getFeatures().putScalar(3, Float.NaN);
            twins.attached().fit(batch);
            assertThat(logs.at(Level.WARN)).singleElement().asString().startsWith("layer 1 (DenseLayer), parameter b: ");
        }
    }

    /** A regularisation that DL4J does not have: pulls parameters to 1. */
    public static final class PullToOne extends L2Regularization {

        private static final long serialVersionUID = 1L;

        /** @param strength share of the distance */
        public PullToOne(double strength) {
            super(strength);
        }

        @Override
        public void apply(INDArray param, INDArray gradView, double lr, int iteration, int epoch) {
            gradView.addi(param.sub(1).muli(getL2().valueAt(iteration, epoch)));
        }

        @Override
        public PullToOne clone() {
            return new PullToOne(getL2().valueAt(0, 0));
        }
    }
}
