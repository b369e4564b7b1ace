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

    private static Map<String, Supplier<LayerConstraint>> constraints() {
        Map<String, Supplier<LayerConstraint>> all = new LinkedHashMap<>();
        all.put("max norm", () -> new MaxNormConstraint(0.4, 1));
        all.put("min and max norm", () -> new MinMaxNormConstraint(0.3, 0.6, 0.7, 1));
        all.put("not negative", NonNegativeConstraint::new);
        all.put("unit norm", () -> new UnitNormConstraint(1));
        return all;
    }

    private static MultiLayerConfiguration configuration(IUpdater rule, Supplier<LayerConstraint> constraint) {
        return new NeuralNetConfiguration.Builder().seed(6).activation(Activation.TANH).updater(rule).list()
                .layer(new LastTimeStep(new LSTM.Builder().nIn(FEATURES).nOut(7).constrainInputWeights(constraint.get())
                        .constrainRecurrent(constraint.get()).build()))
                .layer(new DenseLayer.Builder().nOut(9).constrainWeights(constraint.get()).constrainBias(new NonNegativeConstraint()).build())
                .layer(new BatchNormalization.Builder().constrainGamma(new NonNegativeConstraint()).constrainBeta(new NonNegativeConstraint())
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .constrainAllParameters(new NonNegativeConstraint()).build())
                .setInputType(InputType.recurrent(FEATURES, STEPS)).build();
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void theNextPassReadsWhatTheConstraintLeft(Setup setup) {
        constraints().forEach((name, constraint) -> {
            for (IUpdater rule : List.of(new Nesterovs(0.1, 0.9), new Adam(0.02))) {
                String when = name + ", " + rule.getClass().getSimpleName() + ", " + setup;
                try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(rule.clone(), constraint))) {
                    twins.attach(setup.config());
                    for (int i = 0; i < 4; i++) {
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
}
