package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.memferry.base.RefusedException;
import org.memferry.plan.Hardware;
import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Workload;
import org.memferry.planner.Estimate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tells the {@link Workload} of a network that need not be initialised, let alone run. The parameters take address space for a moment, and
 * no memory.
 */
public final class NetworkWork {

    private NetworkWork() {
    }

    /**
     * Describes a network for one shape of batch.
     *
     * @param network a MultiLayerNetwork or ComputationGraph
     * @param batch   examples in an iteration
     * @param types   one per network input, with the length of time where there is one
     * @throws RefusedException if the network is of a kind that is not served, or the types do not fit it
     */
    public static Workload of(Model network, int batch, InputType... types) {
        NetworkAdapter adapter = NetworkAdapter.of(network);
        Support.checkConfiguration(adapter);
        List<LayerShape> shapes = new ArrayList<>();
        NetworkDescription description = Ferry.describe(adapter, twin -> shapes.addAll(shapes(twin, batch, types)));
        IterationMemory memory = TrainingMemory.of(adapter, types).of(batch, 0);
        return new Workload(adapter.key(batch, types), withTouches(description, shapes), work(description, shapes, batch), memory);
    }

    /**
     * What each layer with parameters computes for a batch, and the bytes that it puts out. What has no parameters belongs to the visit before
     * it, as a measured profile has it.
     *
     * @param shapes of all layers, with or without parameters, in the order in which they compute
     */
    static List<LayerWork> work(NetworkDescription network, List<LayerShape> shapes, int batch) {
        Map<String, Integer> units = new HashMap<>();
        for (int i = 0; i < network.layers().size(); i++) {
            units.put(network.layers().get(i).name(), i);
        }
        LayerWork[] work = new LayerWork[network.layers().size()];
        List<LayerWork> waiting = new ArrayList<>();
        int last = -1;
        for (LayerShape shape : shapes) {
            Integer unit = units.get(shape.name);
            long parameters = unit == null ? 0 : network.layers().get(unit).parameterCount();
            waiting.add(LayerFormulas.of(shape, parameters, batch, network.elementBytes()));
            last = unit == null ? last : unit;
            if (last >= 0) {
                work[last] = sum(work[last], waiting);
                waiting.clear();
            }
        }
        return List.of(work);
    }

    /**
     * Estimates what training a network takes; nothing is initialised, run or allocated but what {@link #of} takes.
     *
     * @param network  a MultiLayerNetwork or ComputationGraph
     * @param batch    examples in an iteration
     * @param hardware the device
     * @param types    one per network input, with the length of time where there is one
     * @throws RefusedException if the network is of a kind that is not served, or batch and types do not fit it
     */
    public static Estimate estimate(Model network, int batch, Hardware hardware, InputType... types) {
        if (batch < 1) {
            throw new RefusedException("batch: " + batch + " (expected: at least 1 example in an iteration to estimate)");
        }
        Workload workload = of(network, batch, types);
        TrainingMemory memory = TrainingMemory.of(NetworkAdapter.of(network), types);
        return Estimate.of(workload, batch, examples -> memory.of(examples, 0), hardware);
    }

    private static List<LayerShape> shapes(NetworkAdapter twin, int batch, InputType[] types) {
        List<LayerShape> shapes;
        try {
            shapes = twin.shapes(types);
        } catch (RuntimeException e) {
            throw new RefusedException("batch " + batch + " of " + Arrays.toString(types) + " does not fit the network: " + e.getMessage()
                    + " (expected: one input type per network input, of the kind that the first layers take)");
        }
        for (LayerShape shape : shapes) {
            if (!shape.output.lengthKnown()) {
                throw new RefusedException("layer " + shape.name + " puts out a series of unknown length for " + Arrays.toString(types)
                        + " (expected: InputType.recurrent(size, steps) with at least 1 step)");
            }
        }
        return shapes;
    }

    /** The same network with the touches that its layers have for series of the length that the shapes tell. */
    static NetworkDescription withTouches(NetworkDescription network, List<LayerShape> shapes) {
        Map<String, LayerShape> byName = new HashMap<>();
        shapes.forEach(shape -> byName.put(shape.name, shape));
        List<LayerDescription> layers = new ArrayList<>();
        for (LayerDescription layer : network.layers()) {
            LayerShape shape = byName.get(layer.name());
            layers.add(shape == null || !shape.output.lengthKnown() ? layer : timed(layer, shape));
        }
        return withLayers(network, layers);
    }

    private static NetworkDescription withLayers(NetworkDescription network, List<LayerDescription> layers) {
        return new NetworkDescription(layers, network.forwardOrder(), network.backwardOrder(), network.inferenceOrder(),
                network.parameterCount(), network.updaterStateCount(), network.elementBytes());
    }

    private static LayerDescription timed(LayerDescription layer, LayerShape shape) {
        int steps = LayerFormulas.forwardTouches(shape);
        // Backward of a recurrent layer runs forward again, step by step, and then reads the weights once more in each.
        return LayerFormulas.isRecurrent(shape) ? layer.withTouches(steps, Math.multiplyExact(2, steps)) : layer;
    }

    private static LayerWork sum(LayerWork first, List<LayerWork> more) {
        double forward = first == null ? 0 : first.forwardFlops();
        double backward = first == null ? 0 : first.backwardFlops();
        long bytes = first == null ? 0 : first.activationBytes();
        for (LayerWork work : more) {
            forward += work.forwardFlops();
            backward += work.backwardFlops();
            bytes = Math.addExact(bytes, work.activationBytes());
        }
        return new LayerWork(forward, backward, bytes);
    }
}
