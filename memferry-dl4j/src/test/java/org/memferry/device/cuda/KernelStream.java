package org.memferry.device.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.memferry.device.Address;

/**
 * A compute stream as ND4J's CUDA backend has one per thread: made the plain way, so that it is ordered with the legacy default stream.
 * Copies on it stand for kernels: they read and write where a kernel would, asynchronously, and the check of the order sees them.
 */
public final class KernelStream implements ComputeStream, AutoCloseable {

    private final CUstream_st stream = new CUstream_st();

    /** Makes the stream. */
    public KernelStream() {
        assertThat(cudart.cudaStreamCreate(stream)).isZero();
    }

    @Override
    public long handle() {
        return stream.address();
    }

    /** Launches a kernel that reads bytes at one address and writes as many at another. */
    public void kernel(long from, long to, long bytes) {
        assertThat(cudart.cudaMemcpyAsync(new Address().at(to), new Address().at(from), bytes, cudart.cudaMemcpyDefault, stream)).isZero();
    }

    /** Blocks until all kernels are done. */
    public void synchronize() {
        assertThat(cudart.cudaStreamSynchronize(stream)).isZero();
    }

    @Override
    public void close() {
        assertThat(cudart.cudaStreamDestroy(stream)).isZero();
    }
}
