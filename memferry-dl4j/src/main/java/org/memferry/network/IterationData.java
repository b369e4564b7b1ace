package org.memferry.network;

import org.memferry.device.HostBytes;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The arrays that DL4J was given for one training iteration: where a second network is to compute the same, it must read the same. */
final class IterationData {

    private final INDArray[] inputs;
    private final INDArray[] labels;
    private final INDArray[] inputMasks;
    private final INDArray[] labelMasks;
    private final long hash;

    /** Any of them, and any element, may be null. To be called outside of workspaces, and so is {@link #isUnchanged()}. */
    IterationData(INDArray[] inputs, INDArray[] labels, INDArray[] inputMasks, INDArray[] labelMasks) {
        this.inputs = copy(inputs);
        this.labels = copy(labels);
        this.inputMasks = copy(inputMasks);
        this.labelMasks = copy(labelMasks);
        this.hash = hash();
    }

    private static INDArray[] copy(INDArray[] arrays) {
        return arrays == null ? null : arrays.clone();
    }

    INDArray[] inputs() {
        return inputs;
    }

    INDArray[] labels() {
        return labels;
    }

    INDArray[] inputMasks() {
        return inputMasks;
    }

    INDArray[] labelMasks() {
        return labelMasks;
    }

    /** False once somebody has written into one of the arrays. */
    boolean isUnchanged() {
        return hash == hash();
    }

    private long hash() {
        long all = 0;
        for (INDArray[] arrays : new INDArray[][] {inputs, labels, inputMasks, labelMasks}) {
            for (INDArray array : arrays == null ? new INDArray[0] : arrays) {
                all = 31 * all + (array == null ? 0 : hash(array));
            }
        }
        return all;
    }

    private static long hash(INDArray array) {
        // Without gaps, whatever it is a view of.
        INDArray dense = array.dup('c');
        try {
            return new HostBytes().hash(RegionArrays.firstElement(dense), dense.length() * dense.data().getElementSize());
        } finally {
            dense.close();
        }
    }
}
