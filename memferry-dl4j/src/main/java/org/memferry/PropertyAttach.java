package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.memferry.nd4j.IterationWatch;
import org.memferry.network.CallStack;
import org.memferry.network.Ferry;

/**
 * Attaches every network at the beginning of its first training iteration, where {@link MemFerryProperties#ENABLED} says so: made by
 * MemFerry's ND4J managers, not by programs. What cannot be attached ends {@code fit} with the refusal.
 */
public final class PropertyAttach implements IterationWatch {

    private final boolean enabled = Boolean.TRUE.equals(MemFerryProperties.flag(MemFerryProperties.ENABLED));
    /** Attaching itself uses workspaces. */
    private final ThreadLocal<Boolean> looking = ThreadLocal.withInitial(() -> false);

    /** Reads the property. */
    public PropertyAttach() {
        // A service has a public constructor.
    }

    @Override
    public void iterationMayBegin() {
        if (!enabled || looking.get() || Ferry.isIterating()) {
            return;
        }
        looking.set(true);
        try {
            Model network = CallStack.beginningIteration();
            if (network != null && Ferry.of(network) == null) {
                Ferry.attachInIteration(network, MemFerryConfig.fromProperties().request(null));
            }
        } finally {
            looking.set(false);
        }
    }
}
