package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.MemFerry;
import org.nd4j.linalg.api.concurrency.AffinityManager;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;

/** Arrays over our memory stay where they are, whatever ND4J or DL4J is asked to do with them; values go on being stock DL4J's. */
class AddressesTest {

    // A64
    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"LAYERS, HOST", "LAYERS, RESIDENT", "LAYERS, MIXED", "GRAPH, HOST", "GRAPH, PREFETCH", "GRAPH, MIXED"})
    void noCallMovesAnArrayOverOurMemory(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            Map<String, Long> before = addresses(net);
            int step = 2;
            for (Map.Entry<String, Consumer<INDArray>> call : calls().entrySet()) {
                arrays(stock).values().forEach(call.getValue());
                arrays(net).values().forEach(call.getValue());
                assertThat(addresses(net)).as("addresses after %s", call.getKey()).isEqualTo(before);
                Numbers.assertSame(stock.params(), net.params(), "parameters after " + call.getKey());
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                step++;
                assertThat(addresses(net)).as("addresses after %s and a step", call.getKey()).isEqualTo(before);
                Numbers.assertSame(stock, net, "after " + call.getKey() + " and a step");
            }
            assertThat(ferry.metrics().unplannedReads()).isZero();
        }
    }

    // A64: the calls of DL4J that replace values
    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"LAYERS, HOST", "LAYERS, MIXED", "GRAPH, PREFETCH"})
    void settingParametersWritesInPlace(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(net, setup.config())) {
            Map<String, Long> before = addresses(net);
            for (Model model : new Model[] {stock, net}) {
                Nets.train(model, 0, 1);
                model.setParams(model.params().dup().muli(0.9));
                Nets.train(model, 1, 1);
                model.setParam("1_W", model.getParam("1_W").mul(1.1));
                Nets.train(model, 2, 1);
                Map<String, INDArray> table = new LinkedHashMap<>();
                model.paramTable().forEach((key, array) -> table.put(key, array.mul(0.95)));
                model.setParamTable(table);
                Nets.train(model, 3, 1);
                model.params().subi(1e-3);
                Nets.train(model, 4, 1);
                Nets.updaterState(model).muli(0.5);
                Nets.train(model, 5, 1);
            }
            assertThat(addresses(net)).isEqualTo(before);
            Numbers.assertSame(stock, net, "after every way to write");
            assertThat(ferry.metrics().iterations()).isEqualTo(6);
        }
    }

    private static Map<String, Consumer<INDArray>> calls() {
        AffinityManager affinity = Nd4j.getAffinityManager();
        Map<String, Consumer<INDArray>> calls = new LinkedHashMap<>();
        calls.put("dup", a -> {
            INDArray copy = a.dup();
            assertThat(copy.data().pointer().address()).as("address of the copy").isNotEqualTo(a.data().pointer().address());
        });
        calls.put("dup in a workspace", a -> {
            try (MemoryWorkspace ignored = Nd4j.getWorkspaceManager().getAndActivateWorkspace("AddressesTest")) {
                a.dup();
            }
        });
        calls.put("assign", a -> a.assign(a.mul(0.99)));
        calls.put("addi", a -> a.addi(1e-3));
        for (AffinityManager.Location location : AffinityManager.Location.values()) {
            calls.put("ensureLocation " + location, a -> affinity.ensureLocation(a, location));
            calls.put("tagLocation " + location, a -> affinity.tagLocation(a, location));
            calls.put("tagLocation of the buffer " + location, a -> affinity.tagLocation(a.data(), location));
        }
        calls.put("getActiveLocation", affinity::getActiveLocation);
        calls.put("detach", INDArray::detach);
        calls.put("leverage", INDArray::leverage);
        calls.put("migrate", INDArray::migrate);
        calls.put("reshape and write", a -> a.reshape(a.length()).muli(0.999));
        return calls;
    }

    private static Map<String, INDArray> arrays(Model model) {
        Map<String, INDArray> arrays = new LinkedHashMap<>(model.paramTable());
        arrays.put("flat", model.params());
        arrays.put("state", Nets.updaterState(model));
        return arrays;
    }

    private static Map<String, Long> addresses(Model model) {
        Map<String, Long> addresses = new LinkedHashMap<>();
        arrays(model).forEach((key, array) -> addresses.put(key, array.data().pointer().address()));
        INDArray gradients = model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getGradientsViewArray()
                : ((ComputationGraph) model).getGradientsViewArray();
        addresses.put("gradients", gradients.data().pointer().address());
        return addresses;
    }
}
