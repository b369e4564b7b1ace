package org.memferry.plan;

import java.util.Objects;

/**
 * What DL4J holds on the device in an iteration beside the parameters, part by part, so that a reader can see which of them is large.
 * Bytes as they are allocated: what workspaces take beyond what is asked of them is in them. Immutable.
 */
public final class IterationMemory {

    private final long dataBytes;
    private final long activationBytes;
    private final long gradientBytes;
    private final long workingBytes;
    private final String source;

    /**
     * @param dataBytes       features and labels of one batch
     * @param activationBytes what the forward pass leaves for the backward pass
     * @param gradientBytes   gradients of activations in the backward pass
     * @param workingBytes    working memory within layers
     * @param source          where the figures are from, in one phrase
     */
    public IterationMemory(long dataBytes, long activationBytes, long gradientBytes, long workingBytes, String source) {
        if (dataBytes < 0 || activationBytes < 0 || gradientBytes < 0 || workingBytes < 0) {
            throw new IllegalArgumentException("memory of an iteration: data " + dataBytes + ", activations " + activationBytes
                    + ", their gradients " + gradientBytes + ", working " + workingBytes + " bytes (expected: all at least 0)");
        }
        this.dataBytes = dataBytes;
        this.activationBytes = activationBytes;
        this.gradientBytes = gradientBytes;
        this.workingBytes = workingBytes;
        this.source = Objects.requireNonNull(source, "source");
    }

    /** Nothing; of a device without memory of its own. */
    public static IterationMemory none() {
        return new IterationMemory(0, 0, 0, 0, "nothing to estimate");
    }

    /** Features and labels of one batch. */
    public long dataBytes() {
        return dataBytes;
    }

    /** What the forward pass leaves for the backward pass. */
    public long activationBytes() {
        return activationBytes;
    }

    /** Gradients of activations in the backward pass. */
    public long gradientBytes() {
        return gradientBytes;
    }

    /** Working memory within layers. */
    public long workingBytes() {
        return workingBytes;
    }

    /** All of it. */
    public long totalBytes() {
        return Math.addExact(Math.addExact(dataBytes, activationBytes), Math.addExact(gradientBytes, workingBytes));
    }

    /** Where the figures are from, in one phrase. */
    public String source() {
        return source;
    }
}
