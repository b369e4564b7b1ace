package org.memferry.network;

import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.BaseRecurrentLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.Deconvolution2D;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
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
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.Bidirectional;
import org.deeplearning4j.nn.conf.layers.recurrent.LastTimeStep;
import org.deeplearning4j.nn.conf.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToRnnPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.RnnToFeedForwardPreProcessor;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.lossfunctions.impl.LossMCXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/**
 * What one layer or vertex takes in DL4J's workspaces when a batch passes through it, in elements. From DL4J's own code, layer by layer, and
 * checked against the workspaces of trained networks; DL4J's memory report leaves out what its layers compute again in backward, the copies
 * that change an array's order, and everything in attention. Written {@code I} and {@code O} below: elements of the layer's input and output.
 *
 * <table>
 * <caption>Working memory of backward, which is the larger pass where a layer has one</caption>
 * <tr><td>dense</td><td>2 O: the pre-activation and the product before it is put in order</td></tr>
 * <tr><td>convolution</td><td>O + 3 columns; the columns are one kernel's worth of input per output pixel: those of the input, of the error,
 *         and one reordered. DL4J's own convolution; oneDNN's, which is off unless asked for, takes less</td></tr>
 * <tr><td>LSTM</td><td>10 O + 6 steps + the recurrent weights: nine arrays a step are kept for backward, one is handed from step to step
 *         </td></tr>
 * <tr><td>output layers</td><td>3 O; over time 5 O + 2 I</td></tr>
 * <tr><td>batch normalisation</td><td>3 I, and 2 I that no workspace holds, from forward to backward</td></tr>
 * <tr><td>attention</td><td>3 O, and for the time of the operation 5 scores and 9 projections</td></tr>
 * </table>
 *
 * <p>An activation function that writes a new array for its gradient (ReLU) adds O; so does a convolution that has to reorder the error.
 */
final class LayerMemory {

    /** Left in the activations' workspace by forward until the iteration ends. */
    private long kept;
    /** Outside of workspaces, from the layer's forward to its backward. */
    private long loose;
    /** In the layer's working memory in forward; the output is not in it. */
    private long forward;
    /** In the layer's working memory in backward. */
    private long backward;
    /** In the workspace of the activation gradients that the layer hands down. */
    private long gradients;
    /** In the working memory of one step of time. */
    private long loop;
    /** Taken by libnd4j within one operation. */
    private long operation;

    private LayerMemory() {
    }

    /**
     * @param shape    the layer or vertex
     * @param producer configuration of the layer that makes its first input; null if that is no layer
     * @param first    true if nothing may write its input, as DL4J has it for the first layer and in graphs
     * @param batch    examples
     */
    static LayerMemory of(LayerShape shape, Layer producer, boolean first, int batch) {
        LayerMemory memory = new LayerMemory();
        if (shape.layer != null) {
            memory.layer(shape, shape.layer, batch);
            memory.dropout(shape, first, batch);
            memory.preProcessor(shape.preProcessor, input(shape, batch), producer);
        } else {
            memory.vertex(shape, batch);
        }
        if (isFrozen(shape)) {
            memory.backward = 0;
            memory.gradients = 0;
            memory.loose = 0;
        }
        return memory;
    }

    static boolean isFrozen(LayerShape shape) {
        return shape.layer instanceof FrozenLayer || shape.vertex instanceof FrozenVertex;
    }

    static long input(LayerShape shape, int batch) {
        long sum = 0;
        for (LayerShape.Flow flow : shape.inputs) {
            sum = Math.addExact(sum, Math.multiplyExact(flow.elements(), (long) batch));
        }
        return sum;
    }

    static long output(LayerShape shape, int batch) {
        return Math.multiplyExact(shape.output.elements(), (long) batch);
    }

    /** What a recurrent layer computes, whether all of it is put out or the last step alone. */
    static long series(LayerShape shape, BaseRecurrentLayer layer, int batch) {
        return Math.multiplyExact(Math.multiplyExact(layer.getNOut(), shape.inputs.get(0).positions()), (long) batch);
    }

