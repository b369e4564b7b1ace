package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cudart.CUstream_st;

/**
 * Copies in place of arithmetic, where there is no cuBLAS: they read and write the memory that a kernel would, asynchronously and in the
 * same order, so that all but rates of arithmetic can be seen.
 */
final class CopyKernels implements Kernels {

    private final Runtime runtime;
    private final CUstream_st stream;
    private final long sink;

    /** @param bytes of the largest weights, or of all rows of the largest gather */
    CopyKernels(int card, long bytes) {
        runtime = new Runtime(card);
        stream = runtime.stream();
        sink = runtime.deviceMemory(bytes);
    }

    @Override
    public String name() {
        return "copies in place of arithmetic";
    }

    @Override
    public boolean compute() {
        return false;
    }

    @Override
    public long handle() {
        return stream.address();
    }

    @Override
    public void forward(long weights, Shape shape) {
        Runtime.copy(weights, sink, shape.weightBytes(), stream);
    }

    @Override
    public void inputGradient(long weights, Shape shape) {
        Runtime.copy(weights, sink, shape.weightBytes(), stream);
    }

    @Override
    public void weightGradient(long gradient, Shape shape) {
        Runtime.copy(sink, gradient, shape.weightBytes(), stream);
    }

    @Override
    public void gather(long table, int[] rows, int width) {
        long bytes = (long) width * Float.BYTES;
        for (int i = 0; i < rows.length; i++) {
            Runtime.copy(table + rows[i] * bytes, sink + i * bytes, bytes, stream);
        }
    }

    @Override
    public void synchronize() {
        Runtime.synchronize(stream);
    }

    @Override
    public void close() {
        runtime.close();
    }
}
