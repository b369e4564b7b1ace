package org.memferry.plan;

/** The device bytes a plan is made for: what the device has, and what is set aside for everything that is not ours. */
public final class Budget {

    private final long deviceBytes;
    private final long activationBytes;
    private final boolean activationsKnown;
    private final long headroomBytes;
    private final boolean finalShapes;

    /**
     * @param deviceBytes      bytes of the device; {@link Long#MAX_VALUE} for none of its own
     * @param activationBytes  bytes of activations, their gradients and working memory, estimated; 0 if unknown
     * @param activationsKnown false if no estimate could be made
     * @param headroomBytes    further bytes to leave alone
     * @param finalShapes      true if the estimate is for the shapes that will be trained, false if they are not known yet
     */
    public Budget(long deviceBytes, long activationBytes, boolean activationsKnown, long headroomBytes, boolean finalShapes) {
        this.deviceBytes = deviceBytes;
        this.activationBytes = activationBytes;
        this.activationsKnown = activationsKnown;
        this.headroomBytes = headroomBytes;
        this.finalShapes = finalShapes;
    }

    /** Bytes of the device. */
    public long deviceBytes() {
        return deviceBytes;
    }

    /** Estimated bytes of activations, their gradients and working memory; 0 if unknown. */
    public long activationBytes() {
        return activationBytes;
    }

    /** False if no estimate of the activations could be made. */
    public boolean activationsKnown() {
        return activationsKnown;
    }

    /** Further bytes to leave alone. */
    public long headroomBytes() {
        return headroomBytes;
    }

    /** False while the plan is provisional: batch and input shapes are not known yet. */
    public boolean finalShapes() {
        return finalShapes;
    }

    /** The same with so many bytes left for slots and resident layers. */
    public Budget withSlabLimit(long bytes) {
        return new Budget(Math.addExact(bytes, Math.addExact(activationBytes, headroomBytes)), activationBytes, activationsKnown, headroomBytes,
                finalShapes);
    }

    /** Bytes left for slots and resident layers; may be negative. */
    public long slabLimit() {
        return deviceBytes == Long.MAX_VALUE ? Long.MAX_VALUE : deviceBytes - activationBytes - headroomBytes;
    }
}
