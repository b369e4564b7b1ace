package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.InvocationType;
import org.deeplearning4j.optimize.listeners.EvaluativeListener;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.nd4j.DeviceUse;
import org.memferry.network.Ferry;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Data that grows while a network is attached: longer series, larger pictures, larger evaluations. The plan gives way before anything is
 * computed on them, within the budget, and no bit is another. The same with MemFerry's ND4J managers, in a program of its own, where a block
 * that the plan has left no room for is refused.
 */
class GrowingDataTest {

    private static final int BATCH = 4;
    private static final int INPUTS = 6;
    private static final int CLASSES = 3;
    private static final int SHORT = 4;
    private static final int LONG = 24;
    /** Examples that are evaluated at once. */
    private static final int MANY = 8 * BATCH;
    /** The score of a graph takes so much more than is estimated: it keeps the activations of all layers, as training does. */
    private static final long KEPT = 128 << 10;
    /** What ND4J puts behind the blocks of its workspaces. */
    private static final long SAFETY = 8 << 10;

    // ---------------------------------------------------------------------------------------------------------- networks, data

    private static InputType series(int steps) {
        return InputType.recurrent(INPUTS, steps);
    }

    private static Model recurrent(Nets.Kind kind) {
        return recurrent(kind, 0);
    }

    /** @param segment steps that are trained at once; 0 for all */
    private static Model recurrent(Nets.Kind kind, int segment) {
        NeuralNetConfiguration.Builder conf = Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED);
        LSTM first = new LSTM.Builder().nOut(64).build();
        LSTM second = new LSTM.Builder().nOut(64).build();
        RnnOutputLayer out = new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
        BackpropType type = segment == 0 ? BackpropType.Standard : BackpropType.TruncatedBPTT;
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(conf.list().layer(first).layer(second).layer(out).setInputType(InputType.recurrent(INPUTS))
                    .backpropType(type).tBPTTLength(Math.max(1, segment)).build());
        }
        return Nets.initialised(conf.graphBuilder().addInputs("in").setInputTypes(InputType.recurrent(INPUTS)).addLayer("0", first, "in")
                .addLayer("1", second, "0").addLayer("2", out, "1").setOutputs("2").backpropType(type)
                .tBPTTForwardLength(Math.max(1, segment)).tBPTTBackwardLength(Math.max(1, segment)).build());
    }

    private static DataSet series(int seed, int examples, int steps) {
        return new DataSet(Nets.gaussian(seed, examples, INPUTS, steps), Nets.classes(50 + seed, examples * steps, CLASSES)
                .reshape(examples, steps, CLASSES).permute(0, 2, 1).dup('c'));
    }

    /** Parameters, state and score, on the heap. */
    private static float[][] bits(Model net) {
        return new float[][] {net.params().data().asFloat(), Nets.updaterState(net).data().asFloat(), {(float) net.score()}};
    }

    private static void assertSameBits(float[][] stock, float[][] ours, String when) {
        String[] names = {"parameters", "updater state", "score"};
        for (int i = 0; i < names.length; i++) {
            assertThat(ours[i]).as("%s %s", names[i], when).isEqualTo(stock[i]);
        }
    }

    /** Bytes that activations take, by the plan's estimate. */
    private static long activations(Model net, int evaluated, int batch, InputType... types) {
        MemFerryConfig.Builder config = MemFerryConfig.builder().device("emulated:1GB").expect(batch, types);
        try (MemFerry ferry = MemFerry.attach(net, evaluated == 0 ? config.build() : config.evaluate(evaluated).build())) {
            return ferry.plan().budget().activationBytes();
        }
    }

    // ------------------------------------------------------------------------------------------------------------- the harness

    /**
     * Does the same to a stock network and to an attached one, step by step, and compares after each. The stock network is gone before the
     * other begins, so that only one of them takes memory.
     */
    private static final class Run {

        private final Supplier<Model> network;
        private final List<Consumer<Model>> steps = new ArrayList<>();
        private final List<Consumer<MemFerry>> looks = new ArrayList<>();

        Run(Supplier<Model> network) {
            this.network = network;
        }

        Run step(Consumer<Model> step, Consumer<MemFerry> look) {
            steps.add(step);
            looks.add(look);
            return this;
        }

        Run step(Consumer<Model> step) {
            return step(step, ferry -> { });
        }

        Run fit(DataSet... data) {
            for (DataSet each : data) {
                step(net -> Nets.fit(net, each));
            }
            return this;
        }

        void on(long bytes, MemFerryConfig.Builder config) {
            on(bytes, 0, config);
        }

        /**
         * @param bytes of the device that the plan may count on
         * @param more  bytes beside them
         */
        void on(long bytes, long more, MemFerryConfig.Builder config) {
            List<float[][]> expected = new ArrayList<>();
            Model stock = network.get();
            for (Consumer<Model> step : steps) {
                step.accept(stock);
                expected.add(bits(stock));
            }
            stock = null;
            DeviceMeter.settle();
            long others = DeviceMeter.arrayBytes();
            long counted = more + (Ferry.accountsWorkspaces() ? others + SAFETY : 0);
            Model net = network.get();
            try (Device device = Devices.open("emulated:" + (bytes + counted) + "B,poison");
                    MemFerry ferry = MemFerry.attach(net, config.device(device).headroom(counted + "B").build());
                    DeviceMeter meter = DeviceMeter.start(device.metrics()::slabBytes)) {
                for (int i = 0; i < steps.size(); i++) {
                    steps.get(i).accept(net);
                    meter.sample();
                    assertSameBits(expected.get(i), bits(net), "after step " + i);
                    assertThat(device.metrics().slabBytes()).as("slab after step %d", i).isGreaterThanOrEqualTo(ferry.plan().slabBytes())
                            .isLessThanOrEqualTo(ferry.plan().budget().slabLimit());
                    looks.get(i).accept(ferry);
                }
                assertThat(meter.peak().totalBytes() - others).as("most bytes on the device: %s, of which %d are the test's", meter.peak(), others)
                        .isLessThanOrEqualTo(bytes + more + SAFETY);
                assertThat(DeviceUse.of(device).spilledBlocks()).isZero();
            }
        }
    }

    // --------------------------------------------------------------------------------------------------------------- scenarios

    /** What is tried with and without the managers. */
    enum Scenario {
        SERIES(GrowingDataTest::longerSeries),
        FACTOR_OF_TWO(GrowingDataTest::seriesTwiceAsLong),
        REFUSED(GrowingDataTest::seriesThatDoNotFit),
        MEASURED(GrowingDataTest::longerSeriesWhileMeasured),
        OUTPUT(GrowingDataTest::largerOutput),
        LISTENER(GrowingDataTest::largerEvaluationInAListener),
        SCORE(GrowingDataTest::scoreOfLongerSeries),
        EVALUATION_REFUSED(GrowingDataTest::evaluationThatDoesNotFit),
        OTHER_THREAD(GrowingDataTest::evaluationOnAnotherThread),
        SEGMENTS(GrowingDataTest::segments);

        private final Consumer<Nets.Kind> body;

        Scenario(Consumer<Nets.Kind> body) {
            this.body = body;
        }
    }

    private static long resident(Model net) {
        return 4 * net.numParams();
    }

    /** A device on which everything is resident beside short series, and about half of it beside long ones. */
    private static long halfBesideLong(Nets.Kind kind) {
        return half(kind, 0, LONG);
    }

    private static long halfBesideLargeEvaluation(Nets.Kind kind) {
        return half(kind, MANY, SHORT);
    }

    /** An estimate may be off by some percent. */
    private static long half(Nets.Kind kind, int evaluated, int steps) {
        return activations(recurrent(kind), evaluated, BATCH, series(steps)) * 11 / 10 + resident(recurrent(kind)) / 2;
    }

    private static void longerSeries(Nets.Kind kind) {
        long resident = resident(recurrent(kind));
        Plan[] plans = new Plan[2];
        new Run(() -> recurrent(kind)).step(net -> Nets.fit(net, series(1, BATCH, SHORT)), ferry -> plans[0] = ferry.plan())
                .step(net -> Nets.fit(net, series(2, BATCH, LONG)), ferry -> plans[1] = ferry.plan())
                .step(net -> Nets.fit(net, series(3, BATCH, SHORT)), ferry -> assertThat(ferry.plan()).isSameAs(plans[1]))
                .fit(series(4, BATCH, LONG - 1)).fit(series(5, BATCH, LONG))
                .on(halfBesideLong(kind), MemFerryConfig.builder());
        assertThat(plans[0].slabBytes()).as("everything is resident").isGreaterThanOrEqualTo(resident);
        assertThat(plans[1].slabBytes()).as("bytes for slots").isLessThan(resident);
        assertThat(plans[1].budget().activationBytes()).isGreaterThan(plans[0].budget().activationBytes());
        assertThat(plans[0].network().layers().get(0).forwardTouches()).isEqualTo(SHORT);
        assertThat(plans[1].network().layers().get(0).forwardTouches()).isEqualTo(LONG);
    }

    /** Little of the workspaces that DL4J has by then serves the longer series. */
    private static void seriesTwiceAsLong(Nets.Kind kind) {
        new Run(() -> recurrent(kind)).fit(series(1, BATCH, LONG * 10 / 19)).fit(series(1, BATCH, LONG * 10 / 19)).fit(series(2, BATCH, LONG))
                .fit(series(3, BATCH, LONG)).on(halfBesideLong(kind), MemFerryConfig.builder());
    }

    private static void seriesThatDoNotFit(Nets.Kind kind) {
        Run run = new Run(() -> recurrent(kind)).fit(series(1, BATCH, SHORT)).fit(series(2, BATCH, SHORT));
        for (int i = 0; i < 2; i++) {
            run.step(net -> ifAttached(net, () -> assertThatThrownBy(() -> Nets.fit(net, series(3, BATCH, 2 * LONG)))
                    .isInstanceOf(OutOfMemoryException.class)
                    .hasMessageContaining("no room to train on 4 examples of [InputTypeRecurrent(6,timeSeriesLength=48,format=NCW)]")
                    .hasMessageContaining("deviceMemory")));
        }
        Plan[] plan = new Plan[1];
        run.step(net -> Nets.fit(net, series(4, BATCH, SHORT)), ferry -> plan[0] = ferry.plan()).fit(series(5, BATCH, SHORT))
                .on(halfBesideLong(kind), MemFerryConfig.builder());
        assertThat(plan[0].slabBytes()).as("all is as before").isGreaterThanOrEqualTo(resident(recurrent(kind)));
    }

    private static void ifAttached(Model net, Runnable body) {
        if (MemFerry.of(net) != null) {
            body.run();
        }
    }

    private static void longerSeriesWhileMeasured(Nets.Kind kind) {
        Run run = new Run(() -> recurrent(kind));
        for (int i = 0; i < 44; i++) {
            run.fit(series(i, BATCH, i < 8 ? SHORT : LONG));
        }
        run.step(net -> { }, ferry -> assertThat(ferry.profile()).isNotNull())
                .on(halfBesideLong(kind), MemFerryConfig.builder().strategy(Strategy.AUTO).updateThreads(1));
    }

    private static void largerOutput(Nets.Kind kind) {
        INDArray features = Nets.gaussian(7, MANY, INPUTS, SHORT);
        Plan[] plans = new Plan[3];
        INDArray[] outputs = new INDArray[2];
        new Run(() -> recurrent(kind)).step(net -> Nets.fit(net, series(1, BATCH, SHORT)), ferry -> plans[0] = ferry.plan())
                .step(net -> outputs[MemFerry.of(net) != null ? 1 : 0] = Nets.output(net, features), ferry -> plans[1] = ferry.plan())
                .fit(series(2, BATCH, SHORT))
                .step(net -> Nets.output(net, features), ferry -> plans[2] = ferry.plan())
                .fit(series(3, BATCH, SHORT)).fit(series(4, BATCH, SHORT))
                .on(halfBesideLargeEvaluation(kind), MemFerryConfig.builder().expect(BATCH, series(SHORT)));
        Numbers.assertSame(outputs[0], outputs[1], "output");
        assertThat(plans[1].slabBytes()).as("slab").isLessThan(plans[0].slabBytes());
        assertThat(plans[2]).isSameAs(plans[1]);
    }

    private static void largerEvaluationInAListener(Nets.Kind kind) {
        DataSet test = series(7, MANY, SHORT);
        List<Double> scores = new ArrayList<>();
        new Run(() -> recurrent(kind)).fit(series(1, BATCH, SHORT))
                .step(net -> {
                    Nets.setListeners(net, new EvaluativeListener(Batches.of(test), 2, InvocationType.ITERATION_END) {
                        @Override
                        public void iterationDone(Model model, int iteration, int epoch) {
                            super.iterationDone(model, iteration, epoch);
                            scores.add(((Evaluation) getEvaluations()[0]).accuracy());
                        }
                    });
                })
                .fit(series(2, BATCH, SHORT)).fit(series(3, BATCH, SHORT)).fit(series(4, BATCH, SHORT)).fit(series(5, BATCH, SHORT))
                .step(net -> { }, ferry -> assertThat(ferry.plan().slabBytes()).isLessThan(resident(ferry.network())))
                .on(halfBesideLargeEvaluation(kind), MemFerryConfig.builder());
        assertThat(scores).hasSize(8);
        assertThat(scores.subList(4, 8)).isEqualTo(scores.subList(0, 4));
    }

    private static void scoreOfLongerSeries(Nets.Kind kind) {
        int steps = 12 * SHORT;
        DataSet test = series(7, BATCH, steps);
        List<Double> scores = new ArrayList<>();
        new Run(() -> recurrent(kind)).fit(series(1, BATCH, SHORT))
                .step(net -> scores.add(net instanceof MultiLayerNetwork ? ((MultiLayerNetwork) net).score(test)
                        : ((ComputationGraph) net).score(test)), ferry -> assertThat(ferry.plan().slabBytes()).isLessThan(resident(ferry.network())))
                .fit(series(2, BATCH, SHORT)).fit(series(3, BATCH, SHORT))
                .on(half(kind, BATCH * LONG / SHORT, SHORT), kind == Nets.Kind.GRAPH ? KEPT : 0, MemFerryConfig.builder());
        assertThat(scores.get(1)).isEqualTo(scores.get(0));
    }

    private static void evaluationThatDoesNotFit(Nets.Kind kind) {
        INDArray features = Nets.gaussian(7, 100 * BATCH, INPUTS, SHORT);
        Run run = new Run(() -> recurrent(kind)).fit(series(1, BATCH, SHORT));
        Plan[] plans = new Plan[2];
        for (int i = 0; i < 2; i++) {
            int round = i;
            run.step(net -> ifAttached(net, () -> assertThatThrownBy(() -> Nets.output(net, features)).isInstanceOf(OutOfMemoryException.class)
                    .hasMessageContaining("no room to evaluate 400 examples of [InputTypeRecurrent(6,timeSeriesLength=4,format=NCW)] at once "
                            + "beside training on [4 examples").hasMessageContaining("evaluate(n)")), ferry -> plans[round] = ferry.plan());
            run.fit(series(2 + i, BATCH, SHORT));
        }
        run.on(halfBesideLong(kind), MemFerryConfig.builder());
        assertThat(plans[0].slabBytes()).as("all is as before").isGreaterThanOrEqualTo(resident(recurrent(kind)));
        assertThat(plans[1]).isSameAs(plans[0]);
    }

    private static void evaluationOnAnotherThread(Nets.Kind kind) {
        INDArray features = Nets.gaussian(7, MANY, INPUTS, SHORT);
        Plan[] plans = new Plan[3];
        new Run(() -> recurrent(kind)).step(net -> Nets.fit(net, series(1, BATCH, SHORT)), ferry -> plans[0] = ferry.plan())
                .step(net -> elsewhere(() -> Nets.output(net, features)), ferry -> plans[1] = ferry.plan())
                .step(net -> Nets.fit(net, series(2, BATCH, SHORT)), ferry -> plans[2] = ferry.plan())
                .step(net -> elsewhere(() -> Nets.output(net, features)), ferry -> assertThat(ferry.plan()).isSameAs(plans[2]))
                .step(net -> Nets.fit(net, series(3, BATCH, SHORT)), ferry -> assertThat(ferry.plan()).isSameAs(plans[2]))
                .on(halfBesideLargeEvaluation(kind), MemFerryConfig.builder());
        assertThat(plans[1]).as("not while another thread computes").isSameAs(plans[0]);
        assertThat(plans[2].slabBytes()).as("slab in the next iteration").isLessThan(plans[0].slabBytes());
    }

    private static void elsewhere(Runnable body) {
        Thread thread = new Thread(body);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The segments are what is trained: longer series of them need no more. An evaluation of the whole does. */
    private static void segments(Nets.Kind kind) {
        long bytes = 2 * activations(recurrent(kind, SHORT), 0, BATCH, series(4 * SHORT)) + 2 * resident(recurrent(kind));
        INDArray features = Nets.gaussian(7, BATCH, INPUTS, 600 * SHORT);
        Plan[] plans = new Plan[1];
        new Run(() -> recurrent(kind, SHORT)).step(net -> Nets.fit(net, series(1, BATCH, 2 * SHORT)), ferry -> plans[0] = ferry.plan())
                .step(net -> Nets.fit(net, series(2, BATCH, 4 * SHORT)), ferry -> assertThat(ferry.plan()).isSameAs(plans[0]))
                .step(net -> ifAttached(net, () -> assertThatThrownBy(() -> Nets.output(net, features)).isInstanceOf(OutOfMemoryException.class)
                        .hasMessageContaining("timeSeriesLength=2400")))
                .fit(series(3, BATCH, 4 * SHORT)).on(bytes, MemFerryConfig.builder());
    }

    /** Half of the texts are ten times as long: measuring passes over them, ends, and does not begin again. */
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void lengthsThatAlternateAreMeasuredOnce(Nets.Kind kind) {
        Model net = recurrent(kind);
        DataSet[] texts = {series(1, BATCH, SHORT), series(2, BATCH, 10 * SHORT)};
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:8MB").strategy(Strategy.AUTO)
                .updateThreads(1).build())) {
            Profile first = null;
            for (int i = 0; i < 120; i++) {
                Nets.fit(net, texts[i % 2]);
                first = i == 60 ? ferry.profile() : first;
            }
            assertThat(first).as("measured").isNotNull();
            assertThat(logs.at(Level.INFO)).filteredOn(text -> text.startsWith("the data is")).isEmpty();
        }
    }

    /** The whole picture counts, and every input. */
    @Test
    void largerPicturesOfAFullyConvolutionalGraphShrinkWhatIsResident() {
        Supplier<Model> network = () -> Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED)
                .convolutionMode(ConvolutionMode.Same).graphBuilder().addInputs("picture", "more")
                .setInputTypes(InputType.convolutional(8, 8, 2), InputType.feedForward(INPUTS))
                .addLayer("c", new ConvolutionLayer.Builder(3, 3).nOut(8).build(), "picture")
                .addLayer("d", new ConvolutionLayer.Builder(3, 3).nOut(64).build(), "c")
                .addLayer("pool", new GlobalPoolingLayer(PoolingType.AVG), "d").addVertex("both", new MergeVertex(), "pool", "more")
                .addLayer("wide", new DenseLayer.Builder().nOut(300).build(), "both").addLayer("out", Nets.softmax(), "wide").setOutputs("out").build());
        InputType more = InputType.feedForward(INPUTS);
        long bytes = activations(network.get(), 0, BATCH, InputType.convolutional(16, 16, 2), more) * 11 / 10 + resident(network.get()) / 3;
        Plan[] plans = new Plan[2];
        new Run(network).step(net -> ((ComputationGraph) net).fit(pictures(1, 8)), ferry -> plans[0] = ferry.plan())
                .step(net -> ((ComputationGraph) net).fit(pictures(2, 16)), ferry -> plans[1] = ferry.plan())
                .step(net -> ((ComputationGraph) net).fit(pictures(3, 8)), ferry -> assertThat(ferry.plan()).isSameAs(plans[1]))
                .on(bytes, MemFerryConfig.builder());
        assertThat(plans[1].slabBytes()).isLessThan(plans[0].slabBytes());
    }

    /** In training the columns of a convolution are in the working memory; DL4J evaluates with those of two layers at a time. */
    @Test
    void evaluatingWhatIsTrainedMayTakeMoreThanTraining() {
        InputType picture = InputType.convolutional(16, 16, 2);
        Supplier<Model> network = () -> Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED)
                .convolutionMode(ConvolutionMode.Same).list().layer(new ConvolutionLayer.Builder(3, 3).nOut(8).build())
                .layer(new ConvolutionLayer.Builder(3, 3).nOut(64).build()).layer(new GlobalPoolingLayer(PoolingType.AVG))
                .layer(new DenseLayer.Builder().nOut(300).build()).layer(Nets.softmax()).setInputType(picture).build());
        long training = activations(network.get(), 0, BATCH, picture);
        long both = activations(network.get(), BATCH, BATCH, picture);
        assertThat(both).isGreaterThan(training + resident(network.get()) / 2);
        INDArray features = Nets.gaussian(7, BATCH, 2, 16, 16);
        Consumer<Model> fit = net -> ((MultiLayerNetwork) net).fit(Nets.gaussian(1, BATCH, 2, 16, 16), Nets.classes(21, BATCH, Nets.CLASSES));
        Consumer<Model> output = net -> Nets.output(net, features);
        Plan[] plans = new Plan[2];
        new Run(network).step(fit, ferry -> plans[0] = ferry.plan()).step(output, ferry -> plans[1] = ferry.plan())
                .step(fit).step(output, ferry -> assertThat(ferry.plan()).isSameAs(plans[1]))
                .on(both + both / 30 + resident(network.get()) / 3, MemFerryConfig.builder());
        assertThat(plans[1].slabBytes()).isLessThan(plans[0].slabBytes());
    }

    private static MultiDataSet pictures(int seed, int size) {
        return new MultiDataSet(new INDArray[] {Nets.gaussian(seed, BATCH, 2, size, size), Nets.gaussian(10 + seed, BATCH, INPUTS)},
                new INDArray[] {Nets.classes(20 + seed, BATCH, Nets.CLASSES)});
    }

    private static String output;

    @BeforeAll
    static void run() throws IOException, InterruptedException {
        output = ChildJvm.with(ChildJvm.MANAGERS).run(Child.class);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("scenarios")
    void thePlanFollowsTheDataAndNoBitIsAnother(Scenario scenario, Nets.Kind kind) {
        scenario.body.accept(kind);
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("scenarios")
    void thePlanFollowsTheDataWithTheManagersToo(Scenario scenario, Nets.Kind kind) {
        String name = scenario + " " + kind;
        int failed = output.indexOf("FAILED " + name + System.lineSeparator());
        assertThat(failed < 0 ? "" : output.substring(failed, Math.min(output.length(), failed + 2000))).isEmpty();
        assertThat(output.lines()).contains("PASSED " + name);
    }

    static List<Arguments> scenarios() {
        List<Arguments> all = new ArrayList<>();
        for (Scenario scenario : Scenario.values()) {
            for (Nets.Kind kind : Nets.Kind.values()) {
                all.add(Arguments.of(scenario, kind));
            }
        }
        return all;
    }

    /** The program with the managers. */
    static final class Child {

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            for (Arguments arguments : scenarios()) {
                Scenario scenario = (Scenario) arguments.get()[0];
                Nets.Kind kind = (Nets.Kind) arguments.get()[1];
                try {
                    scenario.body.accept(kind);
                    System.out.println("PASSED " + scenario + " " + kind);
                } catch (Throwable e) {
                    System.out.println("FAILED " + scenario + " " + kind);
                    e.printStackTrace(System.out);
                }
            }
        }
    }
}
