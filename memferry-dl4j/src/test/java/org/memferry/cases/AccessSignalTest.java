package org.memferry.cases;

import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.nd4j.LayerScopes;
import org.memferry.nd4j.RegionArrays;
import org.memferry.nd4j.ThreadWorkspaces;
import org.memferry.parity.UserDenseLayer;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * DL4J's workspaces of layers tell where a layer's computation ends: what waits for its slot or its gradient starts at once, and not when
 * the next layer with parameters is read. Runs in child programs, since ND4J takes its managers once, when it starts.
 */
class AccessSignalTest {

    private static final int IMAGE = 12;

    private interface Scenario {
        void run() throws Exception;
    }

    private static String with;
    private static String without;

    @BeforeAll
    static void run() throws IOException, InterruptedException {
        with = ChildJvm.with(ChildJvm.MANAGERS).run(Child.class);
        without = ChildJvm.with().run(Child.class);
    }

    private static long number(String output, String name) {
        return output.lines().filter(l -> l.startsWith(name + " ")).mapToLong(l -> Long.parseLong(l.substring(name.length() + 1)))
                .findFirst().orElseThrow(() -> new AssertionError("no " + name + " in: " + output));
    }

    /** Of layers 0, 3, 5 and 6, all but the output layer in two slots: the third waits for the slot of the first. */
    @Test
    void theCopyToASlotIsOnItsWayWhileTheLayersWithoutParametersBehindItAreComputed() {
        long first = number(with, "parameters 0") + number(with, "parameters 3");
        assertThat(number(without, "to-device")).as("without the signal").isEqualTo(first);
        assertThat(number(with, "to-device")).as("with it").isEqualTo(first + number(with, "parameters 5"));
    }

    @Test
    void theGradientIsOnItsWayWhileTheLayersWithoutParametersBelowItAreComputed() {
        long first = number(with, "parameters 5") + number(with, "parameters 6");
        assertThat(number(without, "to-host")).as("without the signal").isEqualTo(first);
        assertThat(number(with, "to-host")).as("with it").isEqualTo(first + number(with, "parameters 3"));
    }

    @Test
    void theEndOfEveryLayerIsToldOnceInEachPassAndNobodyReadsBehindIt() {
        assertThat(number(with, "told")).as("3 iterations of 3 layers forward and 4 backward").isEqualTo(3 * 7);
        assertThat(number(with, "told-in-inference")).as("4 layers").isEqualTo(4);
        assertThat(number(with, "deviations")).isZero();
        assertThat(number(without, "told")).isZero();
    }

    @Test
    void openingsWithinOpeningsAndWhatIsOnlyBorrowedAreNotTold() {
        assertThat(with).contains("plain [entered, left]").contains("same [entered, left]").contains("scoped-out [entered, left]")
                .contains("borrowed [entered, left]").contains("tagged [entered, left]").contains("other []")
                .contains("left open, then trained [entered, entered, left]");
    }

    @Test
    void theEntryOfALayerEndsWhatWasReadOutsideOfAnyLayersWorkspace() {
        assertThat(with).contains("PASSED graph outside").contains("PASSED convolutions");
        assertThat(without).contains("PASSED graph outside").contains("PASSED convolutions");
    }

    @Test
    void anotherThreadThatTrainedTheNetworkBeforeSaysNothingOfIt() {
        assertThat(with).contains("PASSED threads");
        assertThat(without).contains("PASSED threads");
    }

    /** The program, with managers or without. */
    static final class Child {

        private static final MemFerryConfig CONFIG = MemFerryConfig.builder().device("emulated:64MB,poison,delay=7/200")
                .place("*", Placement.PREFETCH).placeGradient("*", GradientHome.SLOT).parameterSlots(2).eagerUpdate(false).build();

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            run("convolutions", Child::convolutions);
            run("openings", Child::openings);
            run("threads", Child::threads);
            run("graph outside", Child::graphOutside);
        }

        private static void run(String name, Scenario scenario) {
            try {
                scenario.run();
                System.out.println("PASSED " + name);
            } catch (Throwable e) {
                System.out.println("FAILED " + name);
                e.printStackTrace(System.out);
            }
        }

