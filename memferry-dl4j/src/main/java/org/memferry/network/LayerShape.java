package org.memferry.network;

import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.StackVertex;
import org.deeplearning4j.nn.conf.graph.UnstackVertex;
import org.deeplearning4j.nn.conf.graph.rnn.DuplicateToTimeSeriesVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What goes into a layer or vertex and what comes out, for one example. DL4J's input types forget how many steps of time a preprocessor has
 * folded into the examples; a {@link Flow} remembers.
 */
final class LayerShape {

    /** Index in a MultiLayerNetwork, vertex name in a graph. */
    final String name;
    /** The layer's configuration; null for a vertex that is not one. */
    final Layer layer;
    /** The vertex's configuration; null for a layer. */
    final GraphVertex vertex;
    /** Changes the form of what comes in; null for none. */
    final InputPreProcessor preProcessor;
    /** Names of the layers, vertices or network inputs that the inputs come from. */
    final List<String> sources;
    /** What comes in, behind the preprocessor. */
    final List<Flow> inputs;
    final Flow output;

    private LayerShape(String name, Layer layer, GraphVertex vertex, InputPreProcessor preProcessor, List<String> sources,
            List<Flow> inputs, Flow output) {
        this.name = name;
        this.layer = layer;
        this.vertex = vertex;
        this.preProcessor = preProcessor;
        this.sources = List.copyOf(sources);
        this.inputs = List.copyOf(inputs);
        this.output = output;
    }

    /** Input types that are not those of the network. */
    static final class Mismatch extends IllegalArgumentException {

        private static final long serialVersionUID = 1L;

        Mismatch(String message) {
            super(message);
        }
    }

    /**
     * Refuses another number of input types than the network has inputs.
     *
     * @throws Mismatch if they differ
     */
    static void requireInputs(int inputs, InputType[] types) {
        if (types.length != inputs) {
            throw new Mismatch("the network has " + inputs + " inputs, " + types.length + " input types are named");
        }
    }

    private static InputType outputType(String name, int index, Layer layer, Flow input) {
        try {
            return layer.getOutputType(index, input.type);
        } catch (IllegalStateException | IllegalArgumentException e) {
            throw new Mismatch("layer " + name + " does not take " + input.type + ": " + e.getMessage());
        }
    }

    /**
     * @param preProcessor may be null
     * @param source       where the input comes from
     */
    static LayerShape layer(String name, int index, Layer layer, InputPreProcessor preProcessor, String source, Flow before) {
        Flow input = preProcessor == null ? before : before.through(preProcessor.getOutputType(before.type), true);
        if (layer instanceof DenseLayer && ((DenseLayer) layer).getNIn() != input.size()) {
            // DL4J checks this only when it computes.
            throw new Mismatch("layer " + name + " takes " + ((DenseLayer) layer).getNIn() + " inputs, " + input.size() + " come in");
        }
        Flow output = input.through(outputType(name, index, layer, input), false);
        if (layer instanceof GlobalPoolingLayer && output.type instanceof InputType.InputTypeRecurrent) {
            // DL4J tells the type of what comes in; time is pooled.
            output = new Flow(output.type, output.rows, 1, output.stacked);
        }
        if (layer instanceof EmbeddingSequenceLayer && ((EmbeddingSequenceLayer) layer).isInferInputLength()) {
            // DL4J tells the length of the configuration; the layer goes by that of the data.
            output = output.lasting(input.words(((EmbeddingSequenceLayer) layer).getNIn()));
        }
        return new LayerShape(name, layer, null, preProcessor, List.of(source), List.of(input), output);
    }

    /**
     * @param sources where the inputs come from
     * @param flows   of all vertices before this one, by name
     */
    static LayerShape vertex(String name, int index, GraphVertex vertex, List<String> sources, Map<String, Flow> flows) {
        List<Flow> inputs = sources.stream().map(flows::get).collect(Collectors.toList());
        InputType[] types = inputs.stream().map(input -> input.type).toArray(InputType[]::new);
        Flow output = inputs.get(0).through(vertex.getOutputType(index, types), false);
        if (vertex instanceof DuplicateToTimeSeriesVertex) {
            long steps = flows.get(((DuplicateToTimeSeriesVertex) vertex).getInputName()).steps;
            output = new Flow(output.type, output.rows, steps, output.stacked);
        } else if (vertex instanceof StackVertex) {
            output = new Flow(output.type, output.rows, output.steps, Math.multiplyExact(output.stacked, (long) inputs.size()));
        } else if (vertex instanceof UnstackVertex) {
            output = new Flow(output.type, output.rows, output.steps, output.stacked / ((UnstackVertex) vertex).getStackSize());
        }
        return new LayerShape(name, null, vertex, null, sources, inputs, output);
    }

