package org.memferry.cases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;

import ch.qos.logback.classic.Level;
import org.bytedeco.javacpp.FloatPointer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.constraint.MaxNormConstraint;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.MemFerryProperties;
import org.memferry.Needs;
import org.memferry.base.DifferenceException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.HostMemoryMetrics;
import org.memferry.device.NativeLibrary;
import org.memferry.nd4j.RegionArrays;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.report.Verification;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The first iterations beside a stock copy: equal where nothing is wrong, red where something is, silent never. */
class VerificationTest {

    private static final int VERIFIED = 3;
    private static final int STEPS = 5;
    private static final int CLASSES = 3;
    private static final int SERIES = 6;

    @AfterEach
    void no_memory_and_no_thread_stays() {
        assertThat(HostMemoryMetrics.liveRegions()).isZero();
        assertThat(Thread.getAllStackTraces().keySet()).extracting(Thread::getName).doesNotContain("memferry-verify");
    }

    private static MemFerryConfig config(Placement placement) {
        return MemFerryConfig.builder().device("emulated:64MB,poison,delay=7/150").place("*", placement)
                .placeGradient("*", placement == Placement.DIRECT ? GradientHome.DIRECT : GradientHome.SLOT)
                .verifyFirstSteps(VERIFIED).build();
    }

    // ----------------------------------------------------------------------------------------------------------------- equal

    static Stream<Placement> placements() {
        return Stream.of(Placement.RESIDENT, Placement.PREFETCH, Placement.DIRECT);
    }

    /** Dropout, batch normalisation, l2, a constraint and Adam: everything that draws, remembers or writes on its own. */
    private static ComputationGraph graph() {
        return Nets.initialised(Nets.configuration(new Adam(0.01), WorkspaceMode.ENABLED).graphBuilder().addInputs("in")
                .setInputTypes(InputType.feedForward(Nets.INPUTS))
                .addLayer("0", new DenseLayer.Builder().nOut(17).dropOut(0.7).l2(1e-3).build(), "in")
                .addLayer("1", new BatchNormalization(), "0")
                .addLayer("2", new DenseLayer.Builder().nOut(9).dropOut(0.6).constrainWeights(new MaxNormConstraint(0.5, 1)).build(), "1")
                .addLayer("3", Nets.softmax(), "2").setOutputs("3").build());
    }

    /** Masks beside dropout. */
    private static MultiLayerNetwork series() {
        return Nets.initialised(Nets.configuration(new Adam(0.01), WorkspaceMode.ENABLED).list()
                .layer(new LSTM.Builder().nOut(8).dropOut(0.8).l2(1e-3).build()).layer(new DenseLayer.Builder().nOut(7).dropOut(0.8).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(CLASSES).build())
                .setInputType(InputType.recurrent(5)).build());
    }

    private static DataSet series(int step) {
        int examples = 4;
        INDArray labels = Nd4j.zeros(examples, CLASSES, SERIES);
        INDArray mask = Nd4j.ones(examples, SERIES);
        for (int e = 0; e < examples; e++) {
            for (int t = 0; t < SERIES; t++) {
                labels.putScalar(new int[] {e, (e + t + step) % CLASSES, t}, 1);
                mask.putScalar(e, t, t < SERIES - (e + step) % 3 ? 1 : 0);
            }
        }
        return new DataSet(Nets.gaussian(step, examples, 5, SERIES), labels, mask, mask.dup());
    }

    private static void trainsTheSame(Model stock, Model attached, MemFerryConfig config, IntFunction<DataSet> data) {
        try (MemFerry ferry = MemFerry.attach(attached, config); Logs logs = new Logs()) {
            Nd4j.getRandom().setSeed(99);
            for (int step = 0; step < STEPS; step++) {
                Nets.fit(stock, data.apply(step));
            }
            long[] after = {Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState()};
            Nd4j.getRandom().setSeed(99);
            for (int step = 0; step < STEPS; step++) {
                Nets.fit(attached, data.apply(step));
            }
            assertThat(new long[] {Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState()}).as("random generator").isEqualTo(after);
            assertThat(ferry.verification().toString()).isEqualTo("verified " + VERIFIED
                    + " steps: scores, parameters and updater state equal stock DL4J bit for bit");
            assertThat(ferry.verification().isComplete()).isTrue();
            assertThat(logs.at(Level.INFO)).containsOnlyOnce(ferry.verification().toString());
            Twins.assertSameBits(stock.params(), attached.params(), "parameters");
            Twins.assertSameBits(Twins.updaterState(stock), Twins.updaterState(attached), "updater state");
            assertThat(attached.score()).isEqualTo(stock.score());
            assertThat(iteration(attached)).isEqualTo(STEPS);
        }
    }