        private static void convolutions() {
            MultiLayerNetwork stock = convolutional();
            MultiLayerNetwork net = convolutional();
            try (MemFerry ferry = MemFerry.attach(net, CONFIG)) {
                for (int step = 0; step < 3; step++) {
                    DataSet batch = new DataSet(Nets.gaussian(step, Nets.BATCH, 1, IMAGE, IMAGE),
                            Nets.classes(step, Nets.BATCH, Nets.CLASSES));
                    Looking.at = null;
                    stock.fit(batch);
                    if (step == 0) {
                        Looking.at = ferry;
                    }
                    net.fit(batch);
                    Numbers.assertSame(stock, net, "step " + step);
                }
                for (int layer : new int[] {0, 3, 5, 6}) {
                    System.out.println("parameters " + layer + " " + net.getLayer(layer).numParams() * Float.BYTES);
                }
                System.out.println("to-device " + Looking.toDevice);
                System.out.println("to-host " + Looking.toHost);
                long told = ferry.metrics().layerEndsTold();
                System.out.println("told " + told);
                assertThat(net.output(Nets.gaussian(9, 2, 1, IMAGE, IMAGE))).isEqualTo(stock.output(Nets.gaussian(9, 2, 1, IMAGE, IMAGE)));
                System.out.println("told-in-inference " + (ferry.metrics().layerEndsTold() - told));
                System.out.println("deviations " + ferry.metrics().planDeviations());
            }
        }

