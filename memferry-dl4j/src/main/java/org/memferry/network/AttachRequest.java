package org.memferry.network;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.memferry.device.Device;
import org.memferry.planner.PlacementRules;

import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;

/** What an attachment is asked to do; made by the public configuration. Immutable. */
public final class AttachRequest {

    private final Supplier<Device> device;
    private final boolean ownsDevice;
    private final int batch;
    private final InputType[] inputTypes;
    private final PlacementRules rules;
    private final int parameterSlots;
    private final long headroomBytes;
    private final int updateThreads;
    private final Boolean eagerUpdate;
    private final Function<Ferry, TrainingListener> listener;

    /**
     * @param device         opens the device, or returns one that is open
     * @param ownsDevice     true if closing the ferry closes the device
     * @param batch          examples in a training iteration; 0 if not known
     * @param inputTypes     input types of the network; null if not known
     * @param rules          placements fixed by the user
     * @param parameterSlots slots that PREFETCH layers share
     * @param headroomBytes  device bytes to leave alone
     * @param updateThreads  threads of the optimizer step; 0 for the default
     * @param eagerUpdate    whether steps are taken while backward goes on; null to decide by the listeners
     * @param listener       makes the listener that tells the ferry of DL4J's phases, where the network has it already; null for our own
     */
    public AttachRequest(Supplier<Device> device, boolean ownsDevice, int batch, InputType[] inputTypes, PlacementRules rules,
            int parameterSlots, long headroomBytes, int updateThreads, Boolean eagerUpdate, Function<Ferry, TrainingListener> listener) {
        this.device = Objects.requireNonNull(device, "device");
        this.ownsDevice = ownsDevice;
        this.batch = batch;
        this.inputTypes = inputTypes == null ? null : inputTypes.clone();
        this.rules = Objects.requireNonNull(rules, "rules");
        this.parameterSlots = parameterSlots;
        this.headroomBytes = headroomBytes;
        this.updateThreads = updateThreads;
        this.eagerUpdate = eagerUpdate;
        this.listener = listener;
    }

    Device openDevice() {
        return device.get();
    }

    boolean ownsDevice() {
        return ownsDevice;
    }

    boolean expectsShapes() {
        return batch > 0 && inputTypes != null;
    }

    int batch() {
        return batch;
    }

    InputType[] inputTypes() {
        return inputTypes == null ? null : inputTypes.clone();
    }

    PlacementRules rules() {
        return rules;
    }

    int parameterSlots() {
        return parameterSlots;
    }

    long headroomBytes() {
        return headroomBytes;
    }

    int updateThreads() {
        return updateThreads;
    }

    Boolean eagerUpdate() {
        return eagerUpdate;
    }

    TrainingListener listenerFor(Ferry ferry) {
        return listener == null ? new PhaseListener(ferry) : listener.apply(ferry);
    }
}
