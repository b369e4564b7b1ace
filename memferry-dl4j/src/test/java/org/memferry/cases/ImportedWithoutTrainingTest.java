package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.modelimport.keras.KerasModelImport;
import org.deeplearning4j.nn.modelimport.keras.exceptions.InvalidKerasConfigurationException;
import org.deeplearning4j.nn.modelimport.keras.exceptions.UnsupportedKerasConfigurationException;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

/** Networks that come without a training configuration, as Keras import makes them: no loss, perhaps no updater. */
class ImportedWithoutTrainingTest {

    @TempDir
    private Path directory;

    // A83
    @ParameterizedTest
    @EnumSource(Setup.class)
    void anImportedNetworkWithoutLossAttachesForInferenceAndFitFailsAsInStock(Setup setup) throws Exception {
        ComputationGraph stock = imported();
        ComputationGraph net = imported();
        net.setParams(stock.params());
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device, "left", "top"))) {
            for (int i = 0; i < 3; i++) {
                INDArray features = Nets.gaussian(i, 3, Nets.INPUTS);
                Numbers.assertSame(stock.outputSingle(features), net.outputSingle(features), "output " + i);
            }
            Throwable expected = catchThrowable(() -> stock.fit(Nets.batch(0)));
            assertThat(expected).as("what DL4J says to fitting without a loss").isNotNull();
            assertThatThrownBy(() -> net.fit(Nets.batch(0))).isInstanceOf(expected.getClass()).hasMessage(expected.getMessage());
            INDArray features = Nets.gaussian(7, 3, Nets.INPUTS);
            Numbers.assertSame(stock.outputSingle(features), net.outputSingle(features), "output after the failed fit");
            Numbers.assertSame(stock.params(), net.params(), "parameters after the failed fit");
            assertThat(ferry.metrics().iterations()).isZero();
        }
        INDArray features = Nets.gaussian(8, 3, Nets.INPUTS);
        Numbers.assertSame(stock.outputSingle(features), net.outputSingle(features), "output after close");
    }

    private ComputationGraph imported() throws IOException, InvalidKerasConfigurationException, UnsupportedKerasConfigurationException {
        Path json = directory.resolve("keras.json");
        try (InputStream in = getClass().getResourceAsStream("keras-functional.json")) {
            Files.write(json, in.readAllBytes());
        }
        ComputationGraphConfiguration configuration = KerasModelImport.importKerasModelConfiguration(json.toString());
        ComputationGraph net = new ComputationGraph(configuration);
        net.init();
        return net;
    }

    // A83: the same class of network, without an updater in one layer
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void aLayerWithoutUpdaterIsNamedAndNothingIsTouched(Nets.Kind kind) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        for (Model model : new Model[] {stock, net}) {
            BaseLayer second = (BaseLayer) Nets.layer(model, 1).conf().getLayer();
            second.setIUpdater(null);
            second.setBiasUpdater(null);
        }
        try (Device device = Setup.MIXED.open()) {
            assertThatThrownBy(() -> MemFerry.attach(net, Setup.MIXED.config(device))).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("no updater").hasMessageContaining("layer 1").hasMessageContaining("DenseLayer")
                    .hasMessageContaining("'W'").hasMessageContaining(".updater(");
            assertThat(device.metrics().openRegions()).isZero();
        }
        assertThat(MemFerry.of(net)).isNull();
        INDArray features = Nets.gaussian(7, 3, Nets.INPUTS);
        Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output after the refusal");
        ((BaseLayer) Nets.layer(stock, 1).conf().getLayer()).setIUpdater(new Adam(1e-2));
        ((BaseLayer) Nets.layer(net, 1).conf().getLayer()).setIUpdater(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            Numbers.assertSame(stock, net, "with an updater");
            assertThat(ferry.metrics().iterations()).isEqualTo(2);
        }
    }

    // A83: a graph put together by hand that has no output layer
    @ParameterizedTest
    @EnumSource(value = Setup.class, names = {"HOST", "PREFETCH"})
    void aGraphWithoutOutputLayerServesInference(Setup setup) {
        ComputationGraph stock = headless();
        ComputationGraph net = headless();
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device, "0", "1"))) {
            INDArray features = Nets.gaussian(1, 3, Nets.INPUTS);
            Numbers.assertSame(stock.outputSingle(features), net.outputSingle(features), "output");
            Throwable expected = catchThrowable(() -> stock.fit(Nets.batch(0)));
            assertThatThrownBy(() -> net.fit(Nets.batch(0))).isInstanceOf(expected.getClass()).hasMessage(expected.getMessage());
            Numbers.assertSame(stock.outputSingle(features), net.outputSingle(features), "output after the failed fit");
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    private static ComputationGraph headless() {
        return Nets.initialised(Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED).graphBuilder().addInputs("in")
                .setInputTypes(InputType.feedForward(Nets.INPUTS)).addLayer("0", Nets.dense(0), "in").addLayer("1", Nets.dense(1), "0")
                .setOutputs("1").validateOutputLayerConfig(false).build());
    }
}
