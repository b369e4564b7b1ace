package org.memferry.nd4j;

import org.memferry.device.Region;
import org.memferry.device.cuda.ComputeStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** What differs between ND4J's backends in arrays over memory of ours. One serves a process, since ND4J loads one backend. */
interface ArrayFactory {

    /** Simple name of the class of ND4J's CUDA backend. */
    String CUDA_BACKEND = "JCublasBackend";

    /**
     * An array over host memory.
     *
     * @param onAccess told before every use of the memory through the array; null for nobody
     */
    INDArray host(Region region, long offset, DataType type, Layout layout, Runnable onAccess);

    /**
     * An array over device memory.
     *
     * @param scratch      memory that ND4J may use as the array's host side; null where it {@linkplain #slotsNeedScratch() needs none}
     * @param scratchStart index of the first element there
     */
    INDArray slot(Region slab, long offset, Region scratch, long scratchStart, DataType type, Layout layout);

    /** Whether ND4J's workspaces are managed by MemFerry. */
    boolean hasOurManagers();

    /** Device bytes of a workspace of MemFerry's, which counts them itself; -1 for any other. */
    long countedBytes(MemoryWorkspace workspace);

    /** Whether an array over device memory has a host side. */
    boolean slotsNeedScratch();

    /** Address, as the computation sees it, of the first element of the buffer that the array is a view of. */
    long bufferStart(INDArray array);

    /** Address, as the computation sees it, of the array's first element; the array has no gaps. */
    long firstElement(INDArray array);

    /** The address at which the host finds the first element of an array over host memory. */
    long hostAddress(INDArray array);

    /** An array over device memory has been written by a copy of ours, which ND4J does not know of. */
    void written(INDArray slot);

    /** Whether an array of ours still shows the memory that it was made over. */
    boolean isInPlace(INDArray array);

    /** Waits until what the calling thread had ND4J compute is done. */
    void await();

    /** Where ND4J computes. */
    ComputeStream computeStream();

    /**
     * Makes ND4J compute on one card.
     *
     * @param card as CUDA numbers them
     * @throws org.memferry.base.RefusedException if that cannot be had
     */
    void useCard(int card);

    /** Shape of an array in memory: shape, stride in elements, ordering. */
    final class Layout {

        final long[] shape;
        final long[] stride;
        final char ordering;

        Layout(long[] shape, long[] stride, char ordering) {
            this.shape = shape;
            this.stride = stride;
            this.ordering = ordering;
        }

        /** Elements from the first to the last, gaps included. */
        long length() {
            long length = 1;
            for (int i = 0; i < shape.length; i++) {
                length = Math.addExact(length, Math.multiplyExact(shape[i] - 1, stride[i]));
            }
            return length;
        }
    }

    /** The factory for the backend that ND4J has loaded. Only that one's classes are touched: the other's need not be there. */
    final class Loaded {

        static final ArrayFactory INSTANCE = of(Nd4j.getBackend().getClass().getSimpleName());

        private Loaded() {
        }

        private static ArrayFactory of(String backend) {
            return CUDA_BACKEND.equals(backend) ? new CudaArrays() : new CpuArrays();
        }
    }
}
