package org.memferry.network;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.memferry.device.Device;
import org.memferry.plan.Strategy;
import org.memferry.planner.PlacementRules;

import java.io.File;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;

/** What an attachment is asked to do; made by the public configuration. Immutable. */
public final class AttachRequest {

    private final Supplier<Device> device;
    private final boolean ownsDevice;
    private final int batch;
    private final InputType[] inputTypes;
    private final int evaluationBatch;
    private final PlacementRules rules;
    private final int parameterSlots;
    private final Long headroomBytes;
    private final int updateThreads;
    private final Boolean eagerUpdate;
    private final Strategy strategy;
    private final File profileFile;
    private final boolean spillToHost;
    private final int verifiedSteps;
    private final Function<Ferry, TrainingListener> listener;
    private final boolean unattended;

    private AttachRequest(Builder b) {
        this.device = b.device;
        this.ownsDevice = b.ownsDevice;
        this.batch = b.batch;
        this.inputTypes = b.inputTypes == null ? null : b.inputTypes.clone();
        this.evaluationBatch = b.evaluationBatch;
        this.rules = b.rules;
        this.parameterSlots = b.parameterSlots;
        this.headroomBytes = b.headroomBytes;
        this.updateThreads = b.updateThreads;
        this.eagerUpdate = b.eagerUpdate;
        this.strategy = b.strategy;
        this.profileFile = b.profileFile;
        this.spillToHost = b.spillToHost;
        this.verifiedSteps = b.verifiedSteps;
        this.listener = b.listener;
        this.unattended = b.unattended;
    }

    /**
     * Starts a request.
     *
     * @param device     opens the device, or returns one that is open
     * @param ownsDevice true if closing the ferry closes the device
     */
    public static Builder builder(Supplier<Device> device, boolean ownsDevice) {
        return new Builder(device, ownsDevice);
    }

    /**
     * The same request, made by nobody who could read an error: what cannot be served later on is given back to DL4J with a warning instead of
     * thrown, and an attachment that the program itself makes takes its place.
     */
    public AttachRequest unattended() {
        Builder b = builder(device, ownsDevice).shapes(batch, inputTypes).placements(rules, parameterSlots).headroom(headroomBytes)
                .update(updateThreads, eagerUpdate).strategy(strategy, profileFile).spillToHost(spillToHost).verify(verifiedSteps)
                .listener(listener);
        b.unattended = true;
        return b.build();
    }

    boolean isUnattended() {
        return unattended;
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

    /** Examples that are evaluated at once; 0 if that is not said. */
    int evaluationBatch() {
        return evaluationBatch;
    }

    PlacementRules rules() {
        return rules;
    }

    int parameterSlots() {
        return parameterSlots;
    }

    Long headroomBytes() {
        return headroomBytes;
    }

    int updateThreads() {
        return updateThreads;
    }

    Boolean eagerUpdate() {
        return eagerUpdate;
    }

    /** How to plan from a profile; null to plan by sizes alone. */
    Strategy strategy() {
        return strategy;
    }

    /** Where a profile is kept; null for nowhere. */
    File profileFile() {
        return profileFile;
    }

    /** Whether workspace blocks that do not fit on the device are placed in host memory. */
    boolean spillToHost() {
        return spillToHost;
    }

    /** Iterations that a stock copy trains too; 0 for none. */
    int verifiedSteps() {
        return verifiedSteps;
    }

    TrainingListener listenerFor(Ferry ferry) {
        return listener == null ? new PhaseListener(ferry) : listener.apply(ferry);
    }

    /** Collects a request. */
    public static final class Builder {

        private final Supplier<Device> device;
        private final boolean ownsDevice;
        private int batch;
        private InputType[] inputTypes;
        private int evaluationBatch;
        private PlacementRules rules = PlacementRules.none();
        private int parameterSlots = 2;
        private Long headroomBytes;
        private int updateThreads;
        private Boolean eagerUpdate;
        private Strategy strategy;
        private File profileFile;
        private boolean spillToHost;
        private int verifiedSteps;
        private Function<Ferry, TrainingListener> listener;
        private boolean unattended;

        private Builder(Supplier<Device> device, boolean ownsDevice) {
            this.device = Objects.requireNonNull(device, "device");
            this.ownsDevice = ownsDevice;
        }

        /** Examples in a training iteration and the network's input types; 0 and null, the default, if not known. */
        public Builder shapes(int examples, InputType[] types) {
            this.batch = examples;
            this.inputTypes = types;
            return this;
        }

        /** Examples that are evaluated at once between iterations; 0, the default, for none beyond the batch that is trained. */
        public Builder evaluation(int examples) {
            this.evaluationBatch = examples;
            return this;
        }

        /** Placements fixed by the user, and the number of slots that PREFETCH layers share in a plan by sizes. */
        public Builder placements(PlacementRules fixed, int slots) {
            this.rules = Objects.requireNonNull(fixed, "rules");
            this.parameterSlots = slots;
            return this;
        }

        /** Device bytes to leave alone; null to leave that to the device. */
        public Builder headroom(Long bytes) {
            this.headroomBytes = bytes;
            return this;
        }

        /**
         * The optimizer's step.
         *
         * @param threads 0 for the default
         * @param eager   whether it is taken while backward goes on; null to decide by the listeners
         */
        public Builder update(int threads, Boolean eager) {
            this.updateThreads = threads;
            this.eagerUpdate = eager;
            return this;
        }

        /**
         * Plans from a profile.
         *
         * @param kind null to plan by sizes alone
         * @param file where the profile is kept, null for nowhere
         */
        public Builder strategy(Strategy kind, File file) {
            this.strategy = kind;
            this.profileFile = file;
            return this;
        }

        /** Whether workspace blocks that do not fit on the device are placed in host memory; false, the default, refuses them. */
        public Builder spillToHost(boolean spill) {
            this.spillToHost = spill;
            return this;
        }

        /** How many iterations a stock copy trains beside the network, to compare; 0, the default, for none. */
        public Builder verify(int steps) {
            this.verifiedSteps = steps;
            return this;
        }

        /** Makes the listener that tells the ferry of DL4J's phases, where the network has it already; null, the default, for our own. */
        public Builder listener(Function<Ferry, TrainingListener> maker) {
            this.listener = maker;
            return this;
        }

        /** The request. */
        public AttachRequest build() {
            return new AttachRequest(this);
        }
    }
}