    /** An array between layers: its type, and how many rows of its first dimension belong to one example. */
    static final class Flow {

        final InputType type;
        /** Steps of time that were folded into the examples; 1 if none. */
        private final long rows;
        /** Steps of time that the array has or had; 0 before there were any. */
        final long steps;
        /** Batches that were stacked on one another; 1 if none. */
        private final long stacked;

        private Flow(InputType type, long rows, long steps, long stacked) {
            this.type = type;
            this.rows = rows;
            this.steps = steps;
            this.stacked = stacked;
        }

        static Flow of(InputType type) {
            return new Flow(type, 1, stepsOf(type), 1);
        }

        /** Words that come by their number, one for each step of time or in the columns of a row; 0 if nobody has said how many. */
        private long words(long vocabulary) {
            return type instanceof InputType.InputTypeRecurrent ? steps : size() == vocabulary ? 0 : size();
        }

        /** The same series for another number of steps; for 0 as it is. */
        private Flow lasting(long length) {
            InputType.InputTypeRecurrent series = (InputType.InputTypeRecurrent) type;
            return length == 0 ? this : new Flow(InputType.recurrent(series.getSize(), length, series.getFormat()), rows, length, stacked);
        }

        private static long stepsOf(InputType type) {
            return type instanceof InputType.InputTypeRecurrent
                    ? Math.max(0, ((InputType.InputTypeRecurrent) type).getTimeSeriesLength()) : 0;
        }

        /**
         * @param folds whether time that is gone from the type has become examples: so by a preprocessor; a layer sums it up or picks one
         */
        private Flow through(InputType next, boolean folds) {
            boolean timed = type instanceof InputType.InputTypeRecurrent;
            boolean timedNext = next instanceof InputType.InputTypeRecurrent;
            if (timedNext) {
                long known = stepsOf(next);
                return new Flow(next, timed ? rows : 1, known > 0 ? known : timed ? steps : Math.max(steps, rows), stacked);
            }
            return new Flow(next, timed && folds ? Math.max(1, steps) : rows, steps, stacked);
        }

        /** Places per example to which a layer's weights are applied: steps of time, pixels; 1 if there is but one. */
        long positions() {
            long all = Math.multiplyExact(rows, stacked);
            if (type instanceof InputType.InputTypeRecurrent) {
                return Math.multiplyExact(all, Math.max(1, steps));
            }
            if (type instanceof InputType.InputTypeConvolutional) {
                InputType.InputTypeConvolutional image = (InputType.InputTypeConvolutional) type;
                return Math.multiplyExact(all, Math.multiplyExact(image.getHeight(), image.getWidth()));
            }
            if (type instanceof InputType.InputTypeConvolutional3D) {
                InputType.InputTypeConvolutional3D volume = (InputType.InputTypeConvolutional3D) type;
                long area = Math.multiplyExact(volume.getHeight(), volume.getWidth());
                return Math.multiplyExact(all, Math.multiplyExact(volume.getDepth(), area));
            }
            return all;
        }

        /** Elements of one row at one step of time. */
        private long size() {
            return type instanceof InputType.InputTypeRecurrent ? ((InputType.InputTypeRecurrent) type).getSize()
                    : type.arrayElementsPerExample();
        }

        /** Elements per example. */
        long elements() {
            if (type instanceof InputType.InputTypeRecurrent) {
                return Math.multiplyExact(((InputType.InputTypeRecurrent) type).getSize(), positions());
            }
            return Math.multiplyExact(Math.multiplyExact(rows, stacked), type.arrayElementsPerExample());
        }

        /** False for a recurrent array of which nobody has said how long it is. */
        boolean lengthKnown() {
            return !(type instanceof InputType.InputTypeRecurrent) || steps > 0;
        }
    }
}
