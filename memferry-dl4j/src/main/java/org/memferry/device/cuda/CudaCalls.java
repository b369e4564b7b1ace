package org.memferry.device.cuda;

import java.util.function.IntSupplier;

import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.SizeTPointer;
import org.memferry.base.MemFerryException;
import org.memferry.base.Sizes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What becomes of the return codes of the CUDA runtime: an exception that names the call, its arguments and the memory of the card; the
 * runtime's own error state is cleared, so that no later call of somebody else reports it once more.
 */
final class CudaCalls {

    private static final Logger LOG = LoggerFactory.getLogger(CudaCalls.class);

    private final String device;

    /** @param device what the device is called in errors */
    CudaCalls(String device) {
        this.device = device;
    }

    /** Throws unless a call succeeded. Not for calls of every iteration: it takes the text ready-made. */
    void check(int code, String call) {
        if (code != cudart.cudaSuccess) {
            throw failed(code, call);
        }
    }

    /**
     * What to throw when a call failed.
     *
     * @param call with its arguments
     */
    MemFerryException failed(int code, String call) {
        return new MemFerryException(device + ": " + call + " failed: " + name(code) + "; " + memory()
                + " (if the card itself failed, close the ferry: parameters and moments are in host memory; otherwise train again with less on"
                + " the device)");
    }

    /** Code and name of an error, for example {@code 2 cudaErrorMemoryAllocation}. Clears the runtime's error state. */
    static String name(int code) {
        String text = code + " " + cudart.cudaGetErrorName(code).getString();
        cudart.cudaGetLastError();
        return text;
    }

    /** How much of the card's memory is free, for a message. */
    static String memory() {
        try (SizeTPointer free = new SizeTPointer(1); SizeTPointer total = new SizeTPointer(1)) {
            if (cudart.cudaMemGetInfo(free, total) != cudart.cudaSuccess) {
                cudart.cudaGetLastError();
                return "the card does not say how much of its memory is free";
            }
            return Sizes.exact(free.get()) + " of " + Sizes.exact(total.get()) + " of the card's memory are free";
        }
    }

    /**
     * Gives something back or waits for what must be over before. Such a call may report an earlier failure of asynchronous work and then
     * not have done its own: it is made once more. If that fails too, the card has failed; a warning has to do, since whoever gives back
     * cannot do anything else.
     */
    void giveBack(String call, IntSupplier made) {
        int code = made.getAsInt();
        if (code == cudart.cudaSuccess) {
            return;
        }
        cudart.cudaGetLastError();
        int again = made.getAsInt();
        if (again != cudart.cudaSuccess) {
            LOG.warn("{}: {} failed twice: {}, {}; what it should give back stays taken until the process ends", device, call, name(code),
                    name(again));
        }
    }
}
