package org.memferry.nd4j;

import org.memferry.device.Region;

import java.util.function.BiFunction;

/**
 * Pinned host memory that ND4J's CUDA backend is shown as the host side of arrays in device memory: one area for parameters and one for
 * gradients, each as large as the largest layer that is ever in a slot. Nothing of ours reads or writes it. Other backends need none.
 */
public final class SlotScratch implements AutoCloseable {

    /** Where there are no slots. */
    public static final SlotScratch NONE = new SlotScratch(null, null);

    private final Region parameters;
    private final Region gradients;

    private SlotScratch(Region parameters, Region gradients) {
        this.parameters = parameters;
        this.gradients = gradients;
    }

    /**
     * Takes what the loaded backend needs.
     *
     * @param host           takes host memory: bytes, purpose
     * @param parameterBytes of the largest layer whose parameters are in a slot; 0 for none
     * @param gradientBytes  of the largest layer whose gradient is in a slot; 0 for none
     */
    public static SlotScratch take(BiFunction<Long, String, Region> host, long parameterBytes, long gradientBytes) {
        if (!ArrayFactory.Loaded.INSTANCE.slotsNeedScratch()) {
            return NONE;
        }
        Region parameters = take(host, parameterBytes, "host side of parameter slots");
        try {
            return new SlotScratch(parameters, take(host, gradientBytes, "host side of gradient slots"));
        } catch (RuntimeException e) {
            close(parameters);
            throw e;
        }
    }

    private static Region take(BiFunction<Long, String, Region> host, long bytes, String purpose) {
        return bytes == 0 ? null : host.apply(bytes, purpose);
    }

    /** For parameters; null if there is none. */
    public Region parameters() {
        return parameters;
    }

    /** For gradients; null if there is none. */
    public Region gradients() {
        return gradients;
    }

    @Override
    public void close() {
        close(parameters);
        close(gradients);
    }

    private static void close(Region region) {
        if (region != null) {
            region.close();
        }
    }
}
