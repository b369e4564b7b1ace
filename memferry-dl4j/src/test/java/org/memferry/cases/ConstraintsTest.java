package org.memferry.cases;

import org.deeplearning4j.nn.api.layers.LayerConstraint;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.MinMaxNormConstraint;
import org.deeplearning4j.nn.conf.constraint.NonNegativeConstraint;
import org.deeplearning4j.nn.conf.constraint.UnitNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * DL4J applies constraints after the step and after the iteration, on the host's parameters: the next pass must not read what was there
 * before. Case A29.
 */
class ConstraintsTest {

    private static final int BATCH = 6;
    private static final int FEATURES = 5;
    private static final int STEPS = 4;
    private static final int CLASSES = 3;
    private static final int ITERATIONS = 4;

    private static Map<String, Supplier<LayerConstraint>> constraints() {
        Map<String, Supplier<LayerConstraint>> all = new LinkedHashMap<>();
        all.put("max norm", () -> new MaxNormConstraint(0.4, 1));
        all.put("min and max norm", () -> new MinMaxNormConstraint(0.3, 0.6, 0.7, 1));
        all.put("not negative", NonNegativeConstraint::new);
        all.put("unit norm", () -> new UnitNormConstraint(1));
        return all;
    }

    /** Without a supplier the same network has no constraints. */
    private static MultiLayerConfiguration configuration(IUpdater rule, Supplier<LayerConstraint> constraint) {
        return new NeuralNetConfiguration.Builder().seed(6).activation(Activation.TANH).updater(rule).list()
                .layer(new LastTimeStep(new LSTM.Builder().nIn(FEATURES).nOut(7).constrainInputWeights(made(constraint))
                        .constrainRecurrent(made(constraint)).build()))
                .layer(new DenseLayer.Builder().nOut(9).constrainWeights(made(constraint)).constrainBias(notNegative(constraint)).build())
                .layer(new BatchNormalization.Builder().constrainGamma(notNegative(constraint)).constrainBeta(notNegative(constraint)).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .constrainAllParameters(notNegative(constraint)).build())
                .setInputType(InputType.recurrent(FEATURES, STEPS)).build();
    }

    private static LayerConstraint[] made(Supplier<LayerConstraint> constraint) {
        return constraint == null ? new LayerConstraint[0] : new LayerConstraint[] {constraint.get()};
    }

    private static LayerConstraint[] notNegative(Supplier<LayerConstraint> constraint) {
        return made(constraint == null ? null : NonNegativeConstraint::new);
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void theNextPassReadsWhatTheConstraintLeft(Setup setup) {
        constraints().forEach((name, constraint) -> {
            for (IUpdater rule : List.of(new Nesterovs(0.1, 0.9), new Adam(0.02))) {
                String when = name + ", " + rule.getClass().getSimpleName() + ", " + setup;
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(rule.clone(), constraint))) {
                    twins.attach(setup.config());
                    for (int i = 0; i < ITERATIONS; i++) {
                        DataSet batch = Twins.batch(700 + i, CLASSES, BATCH, FEATURES, STEPS);
                        twins.both(net -> net.fit(batch));
                        twins.assertSame(when + ", step " + i);
                        twins.sameAnswer(when + ", output", net -> net.output(batch.getFeatures()));
                    }
                    assertThat(twins.attached().getParam("3_W").minNumber().doubleValue()).as(when).isGreaterThanOrEqualTo(0);
                    assertThat(twins.attached().getParam("2_gamma").minNumber().doubleValue()).as(when).isGreaterThanOrEqualTo(0);
                }
            }
        });
    }

    /** A copy that is made before the constraint is applied would be made again after it. */
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void noCopyIsMadeBeforeTheConstraintIsApplied(Setup setup) {
        assertThat(copies(setup, () -> new MaxNormConstraint(0.4, 1))).isLessThanOrEqualTo(copies(setup, null));
    }

    /** Copies of a layer's parameters to the device while nobody looks at them in between. */
    private static long copies(Setup setup, Supplier<LayerConstraint> constraint) {
        MultiLayerNetwork net = new MultiLayerNetwork(configuration(new Adam(0.02), constraint));
        try (MemFerry ferry = MemFerry.init(net, setup.config())) {
            for (int i = 0; i < ITERATIONS; i++) {
                net.fit(Twins.batch(700 + i, CLASSES, BATCH, FEATURES, STEPS));
            }
            return ferry.metrics().parameterCopies();
        }
    }
}
