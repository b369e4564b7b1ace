package org.memferry.shadow;

import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * What a reader of a layer's parameters holds: the arrays of one slot (or of the host master), valid until the layer is left. A reader
 * that keeps a lease too long gets an exception instead of another layer's numbers. Leases are made once per layer and slot and handed
 * out again and again.
 */
public final class Lease {

    private final String layer;
    private final int slot;
    final INDArray[] arrays;
    private long version;
    private boolean open;

    Lease(String layer, int slot, INDArray[] arrays) {
        this.layer = layer;
        this.slot = slot;
        this.arrays = arrays;
    }

    void open(long ofVersion) {
        this.version = ofVersion;
        this.open = true;
    }

    INDArray[] arrays() {
        return arrays.clone();
    }

    void release() {
        this.open = false;
    }

    /** The slot that serves the layer, or {@link org.memferry.engine.Program#MASTER}. */
    public int slot() {
        return slot;
    }

    /** Version of the master that the arrays show. */
    public long version() {
        return version;
    }

    /** True until the layer is left. */
    public boolean isOpen() {
        return open;
    }

    /**
     * The array of one parameter.
     *
     * @param parameter index of the parameter in the layer
     * @throws IllegalStateException if the layer has been left since
     */
    public INDArray array(int parameter) {
        if (!open) {
            throw new IllegalStateException("parameter " + parameter + " of layer " + layer + " read through a lease of version " + version
                    + " that was released when the layer was left; read the parameter again instead of keeping the lease");
        }
        return arrays[parameter];
    }
}
