package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Sgd;

import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Attach, close, attach again, clone, compare: what a network is at each of these moments, and that nothing is left behind. */
class LifecycleTest {

    static List<Arguments> kindsAndSetups() {
        List<Arguments> all = new ArrayList<>();
        for (Nets.Kind kind : Nets.Kind.values()) {
            for (Setup setup : Setup.values()) {
                all.add(Arguments.of(kind, setup));
            }
        }
        return all;
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("kindsAndSetups")
    void attachingAndClosingAgainAndAgainLeavesNothingOnTheDevice(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (Device device = setup.open()) {
            DeviceMetrics metrics = device.metrics();
            long peakHost = 0;
            long peakSlab = 0;
            int step = 0;
            for (int round = 0; round < 4; round++) {
                MemFerry ferry = MemFerry.attach(net, setup.config(device));
                assertThat(metrics.openRegions()).as("regions while attached").isPositive();
                for (int i = 0; i < 2; i++, step++) {
                    Nets.train(stock, step, 1);
                    Nets.train(net, step, 1);
                    Numbers.assertSame(stock, net, "round " + round + ", step " + step);
                }
                ferry.close();
                ferry.close();
                assertThat(ferry.isOpen()).isFalse();
                assertThat(MemFerry.of(net)).isNull();
                assertThat(metrics.openRegions()).as("regions after close").isZero();
                assertThat(metrics.hostBytes()).as("host bytes after close").isZero();
                assertThat(metrics.slabBytes()).as("device bytes after close").isZero();
                if (round == 0) {
                    peakHost = metrics.peakHostBytes();
                    peakSlab = metrics.peakSlabBytes();
                }
                assertThat(metrics.peakHostBytes()).as("most host bytes, round %d", round).isEqualTo(peakHost);
                assertThat(metrics.peakSlabBytes()).as("most device bytes, round %d", round).isEqualTo(peakSlab);
                Nets.train(stock, step, 1);
                Nets.train(net, step++, 1);
                Numbers.assertSame(stock, net, "plain between two rounds");
            }
            device.close();
            assertThat(metrics.leakedRegions()).as("leaked regions").isZero();
        }
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("kindsAndSetups")
    void closingGivesBackAnOrdinaryNetwork(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        MemFerry ferry = MemFerry.attach(net, setup.config());
        INDArray attachedParams = net.params();
        Nets.train(stock, 0, 3);
        Nets.train(net, 0, 3);
        ferry.close();
        Numbers.assertSame(stock, net, "right after close");
        assertThat(net.params()).as("the parameter vector").isNotSameAs(attachedParams);
        assertThat(net.params().getClass()).as("class of the parameter vector").isEqualTo(stock.params().getClass());
        assertThat(net.params().shape()).as("shape of the parameter vector").isEqualTo(stock.params().shape());
        assertThat(net.getGradientsViewArray().shape()).isEqualTo(stock.getGradientsViewArray().shape());
        assertThat(Nets.updater(net).getClass()).isEqualTo(Nets.updater(stock).getClass());
        assertThat(Nets.listeners(net)).as("listeners").isEmpty();
        stock.paramTable().forEach((key, array) -> {
            assertThat(net.getParam(key).getClass()).as("class of %s", key).isEqualTo(array.getClass());
            Numbers.assertSame(array, net.getParam(key), key);
        });
        INDArray features = Nets.gaussian(77, 4, Nets.INPUTS);
        Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output");
        Nets.train(stock, 3, 3);
        Nets.train(net, 3, 3);
        Numbers.assertSame(stock, net, "trained on");
        // A write through the flat vector reaches the layers, as in any network.
        stock.params().muli(0.5);
        net.params().muli(0.5);
        Nets.train(stock, 6, 1);
        Nets.train(net, 6, 1);
        Numbers.assertSame(stock, net, "after a write to the flat vector");
    }

    // The memory is gone: reading it anyway must be an exception, not another program's bytes.
    @ParameterizedTest
    @EnumSource(Setup.class)
    void anArrayFromBeforeCloseSaysThatTheFerryIsClosed(Setup setup) {
        MultiLayerNetwork net = Nets.layers(new Adam(1e-2));
        MemFerry ferry = MemFerry.attach(net, setup.config());
        Nets.train(net, 0, 1);
        List<INDArray> held = new ArrayList<>(net.paramTable().values());
        held.addAll(List.of(net.params(), net.getLayer(1).params(), net.getParam("0_W"), net.getGradientsViewArray(),
                Nets.updaterState(net)));
        ferry.close();
        for (INDArray array : held) {
            assertThatThrownBy(array::sumNumber).hasStackTraceContaining("ferry that is closed");
            assertThatThrownBy(() -> array.addi(1)).hasStackTraceContaining("ferry that is closed");
            assertThatThrownBy(() -> array.getDouble(0)).hasStackTraceContaining("ferry that is closed");
        }
    }

    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void attachingTwiceIsRefusedByNameAndChangesNothing(Nets.Kind kind) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (Device device = Setup.MIXED.open(); MemFerry ferry = MemFerry.attach(net, Setup.PREFETCH.config())) {
            Nets.train(stock, 0, 1);
            Nets.train(net, 0, 1);
            assertThatThrownBy(() -> MemFerry.attach(net, Setup.MIXED.config(device))).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("attached already").hasMessageContaining("MemFerry.of");
            assertThatThrownBy(() -> MemFerry.init(net, Setup.MIXED.config(device))).isInstanceOf(RefusedException.class);
            assertThat(device.metrics().openRegions()).as("regions of the refused attachment").isZero();
            Nets.train(stock, 1, 2);
            Nets.train(net, 1, 2);
            Numbers.assertSame(stock, net, "after the refusal");
            assertThat(ferry.metrics().iterations()).isEqualTo(3);
        }
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("kindsAndSetups")
    void aCloneOfAnAttachedNetworkIsAPlainStockNetwork(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            Nets.train(stock, 0, 3);
            Nets.train(net, 0, 3);
            long host = device.metrics().hostBytes();
            Model stockClone = Nets.copy(stock);
            Model clone = Nets.copy(net);
            assertThat(MemFerry.of(clone)).isNull();
            assertThat(device.metrics().hostBytes()).as("host bytes").isEqualTo(host);
            assertThat(Nets.updater(clone).getClass())
                    .isEqualTo(kind == Nets.Kind.LAYERS ? MultiLayerUpdater.class : ComputationGraphUpdater.class);
            assertThat(clone.params().getClass()).isEqualTo(stockClone.params().getClass());
            Nets.train(stockClone, 10, 3);
            Nets.train(clone, 10, 3);
            Numbers.assertSame(stockClone, clone, "the clone");
            Nets.train(stock, 3, 2);
            Nets.train(net, 3, 2);
            Numbers.assertSame(stock, net, "the original");
            assertThat(ferry.metrics().iterations()).as("iterations of the ferry").isEqualTo(5);
        }
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("kindsAndSetups")
    void anAttachedNetworkEqualsAStockOneWithTheSameValuesAndNoOther(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            assertThat(net.equals(stock)).as("same parameters and state").isTrue();
            Nets.updaterState(stock).addi(1e-3);
            assertThat(net.equals(stock)).as("other state").isFalse();
            Nets.updaterState(stock).assign(Nets.updaterState(net));
            assertThat(net.equals(stock)).as("same state again").isTrue();
            stock.params().addi(1e-3);
            assertThat(net.equals(stock)).as("other parameters").isFalse();
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void anAttachedNetworkWithoutUpdaterStateEqualsAStockOne(Nets.Kind kind) {
        Model stock = kind.create(new Sgd(0.1));
        Model net = kind.create(new Sgd(0.1));
        try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            assertThat(net.equals(stock)).isTrue();
            assertThat(ferry.metrics().iterations()).isEqualTo(2);
        }
    }

    // DL4J's own close() frees the network's arrays: ours are not its to free, and the ferry gives them back itself.
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void closingTheNetworkInsteadOfTheFerryFreesNothingTwice(Nets.Kind kind) {
        Model net = kind.create(new Adam(1e-2));
        try (Device device = Setup.MIXED.open()) {
            MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config(device));
            Nets.train(net, 0, 2);
            double[] before = Numbers.values(net.params());
            if (net instanceof MultiLayerNetwork) {
                ((MultiLayerNetwork) net).close();
            } else {
                ((ComputationGraph) net).close();
            }
            assertThat(Numbers.values(net.params())).isEqualTo(before);
            ferry.close();
            assertThat(device.metrics().openRegions()).isZero();
            assertThat(device.metrics().leakedRegions()).isZero();
        }
    }
}
