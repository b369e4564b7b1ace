package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Learning rates that change during training, by whichever way DL4J offers: the network stays attached, moments stay, numbers are stock's.
 */
class LearningRateTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;

    private static NeuralNetConfiguration.Builder base(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(5).activation(Activation.TANH).updater(updater);
    }

    private static MultiLayerConfiguration layers(IUpdater updater) {
        return base(updater).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(8).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    private static ComputationGraphConfiguration graph(IUpdater updater) {
        return base(updater).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("0", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("1", new DenseLayer.Builder().nOut(8).build(), "0")
                .addLayer("2", new DenseLayer.Builder().nOut(7).build(), "1")
                .addLayer("3", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "2")
                .setOutputs("3").build();
    }

    private static DataSet batch(int step) {
        return Twins.batch(60 + step, CLASSES, BATCH, INPUTS);
    }

    // A40
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void settingTheLearningRateKeepsTheNetworkAttachedAndItsMoments(Serving serving) {
        Map<String, Consumer<MultiLayerNetwork>> ways = new HashMap<>();
        ways.put("all", net -> net.setLearningRate(1e-4));
        ways.put("one layer", net -> net.setLearningRate(1, 1e-4));
        ways.put("first and last layer", net -> {
            net.setLearningRate(0, 2e-4);
            net.setLearningRate(3, 5e-2);
        });
        ways.put("schedule for all", net -> net.setLearningRate(new StepSchedule(ScheduleType.ITERATION, 1e-2, 0.5, 2)));
        ways.put("schedule for one", net -> net.setLearningRate(2, new StepSchedule(ScheduleType.ITERATION, 1e-2, 0.5, 2)));
        ways.put("twice", net -> {
            net.setLearningRate(1e-4);
            net.setLearningRate(1e-3);
        });
        ways.put("apart and together", net -> {
            net.setLearningRate(1, 1e-4);
            net.setLearningRate(5e-3);
        });
        ways.forEach((name, change) -> {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(new Adam(1e-2)))) {
                twins.attach(serving.config());
                changed(twins, change, name + ", " + serving);
            }
        });
    }

    // A40, the same of a graph
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void settingTheLearningRateOfAGraphKeepsItAttachedAndItsMoments(Serving serving) {
        Map<String, Consumer<ComputationGraph>> ways = new HashMap<>();
        ways.put("all", net -> net.setLearningRate(1e-4));
        ways.put("one layer", net -> net.setLearningRate("1", 1e-4));
        ways.put("schedule for all", net -> net.setLearningRate(new StepSchedule(ScheduleType.ITERATION, 1e-2, 0.5, 2)));
        ways.put("schedule for one", net -> net.setLearningRate("2", new StepSchedule(ScheduleType.ITERATION, 1e-2, 0.5, 2)));
        ways.put("apart and together", net -> {
            net.setLearningRate("1", 1e-4);
            net.setLearningRate(5e-3);
        });
        ways.forEach((name, change) -> {
            try (Twins<ComputationGraph> twins = Twins.graphs(() -> graph(new AMSGrad(1e-2)))) {
                twins.attach(serving.config());
                changed(twins, change, "graph, " + name + ", " + serving);
            }
        });
    }

    /** Three steps, the change, three steps; the same again. */
    private static <M extends Model> void changed(Twins<M> twins, Consumer<M> change, String name) {
        int step = 0;
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 3; i++) {
                DataSet batch = batch(step++);
                twins.both(net -> Twins.fit(net, batch));
                twins.assertSame(name + ", step " + step);
            }
            Class<?> updater = updater(twins.attached()).getClass();
            long held = twins.ferry().metrics().device().slabBytes();
            twins.both(change);
            DataSet batch = batch(step++);
            twins.both(net -> Twins.fit(net, batch));
            twins.assertSame(name + ", first step after the change");
            assertThat(MemFerry.of(twins.attached())).as(name + ": attached").isNotNull();
            assertThat(updater(twins.attached())).as(name + ": updater").isExactlyInstanceOf(updater);
            assertThat(twins.ferry().metrics().device().slabBytes()).as(name + ": device memory").isEqualTo(held);
        }
        assertThat(twins.ferry().metrics().iterations()).as(name + ": iterations served").isEqualTo(step);
        assertThat(twins.ferry().metrics().abortedPasses()).as(name + ": aborted").isZero();
    }

    private static BaseMultiLayerUpdater<?> updater(Model net) {
        return net instanceof MultiLayerNetwork ? (BaseMultiLayerUpdater<?>) ((MultiLayerNetwork) net).getUpdater()
                : ((ComputationGraph) net).getUpdater();
    }

    // A40
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void theFerrysOwnSetterDoesWhatDl4jsDoes(Serving serving) {
        for (boolean apartBefore : new boolean[] {false, true}) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(new Adam(1e-2)))) {
                twins.attach(serving.config());
                for (int i = 0; i < 3; i++) {
                    DataSet batch = batch(i);
                    twins.both(net -> net.fit(batch));
                }
                if (apartBefore) {
                    // Layer 1 becomes a block of its own, and all merge again: the state changes its layout twice.
                    twins.both(net -> net.setLearningRate(1, 3e-3));
                    twins.both(net -> net.fit(batch(3)));
                    twins.assertSame("after the layer got a rate of its own");
                }
                twins.stock().setLearningRate(1e-4);
                twins.ferry().setLearningRate(1e-4);
                for (int i = 4; i < 7; i++) {
                    DataSet batch = batch(i);
                    twins.both(net -> net.fit(batch));
                    twins.assertSame(serving + ", apart before: " + apartBefore + ", step " + i);
                }
                assertThat(twins.attached().getLearningRate(2)).isEqualTo(1e-4);
            }
        }
    }

    // A41
    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void updaterBlocksArePresentAndWhatIsChangedInThemIsHonoured(Serving serving) {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> mixed())) {
            twins.attach(serving.config());
            for (int i = 0; i < 2; i++) {
                DataSet batch = batch(i);
                twins.both(net -> net.fit(batch));
            }
            assertThat(updater(twins.attached()).getUpdaterBlocks()).hasSameSizeAs(updater(twins.stock()).getUpdaterBlocks());
            for (int i = 0; i < updater(twins.stock()).getUpdaterBlocks().size(); i++) {
                UpdaterBlock stock = updater(twins.stock()).getUpdaterBlocks().get(i);
                UpdaterBlock ours = updater(twins.attached()).getUpdaterBlocks().get(i);
                assertThat(ours.getParamOffsetStart()).isEqualTo(stock.getParamOffsetStart());
                assertThat(ours.getParamOffsetEnd()).isEqualTo(stock.getParamOffsetEnd());
                assertThat(ours.getGradientUpdater()).hasSameClassAs(stock.getGradientUpdater());
                Twins.assertSameBits(stock.getUpdaterView(), ours.getUpdaterView(), "state of block " + i);
            }
            twins.both(net -> {
                for (UpdaterBlock block : updater(net).getUpdaterBlocks()) {
                    if (block.getGradientUpdater().getConfig() instanceof Adam) {
                        ((Adam) block.getGradientUpdater().getConfig()).setLearningRate(3e-4);
                    } else if (block.getGradientUpdater().getConfig() instanceof Nesterovs) {
                        ((Nesterovs) block.getGradientUpdater().getConfig()).setMomentum(0.5);
                    }
                    // The moments can be written, too.
                    if (block.getUpdaterView() != null) {
                        block.getUpdaterView().muli(0.5);
                    }
                }
            });
            for (int i = 2; i < 5; i++) {
                DataSet batch = batch(i);
                twins.both(net -> net.fit(batch));
                twins.assertSame("step " + i + " with changed blocks");
            }
        }
    }

    private static MultiLayerConfiguration mixed() {
        return base(new Adam(1e-2)).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(8).updater(new Nesterovs(1e-2, 0.9)).biasUpdater(new Sgd(1e-3)).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    // A43
    @Test
    void afterARestoreTheScheduleGoesOnFromTheSavedCounter(@TempDir Path directory) throws IOException {
        for (Serving serving : Serving.values()) {
            MultiLayerNetwork straight = new MultiLayerNetwork(layers(scheduled()));
            straight.init();
            for (int i = 0; i < 10; i++) {
                straight.fit(batch(i));
            }
            for (boolean byMemFerry : new boolean[] {false, true}) {
                MultiLayerNetwork first = new MultiLayerNetwork(layers(scheduled()));
                File file = directory.resolve(serving + "-" + byMemFerry + ".zip").toFile();
                try (MemFerry ferry = MemFerry.init(first, serving.config())) {
                    for (int i = 0; i < 7; i++) {
                        first.fit(batch(i));
                    }
                    if (byMemFerry) {
                        ferry.save(file, true);
                    } else {
                        ModelSerializer.writeModel(first, file, true);
                    }
                }
                MultiLayerNetwork second = byMemFerry ? MemFerry.restoreMultiLayerNetwork(file, true, serving.config())
                        : ModelSerializer.restoreMultiLayerNetwork(file, true);
                MemFerry ferry = byMemFerry ? MemFerry.of(second) : MemFerry.attach(second, serving.config());
                try {
                    assertThat(second.getIterationCount()).isEqualTo(7);
                    assertThat(second.getLearningRate(0)).isEqualTo(1e-3);
                    INDArray before = second.params().dup();
                    second.fit(batch(7));
                    // Adam's step is below the rate; at the rate before iteration 5 it would be near ten times that.
                    assertThat(second.params().sub(before).amaxNumber().doubleValue()).isLessThan(2e-3);
                    assertThat(second.getIterationCount()).isEqualTo(8);
                    second.fit(batch(8));
                    second.fit(batch(9));
                    Twins.assertSameBits(straight.params(), second.params(), "parameters, " + serving + ", MemFerry's file: " + byMemFerry);
                    Twins.assertSameBits(Twins.updaterState(straight), Twins.updaterState(second), "updater state, " + serving);
                } finally {
                    ferry.close();
                }
            }
        }
    }

    private static IUpdater scheduled() {
        Map<Integer, Double> values = new HashMap<>();
        values.put(0, 1e-2);
        values.put(5, 1e-3);
        return new Adam(new MapSchedule(ScheduleType.ITERATION, values));
    }
}
