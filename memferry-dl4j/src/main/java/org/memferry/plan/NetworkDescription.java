package org.memferry.plan;

import java.util.List;

/**
 * What a planner has to know of a network: its layers with parameters, and the order in which a training iteration and an inference
 * pass read them. Orders hold indices into {@link #layers()}.
 */
public final class NetworkDescription {

    private final List<LayerDescription> layers;
    private final int[] forwardOrder;
    private final int[] backwardOrder;
    private final int[] inferenceOrder;
    private final long parameterCount;
    private final long updaterStateCount;
    private final int elementBytes;

    /**
     * @param layers            layers with parameters, in the order of the flat parameter vector
     * @param forwardOrder      layers read by the forward pass of training
     * @param backwardOrder     layers reached by the backward pass, output first
     * @param inferenceOrder    layers read by inference
     * @param parameterCount    length of the flat parameter vector
     * @param updaterStateCount length of the flat updater state
     * @param elementBytes      bytes per parameter
     */
    public NetworkDescription(List<LayerDescription> layers, int[] forwardOrder, int[] backwardOrder, int[] inferenceOrder,
            long parameterCount, long updaterStateCount, int elementBytes) {
        this.layers = List.copyOf(layers);
        this.forwardOrder = forwardOrder.clone();
        this.backwardOrder = backwardOrder.clone();
        this.inferenceOrder = inferenceOrder.clone();
        this.parameterCount = parameterCount;
        this.updaterStateCount = updaterStateCount;
        this.elementBytes = elementBytes;
    }

    /** Layers with parameters, in the order of the flat parameter vector. */
    public List<LayerDescription> layers() {
        return layers;
    }

    /** Layers read by the forward pass of training, in order. */
    public int[] forwardOrder() {
        return forwardOrder.clone();
    }

    /** Layers reached by the backward pass, in order: output first. */
    public int[] backwardOrder() {
        return backwardOrder.clone();
    }

    /** Layers read by inference, in order. */
    public int[] inferenceOrder() {
        return inferenceOrder.clone();
    }

    /** Length of the flat parameter vector. */
    public long parameterCount() {
        return parameterCount;
    }

    /** Bytes of the flat parameter vector. */
    public long parameterBytes() {
        return Math.multiplyExact(parameterCount, (long) elementBytes);
    }

    /** Length of the flat updater state. */
    public long updaterStateCount() {
        return updaterStateCount;
    }

    /** Bytes of the flat updater state. */
    public long updaterStateBytes() {
        return Math.multiplyExact(updaterStateCount, (long) elementBytes);
    }

    /** Bytes per parameter. */
    public int elementBytes() {
        return elementBytes;
    }
}
