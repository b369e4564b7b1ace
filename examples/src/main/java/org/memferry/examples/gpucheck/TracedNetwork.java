package org.memferry.examples.gpucheck;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.memferry.engine.AccessTrace;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Workload;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A network as it was seen training: what a planner has to know of it, and its accesses, so that it can be served again where there is no
 * DL4J. Kept as JSON beside this class; the test that reads these files trains the networks again and compares.
 */
public final class TracedNetwork {

    /** The networks that come with the check. */
    public static final List<String> NAMES = List.of("mlp12", "unequal", "transformer", "lstm", "cnn");

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String name;
    private final NetworkDescription network;
    /** Per layer: examples, or examples times places, that each weight is used for in forward. */
    private final double[] columns;
    private final AccessTrace trace;

    private TracedNetwork(String name, NetworkDescription network, double[] columns, AccessTrace trace) {
        this.name = name;
        this.network = network;
        this.columns = columns;
        this.trace = trace;
    }

    /** From a network that was recorded. */
    public static TracedNetwork of(String name, Workload workload, AccessTrace trace) {
        double[] columns = new double[workload.work().size()];
        for (int i = 0; i < columns.length; i++) {
            LayerWork work = workload.work().get(i);
            columns[i] = work.forwardFlops() / 2 / workload.network().layers().get(i).parameterCount();
        }
        return new TracedNetwork(name, workload.network(), columns, trace);
    }

    /** One of {@link #NAMES}. */
    public static TracedNetwork named(String name) {
        try (InputStream in = TracedNetwork.class.getResourceAsStream("traces/" + name + ".json")) {
            return parse(JSON.readTree(in));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String name() {
        return name;
    }

    NetworkDescription network() {
        return network;
    }

    AccessTrace trace() {
        return trace;
    }

    /** The dense product that stands for a layer. */
    Kernels.Shape shape(int layer) {
        return Kernels.Shape.of(network.layers().get(layer).parameterCount(), (int) Math.max(1, Math.round(columns[layer])));
    }

    /**
     * The same network with wider layers and another batch: the same accesses in the same order.
     *
     * @param parameterBytes of all layers, about
     * @param batchFactor    how many times the examples
     * @param mostColumns    that a layer computes on
     */
    TracedNetwork scaled(long parameterBytes, double batchFactor, int mostColumns) {
        double factor = (double) parameterBytes / network.parameterBytes();
        List<LayerDescription> layers = new ArrayList<>();
        long offset = 0;
        for (LayerDescription layer : network.layers()) {
            long count = Math.max(1, Math.round(layer.parameterCount() * factor));
            layers.add(like(layer, offset, count));
            offset += count;
        }
        double states = (double) network.updaterStateCount() / network.parameterCount();
        NetworkDescription larger = new NetworkDescription(layers, network.forwardOrder(), network.backwardOrder(), network.inferenceOrder(), offset,
                Math.round(offset * states), network.elementBytes());
        double[] wider = new double[columns.length];
        for (int i = 0; i < wider.length; i++) {
            wider[i] = Math.min(mostColumns, columns[i] * batchFactor);
        }
        return new TracedNetwork(name, larger, wider, trace);
    }

    private static LayerDescription like(LayerDescription layer, long offset, long count) {
        return LayerDescription.builder(layer.name(), layer.type()).parameters(offset, count)
                .gradientCount(layer.gradientCount() == 0 ? 0 : count).gradientWritten(layer.gradientWritten())
                .gradientInPlace(layer.gradientInPlace()).fixedSlot(layer.fixedSlot()).writtenAfterUpdate(layer.writtenAfterUpdate())
                .readAfterBackward(layer.readAfterBackward()).touches(layer.forwardTouches(), layer.backwardTouches()).build();
    }

    /** As the files beside this class have it. */
    public String json() throws IOException {
        ObjectNode root = JSON.createObjectNode().put("format", "memferry-traced-network").put("version", 1).put("name", name);
        ArrayNode layers = root.putArray("layers");
        for (int i = 0; i < columns.length; i++) {
            LayerDescription layer = network.layers().get(i);
            layers.addObject().put("name", layer.name()).put("type", layer.type()).put("parameters", layer.parameterCount())
                    .put("gradient", layer.gradientCount()).put("gradientWritten", layer.gradientWritten())
                    .put("gradientInPlace", layer.gradientInPlace()).put("fixedSlot", layer.fixedSlot())
                    .put("writtenAfterUpdate", layer.writtenAfterUpdate()).put("readAfterBackward", layer.readAfterBackward())
                    .put("forwardTouches", layer.forwardTouches()).put("backwardTouches", layer.backwardTouches()).put("columns", columns[i]);
        }
        put(root, "forward", network.forwardOrder());
        put(root, "backward", network.backwardOrder());
        put(root, "inference", network.inferenceOrder());
        root.put("updaterState", network.updaterStateCount());
        ArrayNode lines = root.putArray("trace");
        trace.toString().lines().forEach(lines::add);
        return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n";
    }

    private static void put(ObjectNode root, String name, int[] order) {
        ArrayNode array = root.putArray(name);
        IntStream.of(order).forEach(array::add);
    }

    private static TracedNetwork parse(JsonNode root) {
        List<LayerDescription> layers = new ArrayList<>();
        List<Double> columns = new ArrayList<>();
        long offset = 0;
        for (JsonNode layer : root.get("layers")) {
            layers.add(LayerDescription.builder(layer.get("name").asText(), layer.get("type").asText())
                    .parameters(offset, layer.get("parameters").asLong()).gradientCount(layer.get("gradient").asLong())
                    .gradientWritten(layer.get("gradientWritten").asBoolean()).gradientInPlace(layer.get("gradientInPlace").asBoolean())
                    .fixedSlot(layer.get("fixedSlot").asBoolean()).writtenAfterUpdate(layer.get("writtenAfterUpdate").asBoolean())
                    .readAfterBackward(layer.get("readAfterBackward").asBoolean())
                    .touches(layer.get("forwardTouches").asInt(), layer.get("backwardTouches").asInt()).build());
            columns.add(layer.get("columns").asDouble());
            offset += layer.get("parameters").asLong();
        }
        NetworkDescription network = new NetworkDescription(layers, order(root, "forward"), order(root, "backward"), order(root, "inference"), offset,
                root.get("updaterState").asLong(), Float.BYTES);
        List<String> lines = new ArrayList<>();
        root.get("trace").forEach(line -> lines.add(line.asText()));
        return new TracedNetwork(root.get("name").asText(), network, columns.stream().mapToDouble(Double::doubleValue).toArray(),
                AccessTrace.parse(String.join("\n", lines)));
    }

    private static int[] order(JsonNode root, String name) {
        List<Integer> order = new ArrayList<>();
        root.get(name).forEach(layer -> order.add(layer.asInt()));
        return order.stream().mapToInt(Integer::intValue).toArray();
    }
}