    private void layer(LayerShape shape, Layer layer, int batch) {
        long in = input(shape, batch);
        long out = output(shape, batch);
        if (layer instanceof FrozenLayer) {
            layer(shape, ((FrozenLayer) layer).getLayer(), batch);
            return;
        }
        if (layer instanceof BaseWrapperLayer) {
            layer(shape, ((BaseWrapperLayer) layer).getUnderlying(), batch);
            // The gradient of the last step is put into one of all steps.
            backward += layer instanceof LastTimeStep ? kept : 0;
            return;
        }
        kept = out;
        gradients = in;
        if (layer instanceof Bidirectional) {
            bidirectional(shape, (Bidirectional) layer, batch);
        } else if (layer instanceof BaseRecurrentLayer) {
            kept = series(shape, (BaseRecurrentLayer) layer, batch);
            recurrent(shape, (BaseRecurrentLayer) layer, kept, batch);
        } else if (isLoss(layer)) {
            loss(layer, in, out);
        } else if (layer instanceof ConvolutionLayer) {
            convolution(shape, (ConvolutionLayer) layer, in, out, batch);
        } else if (layer instanceof DenseLayer) {
            forward = out;
            backward = 2 * out + activation((BaseLayer) layer, out) + (((DenseLayer) layer).hasLayerNorm() ? 2 * out : 0);
        } else if (layer instanceof EmbeddingLayer || layer instanceof EmbeddingSequenceLayer) {
            kept = layer instanceof EmbeddingLayer ? out : 2 * out;
            backward = 2 * out;
            gradients = 0;
        } else if (layer instanceof SelfAttentionLayer) {
            attention(shape, 5 * out, ((SelfAttentionLayer) layer).getNHeads(), batch);
            backward = forward + out / Math.max(1, ((SelfAttentionLayer) layer).getNOut());
            gradients = Math.addExact(2 * in, layer.initializer().numParams(layer));
        } else if (layer instanceof BatchNormalization) {
            boolean flat = shape.inputs.get(0).positions() == 1;
            kept = flat ? 3 * out : out;
            loose = 2 * in;
            backward = flat ? 4 * in : 3 * in;
        } else {
            simple(layer, in, out);
        }
    }

    private void simple(Layer layer, long in, long out) {
        if (layer instanceof LocalResponseNormalization) {
            forward = 3 * in;
            backward = 7 * in;
        } else if (layer instanceof GlobalPoolingLayer) {
            forward = out;
            backward = in;
        } else if (layer instanceof ActivationLayer) {
            IActivation function = ((ActivationLayer) layer).getActivationFn();
            gradients = isInPlace(function) ? in : 2 * in;
            backward = function instanceof ActivationReLU ? in : 0;
        } else if (layer instanceof DropoutLayer) {
            kept = 0;
        } else if (!(layer instanceof NoParamLayer || layer.initializer().numParams(layer) == 0)) {
            // A layer of no known kind: the arrays that most layers have.
            forward = out;
            backward = 3 * out + in;
        }
    }

    /** Elements that the gradient of an activation function writes to a new array. */
    private static long activation(BaseLayer layer, long out) {
        return isInPlace(layer.getActivationFn()) || layer.getActivationFn() instanceof ActivationIdentity ? 0 : out;
    }

    private static boolean isInPlace(IActivation function) {
        return !(function instanceof ActivationReLU) && !(function instanceof ActivationIdentity);
    }

    /** Whether DL4J computes a layer by columns that it makes itself. */
    static boolean makesColumns(Layer layer) {
        return layer instanceof ConvolutionLayer && !(layer instanceof Convolution1DLayer || layer instanceof Deconvolution2D
                || layer instanceof SeparableConvolution2D || layer instanceof DepthwiseConvolution2D);
    }

    /** Whether a layer puts out images in an order of its own: channels last, seen as if they were first. */
    static boolean isPutOutOfOrder(Layer layer) {
        return layer instanceof Convolution1DLayer || makesColumns(layer);
    }

    /** One kernel's worth of input per output pixel. */
    static long columns(LayerShape shape, ConvolutionLayer layer, int batch) {
        return Math.multiplyExact(perPixel(shape.inputs.get(0), kernel(layer), batch), shape.output.positions());
    }

    /** One kernel's worth of an array. */
    private static long perPixel(LayerShape.Flow flow, long kernel, int batch) {
        return Math.multiplyExact(Math.multiplyExact(flow.elements(), (long) batch) / Math.max(1, flow.positions()), kernel);
    }

    private static long kernel(ConvolutionLayer layer) {
        long kernel = 1;
        for (int k : layer.getKernelSize()) {
            kernel *= k;
        }
        return kernel;
    }

    private void convolution(LayerShape shape, ConvolutionLayer layer, long in, long out, int batch) {
        IActivation function = layer.getActivationFn();
        if (layer instanceof Deconvolution2D) {
            operation = 2 * Math.multiplyExact(perPixel(shape.output, kernel(layer), batch), shape.inputs.get(0).positions()) + in;
            backward = out + activation(layer, out);
        } else if (layer instanceof Convolution1DLayer) {
            long columns = Math.multiplyExact(perPixel(shape.inputs.get(0), layer.getKernelSize()[0], batch), shape.output.positions());
            forward = out;
            backward = out + activation(layer, out);
            operation = 2 * columns + (function instanceof ActivationIdentity ? out : 0);
        } else if (!makesColumns(layer)) {
            backward = out + activation(layer, out);
            operation = 2 * columns(shape, layer, batch) + 2 * in;
        } else {
            long columns = columns(shape, layer, batch);
            long reordered = isInPlace(function) ? 0 : function instanceof ActivationReLU ? 2 * out : out;
            forward = columns;
            backward = 3 * columns + out + reordered;
        }
    }