        private static MultiLayerNetwork convolutional() {
            return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list()
                    .layer(new ConvolutionLayer.Builder(3, 3).nOut(4).build())
                    .layer(new ActivationLayer.Builder().activation(new Looking()).build())
                    .layer(new SubsamplingLayer.Builder().kernelSize(2, 2).stride(2, 2).build())
                    .layer(new ConvolutionLayer.Builder(2, 2).nOut(6).build())
                    .layer(new SubsamplingLayer.Builder().kernelSize(2, 2).stride(2, 2).build())
                    .layer(new DenseLayer.Builder().nOut(9).build())
                    .layer(Nets.softmax())
                    .setInputType(InputType.convolutional(IMAGE, IMAGE, 1)).build());
        }

        /** Looks, from the computation of a layer without parameters, at what is on its way. */
        static final class Looking extends ActivationTanH {

            private static final long serialVersionUID = 1L;
            private static MemFerry at;
            private static long toDevice;
            private static long toHost;

            @Override
            public INDArray getActivation(INDArray in, boolean training) {
                if (at != null && training) {
                    toDevice = at.metrics().device().bytesToDevice();
                }
                return super.getActivation(in, training);
            }

            @Override
            public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
                if (at != null) {
                    toHost = at.metrics().device().bytesToHost();
                }
                return super.backprop(in, epsilon);
            }
        }

        // ---------------------------------------------------------------------------------------------- openings and closings

        private static MemoryWorkspace open(String id) {
            return Nd4j.getWorkspaceManager().getAndActivateWorkspace(WorkspaceConfiguration.builder().initialSize(1 << 16).build(), id);
        }

        private static void told(String name, String id, Runnable within) {
            List<String> told = new ArrayList<>();
            ThreadWorkspaces.ofCurrentThread().train(null, false, recorder(told));
            try (MemoryWorkspace outer = open(id)) {
                within.run();
                if (told.size() > 1) {
                    told.add("too early");
                }
            }
            System.out.println(name + " " + told);
            ThreadWorkspaces.ofCurrentThread().train(null, false, LayerScopes.NONE);
        }

        private static LayerScopes recorder(List<String> told) {
            return new LayerScopes() {
                @Override
                public void entered() {
                    told.add("entered");
                }

                @Override
                public void left() {
                    told.add("left");
                }
            };
        }

        private static void openings() {
            String layer = "WS_LAYER_WORKING_MEM";
            told("plain", layer, () -> { });
            told("same", layer, () -> open(layer).close());
            told("scoped-out", layer, () -> {
                try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
                    open(layer).close();
                    open(layer).close();
                }
            });
            told("borrowed", layer, () -> Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread(layer).notifyScopeBorrowed().close());
            told("tagged", layer, () -> Nd4j.getWorkspaceManager().getWorkspaceForCurrentThread(layer).tagOutOfScopeUse().close());
            told("other", "WS_RNN_LOOP_WORKING_MEM", () -> { });
            List<String> told = new ArrayList<>();
            ThreadWorkspaces.ofCurrentThread().train(null, false, recorder(told));
            MemoryWorkspace left = open(layer);
            ThreadWorkspaces.ofCurrentThread().train(null, false, recorder(told));
            try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
                open(layer).close();
            }
            left.close();
            System.out.println("left open, then trained " + told);
            ThreadWorkspaces.ofCurrentThread().train(null, false, LayerScopes.NONE);
        }

        /** A user runs the graph of a SameDiff layer by itself. */
        private static void graphOutside() throws ReflectiveOperationException {
            // The graph keeps arrays of the layer's last pass, which must not lie in a workspace that is closed.
            MultiLayerNetwork net = Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED)
                    .inferenceWorkspaceMode(WorkspaceMode.NONE).list().layer(Nets.dense(0)).layer(new UserDenseLayer(17, 11)).layer(Nets.softmax())
                    .setInputType(InputType.feedForward(Nets.INPUTS)).build());
            try (MemFerry ferry = MemFerry.attach(net, CONFIG)) {
                Nets.train(net, 0, 2);
                net.output(Nets.gaussian(9, 2, Nets.INPUTS));
                SameDiff graph = (SameDiff) field(net.getLayer(1), "sameDiff");
                String out = (String) field(net.getLayer(1), "outputKey");
                graph.output(Map.of("input", Nets.gaussian(10, 2, 17)), out);
                long told = ferry.metrics().layerEndsTold();
                try (MemoryWorkspace next = open("WS_LAYER_WORKING_MEM")) {
                    long expectedEnds = RegionArrays.hasOurManagers() ? told + 1 : 0;
                    assertThat(ferry.metrics().layerEndsTold()).as("when the next layer is entered").isEqualTo(expectedEnds);
                }
            }
        }

        private static Object field(Object owner, String name) throws ReflectiveOperationException {
            Field field = SameDiffLayer.class.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        }

        // ---------------------------------------------------------------------------------------------------------- threads

        /** Infers on the former training thread, while the present one is in the middle of a layer. */
        static final class Meanwhile extends ActivationTanH {

            private static final long serialVersionUID = 1L;
            private static Runnable elsewhere;

            @Override
            public INDArray getActivation(INDArray in, boolean training) {
                run();
                return super.getActivation(in, training);
            }

            @Override
            public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
                run();
                return super.backprop(in, epsilon);
            }

            private static void run() {
                if (elsewhere != null) {
                    elsewhere.run();
                }
            }
        }

        private static MultiLayerNetwork meanwhile() {
            return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list().layer(Nets.dense(0))
                    .layer(new DenseLayer.Builder().nOut(13).activation(new Meanwhile()).build()).layer(Nets.dense(2)).layer(Nets.softmax())
                    .setInputType(InputType.feedForward(Nets.INPUTS)).build());
        }

        private static void threads() {
            MultiLayerNetwork stock = meanwhile();
            MultiLayerNetwork net = meanwhile();
            MultiLayerNetwork plain = Nets.layers(new Adam(1e-2));
            try (OneThread former = new OneThread(); MemFerry ferry = MemFerry.attach(net, CONFIG)) {
                Nets.train(stock, 0, 3);
                former.run(() -> Nets.train(net, 0, 1));
                long told = ferry.metrics().layerEndsTold();
                long[] untimely = new long[1];
                Meanwhile.elsewhere = () -> {
                    long before = ferry.metrics().layerEndsTold();
                    former.run(() -> plain.output(Nets.gaussian(3, 2, Nets.INPUTS)));
                    untimely[0] += ferry.metrics().layerEndsTold() - before;
                };
                Nets.train(net, 1, 2);
                Meanwhile.elsewhere = null;
                assertThat(untimely[0]).as("ends told from the other thread").isZero();
                assertThat(ferry.metrics().layerEndsTold() - told).isEqualTo(told == 0 ? 0 : 2 * 7);
                Numbers.assertSame(stock, net, "beside another thread");
            }
        }
    }
}
