package org.memferry.cases;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.CycleSchedule;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.FixedSchedule;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.InverseSchedule;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.PolySchedule;
import org.nd4j.linalg.schedule.RampSchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.SigmoidSchedule;
import org.nd4j.linalg.schedule.StepSchedule;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The learning rate and momentum of a step are those of its own iteration and epoch, whatever values they take. */
class RatesTest {

    private static final int EPOCHS = 3;
    private static final int BATCHES = 4;

    private static Map<String, ISchedule> schedules(ScheduleType type) {
        Map<String, ISchedule> all = new LinkedHashMap<>();
        all.put("fixed", new FixedSchedule(0.05));
        all.put("map", new MapSchedule(type, new LinkedHashMap<>(Map.of(0, 0.1, 1, 0.07, 2, 0.05, 7, 0.01))));
        all.put("step", new StepSchedule(type, 0.1, 0.5, 2));
        all.put("exponential", new ExponentialSchedule(type, 0.1, 0.8));
        all.put("poly", new PolySchedule(type, 0.1, 2, 12));
        all.put("inverse", new InverseSchedule(type, 0.1, 0.5, 2));
        all.put("sigmoid", new SigmoidSchedule(type, 0.1, 0.7, 2));
        all.put("cycle", new CycleSchedule(type, 0.1, 10));
        all.put("ramp", new RampSchedule(new StepSchedule(type, 0.1, 0.5, 2), 3));
        return all;
    }

    /** Momentum moves with a schedule, too, in the second layer. */
    private static MultiLayerConfiguration configuration(ISchedule schedule) {
        DenseLayer second = new DenseLayer.Builder().nOut(11).updater(new Nesterovs(0.05, schedule)).build();
        return new NeuralNetConfiguration.Builder().seed(4).activation(Activation.TANH).updater(new Sgd(schedule)).list()
                .layer(Nets.dense(0)).layer(second).layer(new DenseLayer.Builder().nOut(7).updater(new Adam(schedule)).build())
                .layer(Nets.softmax()).setInputType(InputType.feedForward(Nets.INPUTS)).build();
    }

    // A44
    @ParameterizedTest
    @EnumSource(ScheduleType.class)
    void everyScheduleIsReadAtTheCounterThatIsNotYetIncremented(ScheduleType type) {
        schedules(type).forEach((name, schedule) -> {
            List<Double> read = new ArrayList<>();
            List<Double> expected = new ArrayList<>();
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(schedule))) {
                twins.attach(Setup.MIXED.config());
                for (int epoch = 0; epoch < EPOCHS; epoch++) {
                    for (int i = 0; i < BATCHES; i++) {
                        read.add(twins.attached().getLearningRate(0));
                        expected.add(twins.stock().getLearningRate(0));
                        DataSet batch = Nets.batch(epoch * BATCHES + i);
                        twins.both(net -> net.fit(batch));
                        twins.assertSame(name + " by " + type + ", epoch " + epoch + ", batch " + i);
                    }
                    // What fit(iterator) does when the iterator ends; DL4J has no other way to count epochs for single batches.
                    twins.both(net -> net.setEpochCount(net.getEpochCount() + 1));
                }
            }
            assertThat(read).as(name + " by " + type).isEqualTo(expected);
        });
    }

    // A44
    @ParameterizedTest
    @EnumSource(ScheduleType.class)
    void epochsOfAnIteratorCountAsInStock(ScheduleType type) {
        schedules(type).forEach((name, schedule) -> {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> configuration(schedule))) {
                twins.attach(Setup.HOST.config());
                twins.both(net -> net.fit(Nets.batches(0, BATCHES), EPOCHS));
                twins.assertSame(name + " by " + type);
                assertThat(twins.attached().getEpochCount()).isEqualTo(EPOCHS);
            }
        });
    }

    // B30: the rate is an argument of each step, and so is the state of the offloaded rule
    @ParameterizedTest
    @EnumSource(Setup.class)
    void aRateHalvedAtEveryIterationHalvesTheStep(Setup setup) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> new NeuralNetConfiguration.Builder().seed(4).activation(Activation.TANH)
                .updater(new RmsProp(new StepSchedule(ScheduleType.ITERATION, 0.01, 0.5, 1))).list().layer(Nets.dense(0)).layer(Nets.dense(1))
                .layer(Nets.dense(2)).layer(Nets.softmax()).setInputType(InputType.feedForward(Nets.INPUTS)).build())) {
            twins.attach(setup.config());
            for (int i = 0; i < 4; i++) {
                assertThat(twins.attached().getLearningRate(0)).isEqualTo(0.01 / (1 << i));
                DataSet batch = Nets.batch(i);
                twins.both(net -> net.fit(batch));
                twins.assertSame(setup + ", step " + i);
            }
        }
    }

    // A34: as in DL4J, 0 is not quite nothing under Adam, whose epsilon stands in
    @Test
    void aRateOfZeroIsDl4jsZero() {
        for (IUpdater rule : List.of(new Adam(0), new Sgd(0), new RmsProp(0),
                new Adam(new MapSchedule(ScheduleType.ITERATION, new LinkedHashMap<>(Map.of(0, 0.01, 3, 0.0)))))) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> Nets.layers(rule.clone()).getLayerWiseConfigurations())) {
                twins.attach(Setup.PREFETCH.config());
                INDArray before = twins.attached().params().dup();
                for (int i = 0; i < 6; i++) {
                    DataSet batch = Nets.batch(i);
                    twins.both(net -> net.fit(batch));
                    twins.assertSame(rule + ", step " + i);
                }
                double moved = twins.attached().params().sub(before).amaxNumber().doubleValue();
                if (rule instanceof Adam) {
                    assertThat(moved).as("%s", rule).isPositive();
                } else {
                    assertThat(moved).as("%s", rule).isZero();
                }
            }
        }
    }

    // A34
    @Test
    void aNegativeRateAscendsAsInStock() {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> Nets.layers(new Adam(-0.001)).getLayerWiseConfigurations())) {
            twins.attach(Setup.PREFETCH.config());
            for (int i = 0; i < 3; i++) {
                DataSet batch = Nets.batch(i);
                twins.both(net -> net.fit(batch));
                twins.assertSame("step " + i);
            }
        }
    }

    // A34
    @Test
    void aRateThatIsNotANumberIsRefusedAndTheNetworkStaysAsItWas() {
        MultiLayerNetwork net = Nets.initialised(new NeuralNetConfiguration.Builder().seed(4).updater(new Adam(0.01)).list()
                .layer(Nets.dense(0)).layer(new DenseLayer.Builder().nOut(5).biasUpdater(new Sgd(Double.NaN)).build()).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        INDArray params = net.params();
        assertThatThrownBy(() -> MemFerry.attach(net, Setup.HOST.config())).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("layer 1 (DenseLayer), parameter b: the learning rate of Sgd(").hasMessageContaining("is NaN (expected:");
        assertThat(net.params()).isSameAs(params);
        assertThat(MemFerry.of(net)).isNull();
        try (MemFerry ferry = MemFerry.attach(Nets.layers(new Adam()), Setup.HOST.config())) {
            assertThatThrownBy(() -> ferry.setLearningRate(Double.NaN)).isInstanceOf(RefusedException.class).hasMessageContaining("NaN");
        }
    }
}
