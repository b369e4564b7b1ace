package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.core.storage.Persistable;
import org.deeplearning4j.ui.model.stats.StatsListener;
import org.deeplearning4j.ui.model.stats.api.StatsReport;
import org.deeplearning4j.ui.model.stats.api.StatsType;
import org.deeplearning4j.ui.model.storage.InMemoryStatsStorage;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryListener;
import org.memferry.device.Device;
import org.memferry.parity.UserDenseLayer;
import org.memferry.parity.UserOutputLayer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a listener of somebody else sees of parameters, gradients and updates in the middle of an iteration: stock DL4J's values, in host
 * memory that stays, wherever the listener stands in the list.
 */
class GradientViewsTest {

    private static final int STEPS = 4;

    /** The networks: one frozen layer below a trained one, nothing frozen, and layers that nobody reads a table of. */
    enum Net {
        FROZEN, PLAIN, SAMEDIFF
    }

    static List<Arguments> everyCombination() {
        List<Arguments> all = new ArrayList<>();
        for (Net net : Net.values()) {
            for (Setup setup : Setup.values()) {
                for (boolean attachedByListener : new boolean[] {false, true}) {
                    all.add(Arguments.of(net, Nets.Kind.LAYERS, setup, attachedByListener));
                }
            }
            all.add(Arguments.of(net, Nets.Kind.GRAPH, Setup.PREFETCH, true));
            all.add(Arguments.of(net, Nets.Kind.GRAPH, Setup.MIXED, false));
        }
        return all;
    }

