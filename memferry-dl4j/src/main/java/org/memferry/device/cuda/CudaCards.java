package org.memferry.device.cuda;

import org.bytedeco.cuda.global.cudart;
import org.memferry.base.RefusedException;

/** Finds out whether there is a driver for the CUDA runtime and a card of the wanted number. */
final class CudaCards {

    private CudaCards() {
    }

    /** @throws RefusedException with what was found and what is expected */
    static void require(int index) {
        int[] count = new int[1];
        int code = cudart.cudaGetDeviceCount(count);
        if (code != cudart.cudaSuccess) {
            // The count is not written then.
            throw new RefusedException("device 'cuda:" + index + "': no card can be used: cudaGetDeviceCount: " + CudaCalls.name(code)
                    + "; the CUDA runtime is version " + runtime() + ", the driver " + driver() + " (expected: a card, and a driver for CUDA "
                    + runtime() + " or later; without one use host or emulated:<size>)");
        }
        if (index < 0 || index >= count[0]) {
            throw new RefusedException("device 'cuda:" + index + "': there are " + count[0] + " cards (expected: a number below that; cuda:0 is the"
                    + " first)");
        }
    }

    private static String runtime() {
        int[] version = new int[1];
        return cudart.cudaRuntimeGetVersion(version) == cudart.cudaSuccess ? text(version[0]) : "unknown";
    }

    /** A version of 0 means that there is no driver. */
    private static String driver() {
        int[] version = new int[1];
        if (cudart.cudaDriverGetVersion(version) != cudart.cudaSuccess) {
            return "does not say which CUDA it is for";
        }
        return version[0] == 0 ? "is not there" : "is for CUDA " + text(version[0]);
    }

    private static String text(int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }
}