    private void recurrent(LayerShape shape, BaseRecurrentLayer layer, long out, int batch) {
        long step = Math.multiplyExact(layer.getNOut(), (long) batch);
        long inputStep = Math.multiplyExact(layer.getNIn(), (long) batch);
        if (layer instanceof LSTM || layer instanceof GravesLSTM) {
            long weights = Math.multiplyExact(4 * layer.getNOut(), layer.getNOut());
            forward = 2 * out + 2 * step + weights;
            backward = 10 * out + 6 * step + weights;
            loop = (layer instanceof GravesLSTM ? 12 : 9) * step + inputStep;
        } else {
            kept += input(shape, batch);
            forward = 2 * out;
            backward = 5 * out + 2 * input(shape, batch);
        }
    }

    private void bidirectional(LayerShape shape, Bidirectional layer, int batch) {
        long in = input(shape, batch);
        long out = output(shape, batch);
        boolean concat = layer.getMode() == Bidirectional.Mode.CONCAT;
        long each = concat ? out / 2 : out;
        Layer inner = layer.getFwd();
        if (inner instanceof BaseRecurrentLayer) {
            recurrent(shape, (BaseRecurrentLayer) inner, each, batch);
        }
        kept = 2 * each + out;
        forward = 2 * forward + in + out;
        backward = 2 * backward + in + out;
        gradients = 2 * in;
    }

    static boolean isLoss(Layer layer) {
        String kind = layer.getClass().getSimpleName();
        return layer instanceof BaseOutputLayer || kind.endsWith("LossLayer") || kind.endsWith("OutputLayer");
    }

    /** In training an output layer has no forward pass of its own, but the score leaves its pre-activation with the activations. */
    private void loss(Layer layer, long in, long out) {
        boolean overTime = layer instanceof RnnOutputLayer || layer.getClass().getSimpleName().equals("RnnLossLayer");
        Object function = layer instanceof BaseOutputLayer ? ((BaseOutputLayer) layer).getLossFn()
                : layer instanceof CnnLossLayer ? ((CnnLossLayer) layer).getLossFn() : null;
        long more = function instanceof LossMCXENT || function instanceof LossMSE ? 0 : out;
        if (!(layer instanceof BaseOutputLayer)) {
            kept = 0;
            gradients = out;
            forward = 2 * out;
            backward = 5 * out + more;
        } else if (overTime) {
            gradients = out + 2 * in;
            forward = in + 2 * out;
            backward = 5 * out + 2 * in + more;
        } else {
            gradients = out + in;
            forward = 2 * out;
            backward = 3 * out + more;
        }
    }

    private void attention(LayerShape shape, long working, long heads, int batch) {
        LayerShape.Flow queries = shape.inputs.get(0);
        LayerShape.Flow keys = shape.inputs.get(Math.min(1, shape.inputs.size() - 1));
        long scores = Math.multiplyExact(Math.multiplyExact(queries.positions(), keys.positions()), heads * batch);
        long steps = Math.multiplyExact(queries.positions(), (long) batch);
        forward = working;
        backward = working + 6 * steps;
        operation = Math.addExact(5 * scores, heads > 0 ? 9 * output(shape, batch) : 0);
    }

    private void vertex(LayerShape shape, int batch) {
        kept = output(shape, batch);
        gradients = input(shape, batch);
        GraphVertex vertex = shape.vertex;
        while (vertex instanceof FrozenVertex) {
            vertex = ((FrozenVertex) vertex).getUnderlying();
        }
        if (vertex instanceof AttentionVertex) {
            long out = kept;
            attention(shape, 3 * out, Math.max(1, ((AttentionVertex) vertex).getNHeads()), batch);
            kept = 2 * out;
            if (((AttentionVertex) vertex).isProjectInput()) {
                gradients = Math.addExact(gradients, vertex.numParams(true));
            } else {
                operation -= 9 * out;
            }
        }
    }

    private void dropout(LayerShape shape, boolean first, int batch) {
        if (shape.layer.getIDropout() != null) {
            // The mask stays; the result takes the place of the input where it may.
            kept += (first ? 2 : 1) * input(shape, batch);
        }
    }

    /** Preprocessors copy what is not in the order they need: convolutions put out images, recurrent layers series, in an order of their own. */
    private void preProcessor(InputPreProcessor preProcessor, long in, Layer producer) {
        if (preProcessor == null || preProcessor instanceof FeedForwardToCnnPreProcessor) {
            return;
        }
        if (preProcessor instanceof CnnToFeedForwardPreProcessor) {
            kept += isPutOutOfOrder(producer) ? in : 0;
        } else if (preProcessor instanceof RnnToFeedForwardPreProcessor) {
            kept += (producer instanceof BaseRecurrentLayer ? 1 : 2) * in;
            forward += in;
            gradients += in;
        } else if (preProcessor instanceof FeedForwardToRnnPreProcessor) {
            kept += in;
            backward += in;
            gradients += 2 * in;
        } else {
            kept += in;
            gradients += in;
        }
    }

    long kept() {
        return kept;
    }

    long loose() {
        return loose;
    }

    long forward() {
        return forward;
    }

    long backward() {
        return backward;
    }

    long gradients() {
        return gradients;
    }

    long loop() {
        return loop;
    }

    long operation() {
        return operation;
    }
}