    // A60
    @ParameterizedTest(name = "{0}, {1}, {2}, attached by listener {3}")
    @MethodSource("everyCombination")
    void everyListenerSeesStocksGradientsInHostMemory(Net which, Nets.Kind kind, Setup setup, boolean attachedByListener) {
        Model stock = network(which, kind);
        Model net = network(which, kind);
        Observer stockFirst = new Observer(false);
        Observer stockLast = new Observer(false);
        Nets.setListeners(stock, stockFirst, stockLast);
        Observer first = new Observer(true);
        Observer last = new Observer(true);
        try (Device device = setup.open()) {
            String end = String.valueOf(which == Net.PLAIN ? 3 : 2);
            MemFerryListener ours = new MemFerryListener(setup.config(device, "0", end));
            MemFerry ferry = attachedByListener ? null : MemFerry.attach(net, setup.config(device, "0", end));
            if (attachedByListener) {
                Nets.setListeners(net, first, ours, last);
            } else {
                Nets.setListeners(net, first, last);
            }
            for (int step = 0; step < STEPS; step++) {
                Nets.fit(stock, data(which, step));
                Nets.fit(net, data(which, step));
                ferry = ferry == null ? ours.ferry() : ferry;
                first.assertSame(stockFirst, "first listener, step " + (step + 1));
                last.assertSame(stockLast, "last listener, step " + (step + 1));
                first.clear(stockFirst);
                last.clear(stockLast);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            // What a user keeps of the last gradient is stock's update, and stays so in the next forward pass.
            Map<String, double[]> kept = gradients(net);
            gradients(stock).forEach((key, values) -> assertThat(kept.get(key)).as("kept %s", key).isEqualTo(values));
            Nets.output(net, data(which, 9).getFeatures());
            gradients(net).forEach((key, values) -> assertThat(values).as("%s after inference", key).isEqualTo(kept.get(key)));
            ferry.close();
        }
    }

    private static Map<String, double[]> gradients(Model model) {
        Map<String, double[]> all = new LinkedHashMap<>();
        model.gradient().gradientForVariable().forEach((key, array) -> all.put(key, array == null ? null : Numbers.values(array)));
        return all;
    }

    static List<Arguments> someCombinations() {
        return List.of(Arguments.of(Net.FROZEN, Nets.Kind.LAYERS, Setup.HOST, false),
                Arguments.of(Net.FROZEN, Nets.Kind.LAYERS, Setup.PREFETCH, true),
                Arguments.of(Net.FROZEN, Nets.Kind.GRAPH, Setup.MIXED, false),
                Arguments.of(Net.PLAIN, Nets.Kind.LAYERS, Setup.MIXED, false),
                Arguments.of(Net.SAMEDIFF, Nets.Kind.GRAPH, Setup.RESIDENT, true));
    }

    // A60: the report
    @ParameterizedTest(name = "{0}, {1}, {2}, attached by listener {3}")
    @MethodSource("someCombinations")
    void statisticsWithHistogramsAtEveryIterationAreStocks(Net which, Nets.Kind kind, Setup setup, boolean attachedByListener) {
        Model stock = network(which, kind);
        Model net = network(which, kind);
        InMemoryStatsStorage stockStorage = new InMemoryStatsStorage();
        InMemoryStatsStorage storage = new InMemoryStatsStorage();
        Nets.setListeners(stock, new StatsListener(stockStorage, 1));
        try (Device device = setup.open()) {
            String end = String.valueOf(which == Net.PLAIN ? 3 : 2);
            MemFerryListener ours = new MemFerryListener(setup.config(device, "0", end));
            MemFerry ferry = attachedByListener ? null : MemFerry.attach(net, setup.config(device, "0", end));
            List<TrainingListener> listeners = new ArrayList<>(List.of(new StatsListener(storage, 1)));
            if (attachedByListener) {
                listeners.add(ours);
            }
            Nets.setListeners(net, listeners.toArray(new TrainingListener[0]));
            for (int step = 0; step < STEPS; step++) {
                Nets.fit(stock, data(which, step));
                Nets.fit(net, data(which, step));
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            List<StatsReport> expected = reports(stockStorage);
            List<StatsReport> actual = reports(storage);
            assertThat(actual).hasSameSizeAs(expected).hasSize(STEPS);
            for (int i = 0; i < STEPS; i++) {
                for (StatsType type : new StatsType[] {StatsType.Parameters, StatsType.Gradients, StatsType.Updates}) {
                    assertThat(actual.get(i).hasHistograms(type)).as("%s histograms", type).isEqualTo(expected.get(i).hasHistograms(type));
                    if (expected.get(i).hasHistograms(type)) {
                        assertThat(actual.get(i).getHistograms(type)).as("%s of iteration %d", type, i + 1)
                                .isEqualTo(expected.get(i).getHistograms(type));
                    }
                }
                assertThat(actual.get(i).getScore()).isEqualTo(expected.get(i).getScore());
            }
            ferry = ferry == null ? ours.ferry() : ferry;
            ferry.close();
        }
    }

    private static List<StatsReport> reports(InMemoryStatsStorage storage) {
        List<StatsReport> reports = new ArrayList<>();
        String session = storage.listSessionIDs().get(0);
        for (Persistable p : storage.getAllUpdatesAfter(session, StatsListener.TYPE_ID, 0)) {
            reports.add((StatsReport) p);
        }
        return reports;
    }

    private static DataSet data(Net which, int step) {
        return which == Net.SAMEDIFF ? new DataSet(Nets.gaussian(step, 5, 6), Nets.gaussian(90 + step, 5, 3)) : Nets.batch(step);
    }

    private static Model network(Net which, Nets.Kind kind) {
        if (which == Net.PLAIN) {
            return kind.create(new Adam(1e-2));
        }
        boolean sameDiff = which == Net.SAMEDIFF;
        Layer[] layers = sameDiff ? new Layer[] {new UserDenseLayer(6, 9), new UserDenseLayer(9, 7), new UserOutputLayer(7, 3)}
                : new Layer[] {new FrozenLayer(Nets.dense(0)), Nets.dense(1), Nets.softmax()};
        InputType input = InputType.feedForward(sameDiff ? 6 : Nets.INPUTS);
        var conf = Nets.configuration(new Adam(1e-2), WorkspaceMode.ENABLED);
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(conf.list().layer(layers[0]).layer(layers[1]).layer(layers[2]).setInputType(input).build());
        }
        return Nets.initialised(conf.graphBuilder().addInputs("in").setInputTypes(input).addLayer("0", layers[0], "in")
                .addLayer("1", layers[1], "0").addLayer("2", layers[2], "1").setOutputs("2").build());
    }

    /** Copies everything it can see at every event, and asks where the gradients lie. */
    private static final class Observer extends BaseTrainingListener {

        private final boolean checkAddresses;
        private final Map<String, double[]> seen = new LinkedHashMap<>();

        Observer(boolean checkAddresses) {
            this.checkAddresses = checkAddresses;
        }

        private void look(Model model, String event) {
            // The flat gradient vector is the host's: whatever is shown of a gradient must lie in it.
            INDArray flat = model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getGradientsViewArray()
                    : model.getGradientsViewArray();
            long start = flat.data().pointer().address();
            long end = start + flat.length() * flat.dataType().width();
            model.gradient().gradientForVariable().forEach((key, array) -> {
                seen.put(event + ", gradient of " + key, array == null ? null : Numbers.values(array));
                if (checkAddresses && array != null && MemFerry.of(model) != null) {
                    long address = array.data().pointer().address() + array.offset() * array.dataType().width();
                    assertThat(address).as("address of the gradient of %s at %s", key, event).isBetween(start, end - 1);
                }
            });
            model.paramTable().forEach((key, array) -> seen.put(event + ", parameter " + key, Numbers.values(array)));
            seen.put(event + ", flat parameters", Numbers.values(model.params()));
            seen.put(event + ", flat gradient", Numbers.values(model.gradient().gradient()));
        }

        @Override
        public void onGradientCalculation(Model model) {
            look(model, "onGradientCalculation");
        }

        @Override
        public void onBackwardPass(Model model) {
            look(model, "onBackwardPass");
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            look(model, "iterationDone");
        }

        void assertSame(Observer stock, String who) {
            assertThat(seen.keySet()).isEqualTo(stock.seen.keySet());
            stock.seen.forEach((key, values) -> assertThat(seen.get(key)).as("%s: %s", who, key).isEqualTo(values));
        }

        void clear(Observer stock) {
            seen.clear();
            stock.seen.clear();
        }
    }
}
