package org.memferry.network;

import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.memferry.nd4j.RegionArrays;
import org.memferry.plan.IterationMemory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/**
 * What DL4J will hold on the device in an iteration, told without running it: the workspaces that its two kinds of network open, in the
 * order in which they open them, filled with what {@link LayerMemory} says of each layer. One workspace has all activations until the
 * iteration ends; one has the working memory of the layer that computes, and keeps the size of the largest; activation gradients are in as
 * many as live at once, which a graph hands round like a pool, and each of these also keeps its largest size. An evaluation puts its
 * activations into those ({@link InferenceMemory}), while all that training kept is still there. A workspace takes a little more than was
 * asked of it, by its configuration ({@value #OVER_ACTIVATIONS} or {@value #OVER_OTHERS} of it). Without workspaces everything is garbage
 * until it is collected, and counts.
 *
 * <p>Not in it: arrays of the past that wait for a collection, and data sets that are fetched ahead.
 */
final class TrainingMemory {

    private static final double OVER_ACTIVATIONS = 0.05;
    private static final double OVER_OTHERS = 0.02;
    private static final String SOURCE = "what DL4J's layers put into its workspaces";

    private final List<LayerShape> shapes;
    private final Map<String, Layer> layers = new HashMap<>();
    private final boolean graph;
    private final boolean workspaces;
    private final boolean inferenceWorkspaces;
    private final int elementBytes;
    private final long dataPerExample;
    /** Lowest layer that backward reaches. */
    private final int lowest;

    private TrainingMemory(NetworkAdapter adapter, InputType[] types, int steps) {
        this.shapes = adapter.shapes(segments(types, steps));
        this.graph = adapter instanceof GraphAdapter;
        this.workspaces = adapter.trainingWorkspaces() != WorkspaceMode.NONE;
        this.inferenceWorkspaces = adapter.inferenceWorkspaces() != WorkspaceMode.NONE;
        this.elementBytes = RegionArrays.elementBytes(adapter.dataType());
        this.dataPerExample = data(types, steps == 0 ? shapes : adapter.shapes(types));
        int first = 0;
        for (int i = 0; i < shapes.size(); i++) {
            layers.put(shapes.get(i).name, shapes.get(i).layer);
            // DL4J's backward pass through layers in a row ends at the first frozen one it meets.
            first = !graph && LayerMemory.isFrozen(shapes.get(i)) ? i + 1 : first;
        }
        this.lowest = first;
    }

    /**
     * Looks at a network, initialised or not.
     *
     * @throws RuntimeException whatever DL4J throws where the types do not fit the network
     */
    static TrainingMemory of(NetworkAdapter adapter, InputType[] types) {
        return new TrainingMemory(adapter, types, adapter.segmentSteps());
    }

    /** As {@link #of}, for data that is not cut into segments of time whatever the configuration says, as where it is evaluated. */
    static TrainingMemory inOne(NetworkAdapter adapter, InputType[] types) {
        return new TrainingMemory(adapter, types, 0);
    }

    static InputType[] segments(InputType[] types, int steps) {
        InputType[] cut = types.clone();
        for (int i = 0; i < cut.length; i++) {
            if (steps > 0 && cut[i] instanceof InputType.InputTypeRecurrent) {
                InputType.InputTypeRecurrent series = (InputType.InputTypeRecurrent) cut[i];
                cut[i] = InputType.recurrent(series.getSize(), Math.min(steps, series.getTimeSeriesLength()), series.getFormat());
            }
        }
        return cut;
    }

    /** Features, and labels of the size that the last layers put out. */
    private static long data(InputType[] types, List<LayerShape> whole) {
        long elements = 0;
        for (InputType type : types) {
            elements = Math.addExact(elements, LayerShape.Flow.of(type).elements());
        }
        for (LayerShape shape : whole) {
            boolean last = whole.stream().noneMatch(other -> other.sources.contains(shape.name));
            elements = Math.addExact(elements, last ? shape.output.elements() : 0);
        }
        return elements;
    }

    /**
     * The memory of an iteration, and of evaluation in between.
     *
     * @param batch      examples in an iteration
     * @param evaluation examples that are evaluated at once; 0 for none
     */
    IterationMemory of(int batch, int evaluation) {
        Sum sum = new Sum();
        train(sum, batch);
        evaluate(sum, evaluation);
        return sum.memory();
    }

