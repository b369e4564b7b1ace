package org.memferry.network;

import org.memferry.plan.NetworkDescription;

/**
 * The device memory that a plan leaves alone where the user did not say how much. A card is never planned to its last megabyte: CUDA loads
 * kernels as they are first used, cuBLAS has a workspace for each stream (32 MB on recent cards), and cuDNN's fastest convolutions need scratch
 * without which a slower one is taken. Both figures are assumptions; {@code headroom} sets another.
 */
final class Headroom {

    /** For CUDA and cuBLAS. */
    static final long LIBRARIES = 64L << 20;
    /** For cuDNN's scratch, where there are convolutions. */
    static final long CONVOLUTIONS = 256L << 20;
    /** At most this part of the device. */
    static final int PART = 16;

    private Headroom() {
    }

    /**
     * @param told  what the user said, in bytes; null if nothing
     * @param card  whether the computation runs on a card
     * @param total bytes of the device
     */
    static long bytes(Long told, boolean card, long total, NetworkDescription network) {
        if (told != null || !card) {
            return told == null ? 0 : told;
        }
        boolean convolutions = network.layers().stream().anyMatch(layer -> isConvolution(layer.type()));
        return Math.min(total / PART, LIBRARIES + (convolutions ? CONVOLUTIONS : 0));
    }

    /** Whether a layer of this type, wrapped or not, is one that cuDNN convolves for. */
    static boolean isConvolution(String type) {
        return type.contains("Convolution");
    }
}
