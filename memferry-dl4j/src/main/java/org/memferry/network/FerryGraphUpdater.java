package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * DL4J's own updater of a ComputationGraph, run on the host: it waits for the gradients, and keeps its state in host
 * memory. In an iteration the step is taken in one pass over memory; called by a user, DL4J's own rules run. Order and arithmetic are
 * DL4J's either way. Its blocks are {@link HostBlocks}: DL4J's constructor, which would lay out its own in {@code int}, is shown none.
 */
final class FerryGraphUpdater extends ComputationGraphUpdater {

    private final transient UpdateHook hook;
    private final boolean made;

    /**
     * @param blocks the network's blocks, over its arrays
     * @param state  updater state in the layout of the blocks, used directly; null if the rules keep none
     */
    FerryGraphUpdater(ComputationGraph network, UpdateHook hook, HostBlocks blocks, INDArray state) {
        super(network, state);
        this.hook = hook;
        this.made = true;
        updaterBlocks.addAll(blocks.blocks());
        for (Trainable layer : getOrderedLayers()) {
            layersByName.put(layer.getConfig().getLayerName(), layer);
        }
    }

    @Override
    protected Trainable[] getOrderedLayers() {
        return made ? super.getOrderedLayers() : new Trainable[0];
    }

    @Override
    public INDArray getStateViewArray() {
        hook.stateIsRead();
        return super.getStateViewArray();
    }

    @Override
    public synchronized void update(Gradient gradient, int iteration, int epoch, int batchSize, LayerWorkspaceMgr workspaceMgr) {
        if (!hook.update(gradient, iteration, epoch, batchSize, workspaceMgr)) {
            super.update(gradient, iteration, epoch, batchSize, workspaceMgr);
        }
    }

    @Override
    public void preApply(Trainable layer, Gradient gradient, int iteration) {
        super.preApply(hook.onHost(layer), gradient, iteration);
    }

    /** Equal to any updater of the same kind of network with equal state, so that comparing an attached network with a plain one works. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ComputationGraphUpdater && UpdaterState.equal(this, (BaseMultiLayerUpdater<?>) other);
    }

    @Override
    public int hashCode() {
        return super.hashCode();
    }
}
