package org.memferry.nd4j;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** As {@link TrackedArray}, of the CUDA backend. */
final class CudaTrackedArray extends CudaRegionArray {

    private static final long serialVersionUID = 1L;

    private final transient Runnable onAccess;

    CudaTrackedArray(DataBuffer buffer, ArrayFactory.Layout layout, ArrayMemory memory, Runnable onAccess) {
        super(buffer, layout, memory);
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