    /** Adds an iteration that trains. */
    void train(Sum sum, int batch) {
        List<LayerMemory> training = memories(batch);
        Pools gradients = workspaces ? sum.pools : new Pools();
        backward(training, gradients);
        long kept = 0;
        long working = 0;
        for (int i = 0; i < training.size(); i++) {
            LayerMemory memory = training.get(i);
            kept = Math.addExact(kept, workspaces ? over(memory.kept(), OVER_ACTIVATIONS) : memory.kept());
            kept = Math.addExact(kept, memory.loose());
            long own = Math.max(isLast(i) ? 0 : memory.forward(), i < lowest ? 0 : memory.backward());
            working = workspaces ? Math.max(working, own) : Math.addExact(working, memory.forward() + memory.backward());
            sum.loop = Math.max(sum.loop, memory.loop());
            sum.operation = Math.max(sum.operation, memory.operation());
        }
        sum.elementBytes = elementBytes;
        sum.kept = Math.max(sum.kept, kept);
        sum.working(working, workspaces);
        sum.garbage = Math.max(sum.garbage, workspaces ? 0 : gradients.all);
        sum.data = Math.max(sum.data, Math.multiplyExact(dataPerExample, (long) batch));
    }

    /** Adds an evaluation between iterations; 0 examples for none. */
    void evaluate(Sum sum, int examples) {
        if (examples == 0) {
            return;
        }
        List<InferenceMemory> inference = new ArrayList<>();
        for (LayerShape shape : shapes) {
            inference.add(InferenceMemory.of(shape, producer(shape), graph, examples));
        }
        Pools activations = inferenceWorkspaces ? sum.pools : new Pools();
        forward(inference, activations);
        long results = 0;
        long working = 0;
        for (int i = 0; i < shapes.size(); i++) {
            long own = Math.addExact(inference.get(i).working(isFirst(i)), behind(i, inference, InferenceMemory::workingBefore));
            working = inferenceWorkspaces ? Math.max(working, own) : Math.addExact(working, own);
            results = Math.addExact(results, isLast(i) ? elements(shapes.get(i), examples) : 0);
        }
        for (LayerMemory memory : memories(examples)) {
            sum.loop = Math.max(sum.loop, memory.loop());
            sum.operation = Math.max(sum.operation, memory.operation());
        }
        sum.elementBytes = elementBytes;
        sum.working(working, inferenceWorkspaces);
        sum.garbage = Math.max(sum.garbage, inferenceWorkspaces ? 0 : activations.all);
        sum.data = Math.max(sum.data, Math.addExact(Math.multiplyExact(dataPerExample, (long) examples), results));
    }

    /** What the preprocessors of the layers behind one leave with it. */
    private long behind(int i, List<InferenceMemory> memories, ToLongFunction<InferenceMemory> left) {
        long sum = 0;
        for (int j = i + 1; j < shapes.size(); j++) {
            sum = Math.addExact(sum, shapes.get(j).sources.get(0).equals(shapes.get(i).name) ? left.applyAsLong(memories.get(j)) : 0);
        }
        return sum;
    }

    /**
     * What iterations and evaluations of several shapes come to hold, one after the other: a workspace keeps the size of the largest, and
     * what is outside of workspaces is that of the largest at a time. Elements.
     */
    static final class Sum {

        /** Of activation gradients in training, of activations in evaluations. */
        private final Pools pools = new Pools();
        private int elementBytes;
        private long data;
        private long kept;
        private long working;
        private long loop;
        private long operation;
        /** What would be in the pools, and what would be in the working memory, where there are no workspaces. */
        private long garbage;
        private long workingGarbage;

        private void working(long elements, boolean workspaces) {
            working = Math.max(working, workspaces ? over(elements, OVER_OTHERS) : 0);
            workingGarbage = Math.max(workingGarbage, workspaces ? 0 : elements);
        }

        IterationMemory memory() {
            return new IterationMemory(bytes(data), bytes(kept), bytes(over(pools.elements(), OVER_OTHERS) + garbage),
                    bytes(working + workingGarbage + loop + operation), SOURCE);
        }

        private long bytes(long elements) {
            return Math.multiplyExact(elements, (long) elementBytes);
        }
    }

