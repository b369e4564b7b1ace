package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cublas.cublasContext;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cublas;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerPointer;
import org.memferry.device.Address;

/** cuBLAS in single precision, as ND4J's CUDA backend calls it. */
final class CublasKernels implements Kernels {

    private final Runtime runtime;
    private final CUstream_st stream;
    private final cublasContext handle = new cublasContext();
    private final FloatPointer one = new FloatPointer(1f);
    private final FloatPointer zero = new FloatPointer(0f);
    private final long input;
    private final long delta;
    private final long result;
    private final long pointers;
    private final int mostRows;

    /**
     * @param activationBytes of the largest activations
     * @param mostRows        of a gather
     * @throws LinkageError if there is no cuBLAS of the bindings' major version
     */
    CublasKernels(int card, long activationBytes, int mostRows) {
        this.runtime = new Runtime(card);
        this.mostRows = mostRows;
        try {
            stream = runtime.stream();
            // What is read stays what it is, so that numbers do not grow from product to product: a card is slower on some than on others.
            input = runtime.deviceMemory(activationBytes);
            delta = runtime.deviceMemory(activationBytes);
            result = runtime.deviceMemory(activationBytes);
            runtime.fill(input, activationBytes);
            runtime.fill(delta, activationBytes);
            pointers = runtime.deviceMemory(3L * mostRows * Long.BYTES);
            check("cublasCreate", cublas.cublasCreate_v2(handle));
            check("cublasSetStream", cublas.cublasSetStream_v2(handle, stream));
        } catch (RuntimeException | LinkageError e) {
            runtime.close();
            throw e;
        }
    }

    private static void check(String call, int status) {
        if (status != cublas.CUBLAS_STATUS_SUCCESS) {
            throw new IllegalStateException(call + " failed: status " + status);
        }
    }

    private static FloatPointer at(long address) {
        return new FloatPointer(new Address().at(address));
    }

    @Override
    public String name() {
        return "cuBLAS sgemm, sgemv, sgemmBatched";
    }

    @Override
    public boolean compute() {
        return true;
    }

    @Override
    public long handle() {
        return stream.address();
    }

    @Override
    public void forward(long weights, Shape s) {
        if (s.columns == 1) {
            check("cublasSgemv", cublas.cublasSgemv_v2(handle, cublas.CUBLAS_OP_N, s.outputs, s.inputs, one, at(weights), s.outputs, at(input), 1,
                    zero, at(result), 1));
        } else {
            multiply(cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, s.outputs, s.columns, s.inputs, weights, s.outputs, input, s.inputs, result, s.outputs);
        }
    }

    @Override
    public void inputGradient(long weights, Shape s) {
        multiply(cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N, s.inputs, s.columns, s.outputs, weights, s.outputs, delta, s.outputs, result, s.inputs);
    }

    @Override
    public void weightGradient(long gradient, Shape s) {
        multiply(cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T, s.outputs, s.inputs, s.columns, delta, s.outputs, input, s.inputs, gradient, s.outputs);
    }

    private void multiply(int first, int second, int rows, int columns, int inner, long a, int leadingA, long b, int leadingB, long c, int leadingC) {
        check("cublasSgemm", cublas.cublasSgemm_v2(handle, first, second, rows, columns, inner, one, at(a), leadingA, at(b), leadingB, zero, at(c),
                leadingC));
    }

    /** One product per row, of the row and one number: it reads where pointers say, in one launch, without a kernel of our own. */
    @Override
    public void gather(long table, int[] rows, int width) {
        if (rows.length > mostRows) {
            throw new IllegalArgumentException(rows.length + " rows (expected: at most " + mostRows + ")");
        }
        long third = (long) mostRows * Long.BYTES;
        try (LongPointer places = new LongPointer(3L * mostRows)) {
            for (int i = 0; i < rows.length; i++) {
                places.put(i, table + (long) rows[i] * width * Float.BYTES);
                places.put(mostRows + i, input);
                places.put(2L * mostRows + i, result + (long) i * width * Float.BYTES);
            }
            Runtime.copy(places.address(), pointers, 3 * third, stream);
            synchronize();
        }
        check("cublasSgemmBatched", cublas.cublasSgemmBatched(handle, cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_N, width, 1, 1, one, list(pointers),
                width, list(pointers + third), 1, zero, list(pointers + 2 * third), width, rows.length));
    }

    private static PointerPointer<?> list(long address) {
        return new PointerPointer<>(new Address().at(address));
    }

    /** Where the last product or gather went; for tests. */
    long result() {
        return result;
    }

    @Override
    public void synchronize() {
        Runtime.synchronize(stream);
    }

    @Override
    public void close() {
        check("cublasDestroy", cublas.cublasDestroy_v2(handle));
        runtime.close();
    }
}
