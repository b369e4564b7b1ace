package org.memferry;

import org.deeplearning4j.nn.api.Model;
import org.memferry.base.MemFerryException;
import org.memferry.nd4j.IterationWatch;
import org.memferry.network.CallStack;
import org.memferry.network.Ferry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/**
 * Attaches every network at the beginning of its first training iteration, where {@link MemFerryProperties#ENABLED} says so: made by
 * MemFerry's ND4J managers, not by programs. As with the agent, a network that cannot be served stays plain DL4J's, with one warning.
 */
public final class PropertyAttach implements IterationWatch {

    private static final Logger LOG = LoggerFactory.getLogger(PropertyAttach.class);

    private final boolean enabled = isEnabled();
    /** Attaching itself uses workspaces. */
    private final ThreadLocal<Boolean> looking = ThreadLocal.withInitial(() -> false);
    private final Set<Model> plain = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    /** Reads the property. */
    public PropertyAttach() {
        // A service has a public constructor.
    }

    private static boolean isEnabled() {
        try {
            return Boolean.TRUE.equals(MemFerryProperties.flag(MemFerryProperties.ENABLED));
        } catch (MemFerryException e) {
            LOG.warn("networks stay plain DL4J's: {}", e.getMessage());
            return false;
        }
    }

    @Override
    public void iterationMayBegin() {
        if (!enabled || looking.get() || Ferry.isIterating()) {
            return;
        }
        looking.set(true);
        try {
            Model network = CallStack.beginningIteration();
            if (network != null && Ferry.of(network) == null && !plain.contains(network)) {
                attach(network);
            }
        } finally {
            looking.set(false);
        }
    }

    private void attach(Model network) {
        try {
            if (Ferry.attachInIteration(network, MemFerryConfig.fromProperties().request(null).unattended()).isOpen()) {
                return;
            }
        } catch (MemFerryException e) {
            LOG.warn("this {} stays plain DL4J's: {}", network.getClass().getSimpleName(), e.getMessage());
        }
        plain.add(network);
    }
}
