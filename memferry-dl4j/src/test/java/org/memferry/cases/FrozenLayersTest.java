package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.Plan;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

/** Frozen layers wherever they are: they stand still, cost no moments and no gradient slot, and are whole in every file. */
class FrozenLayersTest {

    private static final int LAYERS = 4;

    @TempDir
    private Path directory;

    static List<Arguments> everyWayToFreeze() {
        List<Arguments> all = new ArrayList<>();
        int n = 0;
        for (String frozen : List.of("FFFt", "Fttt", "tFtt", "ttFt", "FtFt")) {
            all.add(Arguments.of(frozen, Nets.Kind.LAYERS, Setup.values()[n % 4]));
            all.add(Arguments.of(frozen, Nets.Kind.LAYERS, Setup.values()[(n + 2) % 4]));
            // Stock DL4J cannot train a graph that has a trained vertex before a frozen one; a test of its own below.
            String prefix = frozen.startsWith("F") ? frozen.replace("tF", "FF") : "FFtt";
            all.add(Arguments.of(prefix, Nets.Kind.GRAPH, Setup.values()[++n % 4]));
        }
        return all;
    }

    // B20; F = frozen, t = trained
    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("everyWayToFreeze")
    void frozenLayersStandStillAndCostNoMomentsAndNoGradientSlot(String frozen, Nets.Kind kind, Setup setup) throws IOException {
        Model stock = network(frozen, kind);
        Model net = network(frozen, kind);
        INDArray initial = net.params().dup();
        File file = directory.resolve("frozen.zip").toFile();
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            for (int step = 0; step < 3; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            checkPlan(ferry.plan(), frozen, kind);
            checkStandsStill(ferry.plan(), frozen, initial, net.params());
            INDArray features = Nets.gaussian(5, 3, Nets.INPUTS);
            Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
            ferry.save(file, true);
        }
        // The frozen ones are in the file, and both what is read and what was given back train on.
        Model read = restore(kind, file);
        assertThat(read.numParams()).isEqualTo(stock.numParams());
        Numbers.assertSame(stock.params(), read.params(), "parameters in the file");
        Numbers.assertSame(Nets.updaterState(stock), Nets.updaterState(read), "updater state in the file");
        ModelSerializer.writeModel(stock, file, true);
        Model stockRead = restore(kind, file);
        Nets.train(stockRead, 3, 2);
        Nets.train(read, 3, 2);
        Numbers.assertSame(stockRead, read, "trained on from the file");
        Nets.train(stock, 3, 2);
        Nets.train(net, 3, 2);
        Numbers.assertSame(stock, net, "trained on after close");
    }

    private static Model restore(Nets.Kind kind, File file) throws IOException {
        return kind == Nets.Kind.LAYERS ? ModelSerializer.restoreMultiLayerNetwork(file, true)
                : ModelSerializer.restoreComputationGraph(file, true);
    }

