package org.memferry.plan;

import java.util.List;
import java.util.Objects;

/**
 * A network with what each of its layers has to do in one training iteration: all that an estimate needs before anything has run. Told by
 * the configuration, the input types and the batch. Immutable; pure data.
 */
public final class Workload {

    private final String key;
    private final NetworkDescription network;
    private final List<LayerWork> work;
    private final IterationMemory memory;

    /**
     * @param key     what it holds for: network and batch shape; the start of {@link Profile#key()} of a profile of the same
     * @param network the layers
     * @param work    one per layer of the network; that of a layer without parameters is counted with the layer before it
     * @param memory  what an iteration holds on the device beside parameters, estimated
     */
    public Workload(String key, NetworkDescription network, List<LayerWork> work, IterationMemory memory) {
        this.key = Objects.requireNonNull(key, "key");
        this.network = Objects.requireNonNull(network, "network");
        this.work = List.copyOf(work);
        this.memory = Objects.requireNonNull(memory, "memory");
        if (this.work.size() != network.layers().size()) {
            throw new IllegalArgumentException("workload " + key + ": work of " + this.work.size() + " layers for a network of "
                    + network.layers().size() + " (expected: one per layer)");
        }
    }

    /** What it holds for: network and batch shape, in one comparable text. */
    public String key() {
        return key;
    }

    /** The layers; how often reads in place cross the link is told for the shapes of this workload. */
    public NetworkDescription network() {
        return network;
    }

    /** One per layer of {@link #network()}. */
    public List<LayerWork> work() {
        return work;
    }

    /** What an iteration holds on the device beside parameters, estimated. */
    public IterationMemory memory() {
        return memory;
    }

    /** All of {@link #memory()}, in bytes. */
    public long activationBytes() {
        return memory.totalBytes();
    }

    /** Where {@link #memory()} is from, in one phrase. */
    public String activationSource() {
        return memory.source();
    }

    /** The budget of a device of a size for this workload. */
    public Budget budget(long deviceBytes, long headroomBytes) {
        return new Budget(deviceBytes, memory.totalBytes(), true, headroomBytes, true);
    }
}
