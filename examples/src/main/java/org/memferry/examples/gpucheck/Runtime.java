package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.memferry.device.Address;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import java.util.function.IntSupplier;

/**
 * The few calls of the CUDA runtime that the check makes itself, past MemFerry's device: memory, streams and events for measuring the link.
 * Whatever was taken is given back on {@link #close()}, last things first. Only functions that CUDA 11.2 to 13 have alike.
 */
final class Runtime implements AutoCloseable {

    private static final int NUMBERS = 1 << 16;

    private final Deque<IntSupplier> taken = new ArrayDeque<>();

    Runtime(int card) {
        check("cudaSetDevice", cudart.cudaSetDevice(card));
    }

    static void check(String call, int code) {
        if (code != cudart.cudaSuccess) {
            String name = cudart.cudaGetErrorName(code).getString();
            cudart.cudaGetLastError();
            throw new IllegalStateException(call + " failed: " + code + " " + name);
        }
    }

    /** Device memory of all zeros. */
    long deviceMemory(long bytes) {
        Pointer block = new Address();
        check("cudaMalloc(" + bytes + ")", cudart.cudaMalloc(block, bytes));
        taken.push(() -> cudart.cudaFree(block));
        check("cudaMemset", cudart.cudaMemset(block, 0, bytes));
        return block.address();
    }

    /** Pinned host memory that the card can address, all zeros. */
    long pinnedMemory(long bytes) {
        Pointer block = new Address();
        check("cudaHostAlloc(" + bytes + ")", cudart.cudaHostAlloc(block, bytes, cudart.cudaHostAllocMapped | cudart.cudaHostAllocPortable));
        taken.push(() -> cudart.cudaFreeHost(block));
        Pointer.memset(block, 0, bytes);
        return block.address();
    }

    /** The numbers that {@link #fill} repeats: between -1 and 1, always the same. */
    static float[] numbers() {
        Random random = new Random(NUMBERS);
        float[] numbers = new float[NUMBERS];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = 2 * random.nextFloat() - 1;
        }
        return numbers;
    }

    /** Fills device or pinned memory with numbers: on zeros a card computes faster than in training. */
    void fill(long address, long bytes) {
        try (FloatPointer numbers = new FloatPointer(numbers())) {
            long block = (long) NUMBERS * Float.BYTES;
            for (long done = 0; done < bytes; done += block) {
                check("cudaMemcpy", cudart.cudaMemcpy(new Address().at(address + done), numbers, Math.min(block, bytes - done),
                        cudart.cudaMemcpyDefault));
            }
        }
    }

    /** Ordinary host memory, all zeros. */
    long ordinaryMemory(long bytes) {
        Pointer block = Pointer.malloc(bytes);
        taken.push(() -> {
            Pointer.free(block);
            return cudart.cudaSuccess;
        });
        Pointer.memset(block, 0, bytes);
        return block.address();
    }

    /** A stream that does not wait for the legacy default stream. */
    CUstream_st stream() {
        CUstream_st stream = new CUstream_st();
        check("cudaStreamCreateWithFlags", cudart.cudaStreamCreateWithFlags(stream, cudart.cudaStreamNonBlocking));
        taken.push(() -> cudart.cudaStreamDestroy(stream));
        return stream;
    }

    /** An event without timing. */
    CUevent_st event() {
        CUevent_st event = new CUevent_st();
        check("cudaEventCreateWithFlags", cudart.cudaEventCreateWithFlags(event, cudart.cudaEventDisableTiming));
        taken.push(() -> cudart.cudaEventDestroy(event));
        return event;
    }

    /** Copies between any two kinds of memory, asynchronously. */
    static void copy(long from, long to, long bytes, CUstream_st stream) {
        check("cudaMemcpyAsync(" + bytes + ")", cudart.cudaMemcpyAsync(new Address().at(to), new Address().at(from), bytes,
                cudart.cudaMemcpyDefault, stream));
    }

    static void synchronize(CUstream_st stream) {
        check("cudaStreamSynchronize", cudart.cudaStreamSynchronize(stream));
    }

    /** Bytes of the card's memory. */
    static long deviceBytes() {
        try (SizeTPointer free = new SizeTPointer(1); SizeTPointer total = new SizeTPointer(1)) {
            check("cudaMemGetInfo", cudart.cudaMemGetInfo(free, total));
            return total.get();
        }
    }

    static String version() {
        int[] version = new int[1];
        check("cudaRuntimeGetVersion", cudart.cudaRuntimeGetVersion(version));
        return version[0] / 1000 + "." + version[0] % 1000 / 10;
    }

    @Override
    public void close() {
        while (!taken.isEmpty()) {
            check("giving back what was taken", taken.pop().getAsInt());
        }
    }
}
