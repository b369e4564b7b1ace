package org.memferry.nd4j;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An array of the CPU backend that says when its memory is used through it. Every ND4J operation and every view asks an array for its
 * buffer with {@link #data()}; the few methods that write to the field behind it are covered one by one. This is how a write such as
 * {@code net.params().subi(x)} becomes known: device copies of the parameters are stale from then on.
 */
final class TrackedArray extends RegionArray {

    private static final long serialVersionUID = 1L;

    private final transient Runnable onAccess;

    TrackedArray(DataBuffer buffer, long[] shape, long[] stride, char ordering, DataType type, Runnable onAccess) {
        super(buffer, shape, stride, ordering, type);
        this.onAccess = onAccess;
    }

    private void accessed() {
        // Null while the superclass constructor runs and in a deserialised copy, which has memory of its own.
        if (onAccess != null) {
            onAccess.run();
        }
    }

    @Override
    public DataBuffer data() {
        accessed();
        return super.data();
    }

    @Override
    public INDArray putScalar(long i, double value) {
        accessed();
        return super.putScalar(i, value);
    }

    @Override
    public INDArray putScalar(int[] indexes, double value) {
        accessed();
        return super.putScalar(indexes, value);
    }

    @Override
    public INDArray putScalar(long[] indexes, double value) {
        accessed();
        return super.putScalar(indexes, value);
    }

    @Override
    public INDArray putScalar(long row, long col, double value) {
        accessed();
        return super.putScalar(row, col, value);
    }

    @Override
    public INDArray putScalar(long dim0, long dim1, long dim2, double value) {
        accessed();
        return super.putScalar(dim0, dim1, dim2, value);
    }

    @Override
    public INDArray putScalar(long dim0, long dim1, long dim2, long dim3, double value) {
        accessed();
        return super.putScalar(dim0, dim1, dim2, dim3, value);
    }

    @Override
    public INDArray put(int[] indices, INDArray element) {
        accessed();
        return super.put(indices, element);
    }
}
