package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Gradients that are infinite or not a number are passed on as DL4J does, which skips no step: parameters, moments, counters and the
 * schedule go on as in stock. One warning for each attachment says where it began. Case B35.
 */
class NotFiniteTest {

    private static final int ODD_STEP = 3;

    private static MultiLayerConfiguration configuration(DataType type) {
        return new NeuralNetConfiguration.Builder().seed(3).dataType(type).activation(Activation.TANH)
                .updater(new Nesterovs(new StepSchedule(ScheduleType.ITERATION, 0.1, 0.5, 1), 0.9)).list()
                .layer(Nets.dense(0)).layer(Nets.dense(1)).layer(Nets.dense(2)).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build();
    }

    @ParameterizedTest
    @CsvSource({"FLOAT, HOST", "FLOAT, PREFETCH", "DOUBLE, HOST", "DOUBLE, MIXED"})
    void anInfiniteInputIsPassedOnAndSaidOnce(DataType type, Setup setup) {
        try (Logs logs = new Logs(); Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(type))) {
            twins.attach(setup.config());
            for (int step = 0; step < 6; step++) {
                DataSet batch = Nets.batch(step);
                if (step == ODD_STEP) {
                    batch.getFeatures().putScalar(5, Double.POSITIVE_INFINITY);
                }
                twins.both(net -> net.fit(batch));
                assertSame(twins.stock().params(), twins.attached().params(), "parameters, step " + step);
                assertSame(Twins.updaterState(twins.stock()), Twins.updaterState(twins.attached()), "state, step " + step);
                assertThat(twins.attached().getIterationCount()).isEqualTo(step + 1);
                assertThat(twins.attached().getLearningRate(0)).isEqualTo(twins.stock().getLearningRate(0));
                assertThat(logs.at(Level.WARN)).as("warnings after step %s", step).hasSize(step < ODD_STEP ? 0 : 1);
            }
            assertThat(logs.at(Level.WARN).get(0)).startsWith("layer 0 (DenseLayer), parameter W: a gradient or value is infinite or not a"
                    + " number in iteration " + ODD_STEP + ".");
            assertThat(twins.attached().params().isNaN().any()).as("it has been passed on").isTrue();
        }
    }

    @Test
    void itIsSaidOnceForEachAttachmentWhateverIsDoneInBetween() {
        MultiLayerNetwork net = Nets.layers(new Nesterovs(0.1));
        net.getParam("2_b").putScalar(1, Float.NaN);
        try (Logs logs = new Logs()) {
            for (int attachment = 1; attachment <= 2; attachment++) {
                try (MemFerry ferry = MemFerry.attach(net, Setup.HOST.config())) {
                    net.fit(Nets.batch(0));
                    ferry.setLearningRate(0.01);
                    net.fit(Nets.batch(1));
                    net.setUpdater(null);
                    net.fit(Nets.batch(2));
                }
                List<String> said = logs.at(Level.WARN);
                said.removeIf(line -> !line.contains("not a number"));
                assertThat(said).hasSize(attachment);
            }
        }
    }

    /** Not only a NaN that has spread: the first place, among layers whose rules are their own. */
    @Test
    void theParameterIsNamedEvenIfNothingElseIsTouched() {
        MultiLayerNetwork net = Nets.layers(new Nesterovs(0.1));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, Setup.HOST.config())) {
            net.fit(Nets.batch(0));
            // Saturated: tanh is 1 whatever the input, so that score and gradients stay finite.
            net.getParam("1_b").putScalar(4, Float.POSITIVE_INFINITY);
            net.fit(Nets.batch(1));
            assertThat(net.score()).isFinite();
            assertThat(ferry.metrics().iterations()).isEqualTo(2);
            assertThat(logs.at(Level.WARN)).singleElement().asString().startsWith("layer 1 (DenseLayer), parameter b: ")
                    .contains("iteration 1.");
        }
    }

    /** NaNs are equal to each other: which of two NaNs an operation hands on is nobody's business. */
    private static void assertSame(INDArray stock, INDArray ours, String what) {
        double[] expected = Numbers.values(stock);
        double[] actual = Numbers.values(ours);
        assertThat(actual.length).isEqualTo(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(Double.doubleToLongBits(actual[i])).as("%s, element %d: %s, stock %s", what, i, actual[i], expected[i])
                    .isEqualTo(Double.doubleToLongBits(expected[i]));
        }
    }
}