    // B20: DL4J writes no gradient below a frozen layer and lets its updater go on with the last one, which therefore comes along
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void attachingInMidTrainingKeepsWhatAFrozenLayerHoldsBack(Setup setup) {
        Model stock = network("ttFt", Nets.Kind.LAYERS);
        Model net = network("ttFt", Nets.Kind.LAYERS);
        Nets.train(stock, 0, 3);
        Nets.train(net, 0, 3);
        for (int round = 0; round < 2; round++) {
            try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
                Nets.train(stock, 3 + round, 1);
                Nets.train(net, 3 + round, 1);
                Numbers.assertSame(stock, net, "attached, round " + round);
                assertThat(ferry.isOpen()).isTrue();
            }
        }
    }

    // B20: what stock DL4J cannot do fails with DL4J's own words
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void aGraphWithATrainedVertexBeforeAFrozenOneFailsAsInStock(Setup setup) {
        Model stock = network("tFtt", Nets.Kind.GRAPH);
        Model net = network("tFtt", Nets.Kind.GRAPH);
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            Throwable expected = catchThrowable(() -> Nets.train(stock, 0, 1));
            assertThat(expected).isNotNull();
            assertThatThrownBy(() -> Nets.train(net, 0, 1)).isInstanceOf(expected.getClass()).hasMessage(expected.getMessage());
            INDArray features = Nets.gaussian(5, 3, Nets.INPUTS);
            Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    private static void checkPlan(Plan plan, String frozen, Nets.Kind kind) {
        long moments = 0;
        for (LayerDescription layer : plan.network().layers()) {
            int index = Integer.parseInt(layer.name());
            GradientHome home = plan.layers().get(index).gradientHome();
            if (frozen.charAt(index) == 'F') {
                assertThat(home).as("gradient home of frozen layer %d", index).isEqualTo(GradientHome.NONE);
                assertThat(layer.gradientBytes()).as("gradient bytes of frozen layer %d", index).isZero();
            } else {
                moments += 2 * layer.parameterCount();
                assertThat(home).as("gradient home of layer %d", index).isNotEqualTo(GradientHome.NONE);
            }
        }
        assertThat(plan.network().updaterStateCount()).as("moments").isEqualTo(moments);
        int reached = plan.network().backwardOrder().length;
        // The backward pass of a MultiLayerNetwork ends at the first frozen layer it meets; a graph passes frozen vertices by.
        int expected = kind == Nets.Kind.LAYERS ? LAYERS - 1 - frozen.lastIndexOf('F') : reached;
        assertThat(reached).as("layers in the backward pass").isEqualTo(expected);
    }

    private static void checkStandsStill(Plan plan, String frozen, INDArray before, INDArray after) {
        double[] first = Numbers.values(before);
        double[] last = Numbers.values(after);
        for (LayerDescription layer : plan.network().layers()) {
            boolean same = true;
            for (long i = layer.offset(); i < layer.offset() + layer.parameterCount(); i++) {
                same &= first[(int) i] == last[(int) i];
            }
            int index = Integer.parseInt(layer.name());
            if (frozen.charAt(index) == 'F') {
                assertThat(same).as("frozen layer %d as it was", index).isTrue();
            } else if (index > frozen.lastIndexOf('F')) {
                assertThat(same).as("layer %d as it was", index).isFalse();
            }
        }
    }

    // B20: nothing to train is no reason not to serve inference
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void aNetworkThatIsFrozenAltogetherAttachesForInference(Setup setup) throws IOException {
        MultiLayerNetwork stock = allFrozen();
        MultiLayerNetwork net = allFrozen();
        File file = directory.resolve("frozen.zip").toFile();
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device, "0", "2"))) {
            assertThat(ferry.plan().network().updaterStateCount()).as("moments").isZero();
            ferry.plan().layers().forEach(l -> assertThat(l.gradientHome()).isEqualTo(GradientHome.NONE));
            for (int i = 0; i < 3; i++) {
                INDArray features = Nets.gaussian(i, 3, Nets.INPUTS);
                Numbers.assertSame(stock.output(features), net.output(features), "output " + i);
            }
            stock.fit(Nets.batch(0));
            net.fit(Nets.batch(0));
            Numbers.assertSame(stock, net, "a fit that changes nothing");
            Numbers.assertSame(stock.output(Nets.gaussian(8, 3, Nets.INPUTS)), net.output(Nets.gaussian(8, 3, Nets.INPUTS)), "output");
            ferry.save(file, true);
        }
        MultiLayerNetwork read = ModelSerializer.restoreMultiLayerNetwork(file, true);
        Numbers.assertSame(stock.params(), read.params(), "parameters in the file");
    }

    private static MultiLayerNetwork allFrozen() {
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).list().layer(new FrozenLayer(Nets.dense(0)))
                .layer(new FrozenLayer(Nets.dense(1)))
                .layer(new FrozenLayer(new DenseLayer.Builder().nOut(Nets.CLASSES).build()))
                .layer(new LossLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(Nets.INPUTS)).build());
    }

    // B20: freezing and un-freezing make another network, which is attached anew
    @ParameterizedTest(name = "{0}")
    @EnumSource(Setup.class)
    void unfreezingAndAttachingAgainTrainsEveryLayer(Setup setup) {
        MultiLayerNetwork[] last = new MultiLayerNetwork[2];
        for (int i = 0; i < 2; i++) {
            boolean ours = i == 1;
            MultiLayerNetwork whole = Nets.layers(new Adam(1e-2));
            train(whole, 0, setup, ours);
            MultiLayerNetwork tuned = new TransferLearning.Builder(whole).setFeatureExtractor(1).build();
            INDArray frozen = tuned.getParam("0_W").dup();
            train(tuned, 2, setup, ours);
            Numbers.assertSame(frozen, tuned.getParam("0_W"), "frozen weights");
            MultiLayerNetwork thawed = Nets.layers(new Adam(1e-2));
            thawed.setParams(tuned.params());
            train(thawed, 4, setup, ours);
            assertThat(thawed.getParam("0_W").equals(frozen)).as("weights as they were").isFalse();
            last[i] = thawed;
        }
        Numbers.assertSame(last[0], last[1], "trained, frozen, tuned, thawed and trained");
    }

    private static void train(MultiLayerNetwork net, int step, Setup setup, boolean attached) {
        if (!attached) {
            Nets.train(net, step, 2);
            return;
        }
        try (Device device = setup.open()) {
            try (MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
                Nets.train(net, step, 2);
                assertThat(ferry.metrics().iterations()).isEqualTo(2);
            }
            assertThat(device.metrics().openRegions()).isZero();
        }
    }

    private static Model network(String frozen, Nets.Kind kind) {
        Layer[] layers = {Nets.dense(0), Nets.dense(1), Nets.dense(2), Nets.softmax()};
        for (int i = 0; i < LAYERS; i++) {
            layers[i] = frozen.charAt(i) == 'F' ? new FrozenLayer(layers[i]) : layers[i];
        }
        InputType input = InputType.feedForward(Nets.INPUTS);
        // Weight decay must not reach a frozen layer either.
        var conf = Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).l2(0.1);
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(conf.list().layer(layers[0]).layer(layers[1]).layer(layers[2]).layer(layers[3]).setInputType(input)
                    .build());
        }
        return Nets.initialised(conf.graphBuilder().addInputs("in").setInputTypes(input).addLayer("0", layers[0], "in")
                .addLayer("1", layers[1], "0").addLayer("2", layers[2], "1").addLayer("3", layers[3], "2").setOutputs("3").build());
    }
}