    private static long over(long elements, double share) {
        return elements + (long) (elements * share);
    }

    private static long elements(LayerShape shape, int batch) {
        return Math.multiplyExact(shape.output.elements(), (long) batch);
    }

    private List<LayerMemory> memories(int batch) {
        List<LayerMemory> all = new ArrayList<>();
        for (int i = 0; i < shapes.size(); i++) {
            all.add(LayerMemory.of(shapes.get(i), producer(shapes.get(i)), graph || i == 0, batch));
        }
        return all;
    }

    /** Configuration of the layer that makes the first input; null if that is no layer. */
    private Layer producer(LayerShape shape) {
        return layers.get(shape.sources.get(0));
    }

    private boolean isFirst(int i) {
        return shapes.stream().noneMatch(other -> other.name.equals(shapes.get(i).sources.get(0)));
    }

    private boolean isLast(int i) {
        return shapes.stream().noneMatch(other -> other.sources.contains(shapes.get(i).name));
    }

    /** Layers in a row take turns with two workspaces; a graph takes a free one, and frees it when all vertices before it have read it. */
    private void backward(List<LayerMemory> memories, Pools pools) {
        if (!graph) {
            for (int i = lowest; i < memories.size(); i++) {
                pools.put(i % 2, memories.get(i).gradients());
            }
            return;
        }
        Map<String, Integer> position = positions();
        pools.giveAll();
        Map<Integer, List<Integer>> free = new HashMap<>();
        for (int i = shapes.size() - 1; i >= 0; i--) {
            if (!LayerMemory.isFrozen(shapes.get(i))) {
                int pool = pools.take();
                pools.put(pool, memories.get(i).gradients());
                int end = shapes.get(i).sources.stream().mapToInt(source -> position.getOrDefault(source, -1)).min().orElse(-1);
                free.computeIfAbsent(end, key -> new ArrayList<>()).add(pool);
            }
            free.getOrDefault(i, List.of()).forEach(pools::give);
        }
    }

    /** As backward, with what each layer puts out when nothing is kept for backward. */
    private void forward(List<InferenceMemory> memories, Pools pools) {
        if (!graph) {
            for (int i = 0; i < memories.size(); i++) {
                pools.put(i % 2, activations(i, memories));
            }
            return;
        }
        Map<String, Integer> position = positions();
        int[] readBy = new int[shapes.size()];
        for (int i = 0; i < readBy.length; i++) {
            for (String source : shapes.get(i).sources) {
                if (position.containsKey(source)) {
                    readBy[position.get(source)] = i;
                }
            }
        }
        pools.giveAll();
        Map<Integer, List<Integer>> free = new HashMap<>();
        for (int i = 0; i < readBy.length; i++) {
            int pool = pools.take();
            pools.put(pool, activations(i, memories));
            free.computeIfAbsent(Math.max(i, readBy[i]), key -> new ArrayList<>()).add(pool);
            free.getOrDefault(i, List.of()).forEach(pools::give);
        }
    }

    private long activations(int i, List<InferenceMemory> memories) {
        return Math.addExact(memories.get(i).activations(isFirst(i), isLast(i)), behind(i, memories, InferenceMemory::before));
    }

    private Map<String, Integer> positions() {
        Map<String, Integer> position = new HashMap<>();
        for (int i = 0; i < shapes.size(); i++) {
            position.put(shapes.get(i).name, i);
        }
        return position;
    }

    /** Workspaces for activation gradients by number, each as large as the most it ever held. */
    private static final class Pools {

        private final List<Long> largest = new ArrayList<>();
        private final Deque<Integer> free = new ArrayDeque<>();
        /** Everything that was ever put. */
        private long all;

        void put(int pool, long elements) {
            while (largest.size() <= pool) {
                largest.add(0L);
            }
            largest.set(pool, Math.max(largest.get(pool), elements));
            all = Math.addExact(all, elements);
        }

        int take() {
            if (!free.isEmpty()) {
                return free.pop();
            }
            largest.add(0L);
            return largest.size() - 1;
        }

        void give(int pool) {
            free.push(pool);
        }

        void giveAll() {
            free.clear();
            for (int i = largest.size() - 1; i >= 0; i--) {
                free.push(i);
            }
        }

        long elements() {
            return largest.stream().mapToLong(Long::longValue).sum();
        }
    }
}
