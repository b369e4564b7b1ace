package org.memferry.network;

import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.Deconvolution3D;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingSequenceLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LearnedSelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.LocallyConnected1D;
import org.deeplearning4j.nn.conf.layers.LocallyConnected2D;
import org.deeplearning4j.nn.conf.layers.PReLULayer;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.memferry.plan.LayerWork;

/**
 * What each kind of layer has to do, from its configuration and the shapes that pass through it. A multiplication and an addition count as
 * two operations. {@code P} is the number of parameters, {@code B} the batch, {@code N} the places per example, {@code E} the output
 * elements per example, {@code T} steps of time, {@code d} the width of an attention.
 *
 * <table>
 * <caption>Operations of forward, by DL4J's layer classes in 1.0.0-M2.1</caption>
 * <tr><td>weights applied at every place of the output (dense, output, convolution of any dimension, depthwise, separable); every layer
 * of a kind not named here</td><td>{@code 2 P B N}: each parameter takes part in one multiplication and one addition per place
 * ({@code BaseLayer.preOutput}, {@code ConvolutionLayer.preOutput})</td></tr>
 * <tr><td>recurrent layers, alone or in a Bidirectional, and deconvolutions</td><td>the same with the places of the input
 * ({@code LSTMHelpers.activateHelper} and {@code SimpleRnn.activateHelper}: one product with W and one with RW per step)</td></tr>
 * <tr><td>locally connected</td><td>{@code 2 P B}: a weight belongs to one place</td></tr>
 * <tr><td>attention</td><td>{@code 2 P B T} for the projections, and {@code 4 B T T' d} for scores and weighted sums over {@code T'}
 * keys ({@code multiHeadDotProductAttention})</td></tr>
 * <tr><td>embedding</td><td>{@code B E}: rows are copied and the bias is added; no product</td></tr>
 * <tr><td>batch normalisation</td><td>{@code 8 B E}: mean, variance, normalised, scaled, shifted
 * ({@code BatchNormalization.preOutput})</td></tr>
 * <tr><td>element-wise weights (PReLU, ElementWiseMultiplication)</td><td>{@code 2 B E}</td></tr>
 * <tr><td>pooling</td><td>{@code B E} times the kernel's elements</td></tr>
 * <tr><td>other layers and vertices without parameters</td><td>{@code B E}</td></tr>
 * </table>
 *
 * <p>Backward of a layer with parameters takes three times its forward: DL4J computes the pre-activation again, then the gradient of the
 * weights and that of the input ({@code BaseLayer.backpropGradient}, {@code ConvolutionLayer.backpropGradient},
 * {@code LSTM.backpropGradientHelper}; SameDiff layers run their forward again as well). That of one without takes twice. A frozen layer has
 * none. Over-counted are parameters that a pass does not use: a VAE's decoder, the centres of a CenterLossOutputLayer.
 */
final class LayerFormulas {

    private static final int BACKWARD = 3;
    private static final int BACKWARD_WITHOUT_PARAMETERS = 2;
    private static final int BATCH_NORMALISATION = 8;

    private LayerFormulas() {
    }

    /**
     * @param parameters   of the layer or vertex; 0 for none
     * @param batch        examples
     * @param elementBytes of an activation
     */
    static LayerWork of(LayerShape shape, long parameters, int batch, int elementBytes) {
        double forward = batch * (shape.layer != null ? layer(shape, inside(shape.layer), parameters) : vertex(shape, parameters));
        boolean frozen = shape.layer instanceof FrozenLayer || shape.vertex instanceof FrozenVertex;
        int times = frozen ? 0 : parameters > 0 ? BACKWARD : BACKWARD_WITHOUT_PARAMETERS;
        long bytes = Math.multiplyExact(Math.multiplyExact(shape.output.elements(), (long) batch), (long) elementBytes);
        return new LayerWork(forward, times * forward, bytes);
    }

