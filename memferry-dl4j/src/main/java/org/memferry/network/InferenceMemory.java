package org.memferry.network;

import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.GravesLSTM;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LocalResponseNormalization;
import org.deeplearning4j.nn.conf.layers.NoParamLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToRnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;

/**
 * What one layer or vertex takes in DL4J's workspaces when a batch passes through it for its output alone, in elements. It is not what
 * forward takes in training: an array that a layer makes without naming a workspace lies in the one that was opened last, which is that of the
 * activations where layers are in a row, and that of the working memory in a graph; and an output that moves on to another workspace is copied.
 *
 * <table>
 * <caption>What is made without naming a workspace; O: elements of the layer's output, I: of its input</caption>
 * <tr><td>dense, output layers</td><td>O: the product before it is put in order; over time O + 2 I</td></tr>
 * <tr><td>convolution</td><td>the columns: one kernel's worth of input per output pixel</td></tr>
 * <tr><td>normalisation, of batches and of responses</td><td>2 I; of batches 3 I behind a convolution</td></tr>
 * <tr><td>LSTM</td><td>two steps and the recurrent weights; 2 O are in the working memory wherever</td></tr>
 * <tr><td>attention</td><td>an element per step</td></tr>
 * </table>
 */
final class InferenceMemory {

    private final boolean graph;
    /** In the activations' workspace: what the layer puts out. */
    private long output;
    /** There too, beside the output. */
    private long besides;
    /** In the workspace that was opened last. */
    private long passing;
    /** In the working memory. */
    private long working;
    /** What the preprocessor leaves in the activations of the layer before. */
    private long before;
    /** What it makes while that layer's workspaces are open. */
    private long passingBefore;
    /** What it leaves in the layer's own activations. */
    private long copied;

    /** The output is the input where that is the network's own. */
    private boolean passesOn;

    private InferenceMemory(boolean graph) {
        this.graph = graph;
    }

    /**
     * @param shape    the layer or vertex
     * @param producer configuration of the layer that makes its first input; null if that is no layer
     * @param graph    true for a ComputationGraph's
     * @param batch    examples
     */
    static InferenceMemory of(LayerShape shape, Layer producer, boolean graph, int batch) {
        InferenceMemory memory = new InferenceMemory(graph);
        if (shape.layer != null) {
            memory.layer(shape, shape.layer, producer, batch);
            memory.preProcessor(shape.preProcessor, LayerMemory.input(shape, batch), producer);
        } else {
            memory.vertex(shape, batch);
        }
        return memory;
    }

    private void layer(LayerShape shape, Layer layer, Layer producer, int batch) {
        long in = LayerMemory.input(shape, batch);
        long out = LayerMemory.output(shape, batch);
        if (layer instanceof FrozenLayer) {
            layer(shape, ((FrozenLayer) layer).getLayer(), producer, batch);
            return;
        }
        if (layer instanceof BaseWrapperLayer) {
            layer(shape, ((BaseWrapperLayer) layer).getUnderlying(), producer, batch);
            return;
        }
        output = out;
        if (layer instanceof Bidirectional) {
            bidirectional(shape, (Bidirectional) layer, batch);
        } else if (layer instanceof BaseRecurrentLayer) {
            output = LayerMemory.series(shape, (BaseRecurrentLayer) layer, batch);
            recurrent(shape, (BaseRecurrentLayer) layer, batch);
        } else if (LayerMemory.isLoss(layer)) {
            loss(shape, layer, in, out);
        } else if (layer instanceof ConvolutionLayer) {
            working = layer instanceof Convolution1DLayer ? out : 0;
            passing = LayerMemory.makesColumns(layer) ? LayerMemory.columns(shape, (ConvolutionLayer) layer, batch) : 0;
        } else if (layer instanceof ActivationLayer || layer instanceof DropoutLayer) {
            passesOn = graph;
        } else if (layer instanceof GlobalPoolingLayer) {
            passing = graph ? out : 0;
        } else if (layer instanceof EmbeddingSequenceLayer) {
            working = out;
        } else if (layer instanceof SelfAttentionLayer) {
            passing = out / Math.max(1, ((SelfAttentionLayer) layer).getNOut());
            working = out;
        } else if (layer instanceof BatchNormalization) {
            normalisation(shape.inputs.get(0).positions() == 1, in, producer);
        } else if (layer instanceof LocalResponseNormalization) {
            passing = 2 * in;
        } else if (!(layer instanceof EmbeddingLayer || layer instanceof NoParamLayer || layer.initializer().numParams(layer) == 0)) {
            // Dense layers, and those of no known kind.
            passing = out;
        }
    }

