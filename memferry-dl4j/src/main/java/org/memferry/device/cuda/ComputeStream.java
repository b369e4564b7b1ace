package org.memferry.device.cuda;

/**
 * Where the computation runs that the copies of a {@link CudaDevice} are ordered with. ND4J's CUDA backend has one stream per thread of
 * Java; its CPU backend computes on the host and has none.
 */
@FunctionalInterface
public interface ComputeStream {

    /** The host computes, and is done with what it was given when it returns. */
    ComputeStream HOST = () -> 0;

    /** The stream ({@code cudaStream_t}) that what the calling thread computes goes to. Never asked of {@link #HOST}. */
    long handle();
}