    /** How often forward reads the parameters, in place over the link as on the device: once per step in a recurrent layer. */
    static int forwardTouches(LayerShape shape) {
        return isRecurrent(shape) ? Math.toIntExact(Math.max(1, shape.inputs.get(0).steps)) : 1;
    }

    static boolean isRecurrent(LayerShape shape) {
        return shape.layer != null && inside(shape.layer) instanceof BaseRecurrentLayer;
    }

    /** Below all wrappers; of a Bidirectional the forward one. */
    private static Layer inside(Layer layer) {
        if (layer instanceof FrozenLayer) {
            return inside(((FrozenLayer) layer).getLayer());
        }
        if (layer instanceof BaseWrapperLayer) {
            return inside(((BaseWrapperLayer) layer).getUnderlying());
        }
        return layer instanceof Bidirectional ? inside(((Bidirectional) layer).getFwd()) : layer;
    }

    /** Operations of forward per example. */
    private static double layer(LayerShape shape, Layer layer, long parameters) {
        LayerShape.Flow in = shape.inputs.get(0);
        double elements = shape.output.elements();
        if (layer instanceof EmbeddingLayer || layer instanceof EmbeddingSequenceLayer) {
            return elements;
        }
        if (layer instanceof BatchNormalization) {
            return BATCH_NORMALISATION * elements;
        }
        if (layer instanceof PReLULayer || layer instanceof ElementWiseMultiplicationLayer) {
            return 2 * elements;
        }
        if (layer instanceof SubsamplingLayer) {
            return elements * kernelElements((SubsamplingLayer) layer);
        }
        if (layer instanceof LocallyConnected1D || layer instanceof LocallyConnected2D) {
            return 2.0 * parameters;
        }
        if (layer instanceof SelfAttentionLayer || layer instanceof LearnedSelfAttentionLayer
                || layer instanceof RecurrentAttentionLayer) {
            return 2.0 * parameters * in.positions() + attention(layer, shape);
        }
        if (parameters == 0) {
            return elements;
        }
        boolean byInput = layer instanceof BaseRecurrentLayer || layer instanceof Deconvolution2D || layer instanceof Deconvolution3D;
        return 2.0 * parameters * (byInput ? in : shape.output).positions();
    }

    private static double kernelElements(SubsamplingLayer layer) {
        double elements = 1;
        for (int k : layer.getKernelSize()) {
            elements *= k;
        }
        return elements;
    }

    /** Every output step (or learned query) looks at every input step. */
    private static double attention(Layer layer, LayerShape shape) {
        long width = layer instanceof SelfAttentionLayer ? width((SelfAttentionLayer) layer)
                : layer instanceof LearnedSelfAttentionLayer ? width((LearnedSelfAttentionLayer) layer)
                : width((RecurrentAttentionLayer) layer);
        return 4.0 * shape.output.positions() * shape.inputs.get(0).positions() * width;
    }

    private static long width(SelfAttentionLayer layer) {
        return layer.isProjectInput() ? layer.getNHeads() * layer.getHeadSize() : layer.getNIn();
    }

    private static long width(LearnedSelfAttentionLayer layer) {
        return layer.isProjectInput() ? layer.getNHeads() * layer.getHeadSize() : layer.getNIn();
    }

    private static long width(RecurrentAttentionLayer layer) {
        return layer.isProjectInput() ? layer.getNHeads() * layer.getHeadSize() : layer.getNIn();
    }

    private static double vertex(LayerShape shape, long parameters) {
        GraphVertex vertex = shape.vertex;
        while (vertex instanceof FrozenVertex) {
            vertex = ((FrozenVertex) vertex).getUnderlying();
        }
        if (vertex instanceof AttentionVertex) {
            AttentionVertex attention = (AttentionVertex) vertex;
            long width = attention.isProjectInput() ? attention.getNHeads() * attention.getHeadSize() : attention.getNInValues();
            double queries = shape.inputs.get(0).positions();
            return 2.0 * parameters * queries + 4 * queries * shape.inputs.get(1).positions() * width;
        }
        return parameters > 0 ? 2.0 * parameters * shape.output.positions() : shape.output.elements();
    }
}