    /** Vectors are looked at as images of one pixel, in arrays of their own. */
    private void normalisation(boolean vectors, long in, Layer producer) {
        if (vectors) {
            besides = 2 * in;
            before = graph ? 0 : 2 * in;
            passing = graph ? 3 * in : 0;
        } else {
            passing = (LayerMemory.isPutOutOfOrder(producer) ? 3 : 2) * in;
        }
    }

    private void recurrent(LayerShape shape, BaseRecurrentLayer layer, int batch) {
        long out = LayerMemory.series(shape, layer, batch);
        if (layer instanceof LSTM || layer instanceof GravesLSTM) {
            passing = 2 * Math.multiplyExact(layer.getNOut(), (long) batch) + Math.multiplyExact(4 * layer.getNOut(), layer.getNOut());
            working = 2 * out;
        } else {
            besides = LayerMemory.input(shape, batch);
            working = out;
        }
    }

    private void bidirectional(LayerShape shape, Bidirectional layer, int batch) {
        long each = 0;
        if (layer.getFwd() instanceof BaseRecurrentLayer) {
            BaseRecurrentLayer inner = (BaseRecurrentLayer) layer.getFwd();
            recurrent(shape, inner, batch);
            each = LayerMemory.series(shape, inner, batch);
        }
        boolean concat = layer.getMode() == Bidirectional.Mode.CONCAT;
        // The two are put together in the first one's place, or behind one another in an array that a graph moves to the activations.
        besides = 2 * besides + 2 * each - (concat ? 0 : output);
        passing = 2 * passing + (concat && graph ? output : 0);
        working = 2 * working + each;
    }

    private void loss(LayerShape shape, Layer layer, long in, long out) {
        String kind = layer.getClass().getSimpleName();
        if (layer instanceof RnnOutputLayer) {
            boolean isInOrder = graph && shape.preProcessor instanceof FeedForwardToRnnPreProcessor;
            passing = out + (isInOrder ? 1 : 2) * in;
        } else if (layer instanceof BaseOutputLayer) {
            passing = out;
        } else if (!kind.startsWith("Cnn")) {
            output = in;
            passing = kind.startsWith("Rnn") ? 2 * in : in;
        }
    }

    private void vertex(LayerShape shape, int batch) {
        output = LayerMemory.output(shape, batch);
        GraphVertex vertex = shape.vertex;
        while (vertex instanceof FrozenVertex) {
            vertex = ((FrozenVertex) vertex).getUnderlying();
        }
        if (vertex instanceof AttentionVertex) {
            besides = output;
            working = output;
        }
    }

    private void preProcessor(InputPreProcessor preProcessor, long in, Layer producer) {
        if (preProcessor == null || preProcessor instanceof FeedForwardToCnnPreProcessor) {
            return;
        }
        boolean untimes = preProcessor instanceof RnnToFeedForwardPreProcessor;
        if (!graph) {
            before += in;
            copied = untimes ? 2 * in : in;
            working += preProcessor instanceof FeedForwardToRnnPreProcessor ? in : 0;
        } else if (preProcessor instanceof CnnToFeedForwardPreProcessor) {
            before = LayerMemory.isPutOutOfOrder(producer) ? in : 0;
        } else {
            before = in;
            passingBefore = untimes ? 2 * in : 0;
        }
    }

    /**
     * What lies in the layer's workspace of activations, without what the preprocessors behind it leave there.
     *
     * @param first there is no layer before
     * @param last  the output goes to whoever asked, and is in no workspace
     */
    long activations(boolean first, boolean last) {
        return (last || first && passesOn ? 0 : output) + besides + (graph ? 0 : passing) + copied + (first ? before : 0);
    }

    /** What lies in the working memory, without what preprocessors behind the layer make. */
    long working(boolean first) {
        return working + (graph ? passing : 0) + (first ? passingBefore : 0);
    }

    /** What this layer's preprocessor leaves in the activations of the layer before. */
    long before() {
        return before;
    }

    /** What it makes in the working memory of the layer before. */
    long workingBefore() {
        return passingBefore;
    }
}