    @ParameterizedTest
    @MethodSource("placements")
    void a_graph_with_dropout_batch_normalisation_and_a_constraint_is_verified_and_trains_as_without(Placement placement) {
        trainsTheSame(graph(), graph(), config(placement), Nets::batch);
    }

    @ParameterizedTest
    @MethodSource("placements")
    void a_recurrent_network_with_masks_and_dropout_is_verified_and_trains_as_without(Placement placement) {
        trainsTheSame(series(), series(), config(placement), VerificationTest::series);
    }

    @Test
    void on_the_host_device_too() {
        trainsTheSame(graph(), graph(), MemFerryConfig.builder().verifyFirstSteps(VERIFIED).build(), Nets::batch);
    }

    private static int iteration(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getIterationCount()
                : ((ComputationGraph) model).getIterationCount();
    }

    @Test
    void the_last_verified_step_is_compared_when_it_ends_and_the_copy_s_memory_goes_then() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().verifyFirstSteps(1).build())) {
            int regions = HostMemoryMetrics.liveRegions();
            Nets.train(net, 0, 1);
            assertThat(ferry.verification().toString())
                    .isEqualTo("verified 1 step: scores, parameters and updater state equal stock DL4J bit for bit");
            assertThat(HostMemoryMetrics.liveRegions()).isEqualTo(regions);
        }
    }

    @Test
    void without_the_setting_nothing_is_asked_and_no_memory_taken() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.defaults())) {
            long before = HostMemoryMetrics.peakAllocatedBytes();
            Nets.train(net, 0, 2);
            assertThat(HostMemoryMetrics.peakAllocatedBytes()).isEqualTo(before);
            assertThat(ferry.verification().asked()).isZero();
            assertThat(ferry.verification().isComplete()).isFalse();
            assertThat(ferry.verification()).hasToString("nothing was to be verified");
        }
    }

    @Test
    void the_property_and_the_listener_ask_for_it_too() {
        System.setProperty(MemFerryProperties.VERIFY_FIRST_STEPS, "2");
        try {
            Model net = Nets.layers(new Adam(0.01));
            MemFerryListener listener = MemFerryListener.builder().config(MemFerryConfig.fromProperties()).build();
            Nets.setListeners(net, listener, new ScoreIterationListener(1));
            try (Logs logs = new Logs()) {
                Nets.fit(net, Nets.batches(0, 3));
                assertThat(logs.at(Level.INFO)).anyMatch(l -> l.startsWith("epoch 0") && l.contains("verified 2 steps"));
            }
            assertThat(listener.ferry().verification().steps()).isEqualTo(2);
            listener.ferry().close();
        } finally {
            System.clearProperty(MemFerryProperties.VERIFY_FIRST_STEPS);
        }
    }

    // ------------------------------------------------------------------------------------------------------------------- red

    /** Writes to host memory behind everybody's back. */
    private static void damage(long address, long element) {
        FloatPointer at = new FloatPointer(new PagedPointer(address + element * Float.BYTES));
        at.put(0, at.get(0) + 1);
    }

    /** An emulated device on which an element of host memory is damaged when the first gradient of an iteration is copied from it. */
    private static final class DamagingDevice implements AutoCloseable {

        private final Device device = Devices.open("emulated:64MB,poison");
        private final int iteration;
        private int gradients;
        private long address;
        private long element;

        /** @param iteration in which it happens, from 0 on */
        DamagingDevice(int iteration) {
            this.iteration = iteration;
        }

        void damages(long at, long index) {
            address = at;
            element = index;
        }

        MemFerryConfig config() {
            Device damaging = (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("copyToHost") && gradients++ == 4 * iteration) {
                            damage(address, element);
                        }
                        return method.invoke(device, arguments);
                    });
            return MemFerryConfig.builder().device(damaging).place("*", Placement.RESIDENT).placeGradient("*", GradientHome.SLOT)
                    .verifyFirstSteps(VERIFIED).build();
        }

        @Override
        public void close() {
            device.close();
        }
    }

    /** Parameters of layers 0 to 1, of 12 inputs, 17 and 23 units; element 100 of W of layer 2, of 23 inputs, is after them. */
    private static final long ELEMENT = 12 * 17 + 17 + 17 * 23 + 23 + 100;

    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void a_parameter_that_is_damaged_in_an_iteration_is_named_with_its_layer_and_element(Nets.Kind kind) {
        Model net = kind.create(new Adam(0.01));
        try (DamagingDevice device = new DamagingDevice(1); MemFerry ferry = MemFerry.attach(net, device.config())) {
            device.damages(RegionArrays.firstElement(net.params()), ELEMENT);
            Nets.train(net, 0, 1);
            Throwable thrown = catchThrowable(() -> Nets.train(net, 1, 1));
            assertThat(thrown).isInstanceOf(DifferenceException.class).hasMessageStartingWith("step 2 (iteration 1, epoch 0) is not what stock "
                    + "DL4J computes from the same start: parameter W of layer 2 (DenseLayer) differs first at element 100 of 253: ")
                    .hasMessageContaining("; 1 of 947 parameters and 0 of 1894 values of updater state differ");
            Verification found = ferry.verification();
            assertThat(found.steps()).isEqualTo(1);
            assertThat(found.isComplete()).isFalse();
            assertThat(found.difference()).hasValueSatisfying(d -> assertThat(thrown.getMessage()).startsWith(d));
            // The one alarm there is; what follows is the user's decision.
            Nets.train(net, 2, 1);
            assertThat(ferry.verification()).isSameAs(found);
        }
    }

    @Test
    void damage_to_the_last_verified_step_is_found_without_another_iteration() {
        Model net = Nets.layers(new Adam(0.01));
        try (DamagingDevice device = new DamagingDevice(VERIFIED - 1); MemFerry ferry = MemFerry.attach(net, device.config())) {
            device.damages(RegionArrays.firstElement(net.params()), ELEMENT);
            Nets.train(net, 0, VERIFIED - 1);
            assertThatThrownBy(() -> Nets.train(net, VERIFIED - 1, 1)).isInstanceOf(DifferenceException.class)
                    .hasMessageStartingWith("step 3 ").hasMessageContaining("of layer 2 (DenseLayer) differs first at element 100 of 253");
            assertThat(ferry.verification().steps()).isEqualTo(VERIFIED - 1);
        }
    }

    @Test
    void updater_state_that_is_damaged_between_two_iterations_is_named_and_was_nobody_s_doing() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config(Placement.PREFETCH))) {
            // One block: first all of m, then all of v.
            long address = RegionArrays.firstElement(Twins.updaterState(net));
            Nets.train(net, 0, 1);
            damage(address, 947 + ELEMENT);
            assertThatThrownBy(() -> Nets.train(net, 1, 1)).isInstanceOf(DifferenceException.class).hasMessageStartingWith("before step 2 ")
                    .hasMessageContaining("updater state 2 of 2 of parameter W of layer 2 (DenseLayer) differs first at element 100 of 253: ")
                    .hasMessageContaining("0 of 947 parameters and 1 of 1894 values");
            assertThat(ferry.verification().steps()).isEqualTo(1);
        }
    }

    @Test
    void a_master_that_is_damaged_between_two_iterations_is_named() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config(Placement.DIRECT))) {
            long address = RegionArrays.firstElement(net.params());
            Nets.train(net, 0, 2);
            damage(address, ELEMENT);
            assertThatThrownBy(() -> Nets.train(net, 2, 1)).isInstanceOf(DifferenceException.class).hasMessageStartingWith("before step 3 ")
                    .hasMessageContaining("parameter W of layer 2 (DenseLayer) differs first at element 100 of 253");
        }
    }

    // ---------------------------------------------------------------------------------------------------------- no false alarm

    @Test
    void what_the_program_writes_between_iterations_is_no_alarm_and_is_told() {
        try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> Nets.layers(new Adam(0.01)).getLayerWiseConfigurations())
                .attach(config(Placement.PREFETCH))) {
            twins.both(net -> Nets.train(net, 0, 1));
            twins.both(net -> net.params().muli(0.5));
            twins.both(net -> Nets.train(net, 1, 1));
            twins.both(net -> net.setLearningRate(0.003));
            twins.both(net -> Nets.train(net, 2, 2));
            twins.assertSame("after all");
            assertThat(twins.ferry().verification().steps()).isEqualTo(VERIFIED);
            assertThat(twins.ferry().verification().writtenBetween()).isEqualTo(1);
            assertThat(twins.ferry().verification().toString()).contains("before 1 of them the program had been given the network's arrays");
        }
    }

    @Test
    void an_iteration_that_ends_in_an_exception_is_not_counted_and_the_next_one_is_verified() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config(Placement.RESIDENT))) {
            Nets.train(net, 0, 1);
            DataSet wrong = new DataSet(Nets.gaussian(1, Nets.BATCH, Nets.INPUTS), Nets.classes(1, Nets.BATCH, Nets.CLASSES + 1));
            assertThatThrownBy(() -> Nets.fit(net, wrong)).isNotInstanceOf(DifferenceException.class);
            Nets.train(net, 1, 3);
            assertThat(ferry.verification().steps()).isEqualTo(VERIFIED);
            assertThat(ferry.verification().difference()).isEmpty();
        }
    }

    @Test
    void a_listener_that_may_change_gradients_ends_it_with_its_name() {
        Model net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config(Placement.RESIDENT)); Logs logs = new Logs()) {
            Nets.train(net, 0, 1);
            Nets.setListeners(net, new Halving());
            Nets.train(net, 1, 2);
            assertThat(ferry.verification().toString()).startsWith("verified 1 of 3 steps: ")
                    .contains("; not verified: the listener " + Halving.class.getName());
            assertThat(ferry.verification().notVerified()).isPresent();
            assertThat(logs.at(Level.WARN)).containsOnlyOnce(ferry.verification().toString());
        }
    }

    /** Changes gradients before the step, as DL4J allows. */
    private static final class Halving extends BaseTrainingListener {

        @Override
        public void onGradientCalculation(Model model) {
            model.gradient().gradientForVariable().values().forEach(g -> g.muli(0.5));
        }
    }

    /** An activation as a user writes one, which counts: a copy that used it too would train another network. */
    public static final class Counting extends ActivationTanH {

        private int calls;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            calls++;
            return super.getActivation(in, training);
        }
    }

    @Test
    void a_part_of_the_configuration_that_is_the_program_s_own_is_not_asked_twice() {
        Counting counting = new Counting();
        MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(0.01), WorkspaceMode.ENABLED).list()
                .layer(new DenseLayer.Builder().nOut(5).activation(counting).build()).layer(Nets.softmax())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().verifyFirstSteps(VERIFIED).build())) {
            Nets.train(net, 0, 2);
            assertThat(counting.calls).isEqualTo(2);
            assertThat(ferry.verification().notVerified()).hasValueSatisfying(r -> assertThat(r).contains(Counting.class.getName()));
        }
    }

    @Test
    void own_rules_and_truncated_back_propagation_are_told_and_not_verified() {
        List<String> reasons = new ArrayList<>();
        Model own = Nets.layers(new SignMomentum(0.01, 0.9));
        MultiLayerNetwork cut = Nets.initialised(new NeuralNetConfiguration.Builder().list().layer(new LSTM.Builder().nOut(4).build())
                .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).nOut(CLASSES).build())
                .setInputType(InputType.recurrent(5)).backpropType(BackpropType.TruncatedBPTT).tBPTTLength(3).build());
        for (Model net : List.of(own, cut)) {
            try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().verifyFirstSteps(VERIFIED).build())) {
                Nets.fit(net, net == own ? Nets.batch(0) : series(0));
                assertThat(ferry.verification().steps()).isZero();
                reasons.add(ferry.verification().notVerified().orElseThrow());
            }
        }
        assertThat(reasons.get(0)).contains(SignMomentum.class.getName());
        assertThat(reasons.get(1)).contains("truncated back-propagation");
    }

    // ------------------------------------------------------------------------------------------------------ accounting, at start

    /** In a program where every workspace block counts against the budget, and networks are attached by themselves. */
    @Test
    void the_copy_takes_nothing_of_the_device_and_is_not_attached_itself() throws Exception {
        Needs.that(NativeLibrary.isLoaded(), "the native library, which finds the network, was not built");
        String stock = ChildJvm.with(ChildJvm.MANAGERS).run(Child.class);
        String without = attached().run(Child.class);
        String with = attached().and("-Dorg.memferry.verifyFirstSteps=2").run(Child.class);
        assertThat(stock).contains("not attached");
        assertThat(without).contains("0 steps verified");
        assertThat(with).contains("2 steps verified");
        assertThat(line(without, "NUMBERS")).isEqualTo(line(stock, "NUMBERS"));
        assertThat(line(with, "NUMBERS")).isEqualTo(line(stock, "NUMBERS"));
        assertThat(line(with, "TAKEN")).isEqualTo(line(without, "TAKEN"));
    }

    private static ChildJvm attached() {
        return ChildJvm.with(ChildJvm.MANAGERS).and("-Dorg.memferry.enabled=true", "-Dorg.memferry.device=emulated:8MB");
    }

    private static String line(String output, String start) {
        return output.lines().filter(l -> l.startsWith(start)).findFirst().orElseThrow();
    }

    /** The program. */
    static final class Child {

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            Model net = graph();
            // The program's own, whoever is attached and when.
            Nd4j.getRandom().setSeed(7);
            Nets.train(net, 0, 3);
            System.out.println("NUMBERS random " + Nd4j.getRandom().nodeState() + ", parameters " + Arrays.hashCode(Twins.bits(net.params())));
            MemFerry ferry = MemFerry.of(net);
            if (ferry == null) {
                System.out.println("not attached");
                return;
            }
            System.out.println("TAKEN workspaces " + ferry.metrics().use().peakWorkspaceBytes() + ", slab " + ferry.metrics().device().slabBytes()
                    + ", regions " + HostMemoryMetrics.liveRegions());
            System.out.println(ferry.verification().steps() + " steps verified");
        }
    }
}
