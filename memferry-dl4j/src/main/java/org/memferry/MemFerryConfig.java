package org.memferry;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.nd4j.RegionArrays;
import org.memferry.network.AttachRequest;
import org.memferry.network.Ferry;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.memferry.planner.PlacementRules;

import java.io.File;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.function.Function;

/**
 * How a network is attached. Immutable; every setting has a default that works. Can be serialised unless it holds an open device.
 *
 * <pre>{@code
 * MemFerryConfig config = MemFerryConfig.builder().device("emulated:512MB").expect(32, InputType.feedForward(784)).build();
 * }</pre>
 */
public final class MemFerryConfig implements Serializable {

    private static final long serialVersionUID = 1L;

    /** The device used where none is named: the one that the CPU backend computes on. */
    public static final String DEFAULT_DEVICE = "host";
    private static final String CARD = "cuda";

    private final Builder settings;

    private MemFerryConfig(Builder settings) {
        this.settings = settings;
    }

    /** Starts a configuration. */
    public static Builder builder() {
        return new Builder();
    }

    /** The configuration where nothing is set. */
    public static MemFerryConfig defaults() {
        return builder().build();
    }

    /**
     * The configuration that system properties and environment variables ask for; see {@link MemFerryProperties}. What they leave out has
     * its default.
     *
     * @throws RefusedException if a value is none that its setting takes; names the property
     */
    public static MemFerryConfig fromProperties() {
        Builder b = builder().device(deviceFromProperties());
        String headroom = MemFerryProperties.value(MemFerryProperties.HEADROOM);
        if (headroom != null) {
            b.headroomBytes = Sizes.parse(headroom, MemFerryProperties.HEADROOM);
        }
        String strategy = MemFerryProperties.value(MemFerryProperties.STRATEGY);
        if (strategy != null) {
            b.strategy(strategyNamed(strategy));
        }
        String profile = MemFerryProperties.value(MemFerryProperties.PROFILE);
        if (profile != null) {
            b.profile(new File(profile));
        }
        Boolean eager = MemFerryProperties.flag(MemFerryProperties.EAGER_UPDATE);
        if (eager != null) {
            b.eagerUpdate(eager);
        }
        Boolean spill = MemFerryProperties.flag(MemFerryProperties.SPILL_TO_HOST);
        if (spill != null) {
            b.spillToHost(spill);
        }
        Integer verified = MemFerryProperties.count(MemFerryProperties.VERIFY_FIRST_STEPS);
        if (verified != null) {
            b.verifyFirstSteps(verified);
        }
        b.fromProperties = true;
        return b.build();
    }

    private static String deviceFromProperties() {
        String named = MemFerryProperties.value(MemFerryProperties.DEVICE);
        String memory = MemFerryProperties.value(MemFerryProperties.DEVICE_MEMORY);
        String byDefault = memory != null && RegionArrays.computesOnCard() ? CARD : DEFAULT_DEVICE;
        return device(named == null ? byDefault : named, memory);
    }

    /** A device's specification with its memory in the place that its kind has for it. */
    static String device(String device, String memory) {
        if (memory == null) {
            return device;
        }
        String kind = device.split(",", 2)[0];
        String options = device.substring(kind.length());
        Sizes.parse(memory, MemFerryProperties.DEVICE_MEMORY);
        if (kind.equals(CARD) || kind.startsWith(CARD + ":")) {
            return kind + ",memory=" + memory + options;
        }
        if (kind.equals(DEFAULT_DEVICE) || kind.contains(":")) {
            throw new RefusedException(MemFerryProperties.DEVICE_MEMORY + ": '" + memory + "' with " + MemFerryProperties.DEVICE + " '" + device
                    + "' (expected: a device with memory of its own whose size is not given yet, such as " + MemFerryProperties.DEVICE
                    + "=emulated or cuda:0)");
        }
        return kind + ":" + memory + options;
    }

    private static Strategy strategyNamed(String name) {
        for (Strategy s : Strategy.values()) {
            if (s.name().equalsIgnoreCase(name) && s != Strategy.NONE) {
                return s;
            }
        }
        throw new RefusedException(MemFerryProperties.STRATEGY + ": '" + name + "' (expected: AUTO, ZERO_OFFLOAD, NATIVE_OFFLOAD, MEMFERRY, "
                + "GO_MEMFERRY or STREAM)");
    }

    /** The device's specification, such as {@code emulated:512MB}; the default where an open device was given. */
    public String device() {
        return settings.deviceSpecification;
    }

    /** This configuration with the shapes that will be trained; see {@link Builder#expect}. */
    public MemFerryConfig expect(int batch, InputType... inputTypes) {
        return settings.copy().expect(batch, inputTypes).build();
    }

    AttachRequest request(Function<Ferry, TrainingListener> listener) {
        UnknownSettings.warn();
        if (!settings.fromProperties) {
            UnusedSettings.warn();
        }
        Device open = settings.openDevice;
        String specification = settings.deviceSpecification;
        return AttachRequest.builder(open == null ? () -> Devices.open(specification, RegionArrays.computeStream()) : () -> open, open == null)
                .shapes(settings.batch, settings.inputTypes)
                .evaluation(settings.evaluationBatch)
                .placements(settings.rules, settings.parameterSlots)
                .headroom(settings.headroomBytes)
                .update(settings.updateThreads, settings.eagerUpdate)
                .strategy(settings.strategy, settings.profileFile)
                .spillToHost(settings.spillToHost)
                .verify(settings.verifiedSteps)
                .listener(listener)
                .build();
    }

    /** Collects a configuration. */
    public static final class Builder implements Serializable {

        private static final int MOST_SLOTS = 64;
        private static final int MOST_THREADS = 1024;

        private static final long serialVersionUID = 1L;

        private String deviceSpecification = DEFAULT_DEVICE;
        private transient Device openDevice;
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
        private boolean fromProperties;

        private Builder() {
        }

        private Builder copy() {
            Builder b = new Builder();
            b.deviceSpecification = deviceSpecification;
            b.openDevice = openDevice;
            b.batch = batch;
            b.inputTypes = inputTypes;
            b.evaluationBatch = evaluationBatch;
            b.rules = rules;
            b.parameterSlots = parameterSlots;
            b.headroomBytes = headroomBytes;
            b.updateThreads = updateThreads;
            b.eagerUpdate = eagerUpdate;
            b.strategy = strategy;
            b.profileFile = profileFile;
            b.spillToHost = spillToHost;
            b.verifiedSteps = verifiedSteps;
            b.fromProperties = fromProperties;
            return b;
        }

        /**
         * The device to use, opened at attach and closed with the ferry.
         *
         * @param specification {@code host}, or {@code emulated:<size>} with options; see {@link Devices#open}
         */
        public Builder device(String specification) {
            this.deviceSpecification = specification;
            this.openDevice = null;
            return this;
        }

        /** An open device, which stays open when the ferry is closed. */
        public Builder device(Device open) {
            if (open == null) {
                throw new RefusedException("device: null (expected: an open device, or its specification such as emulated:512MB)");
            }
            this.openDevice = open;
            return this;
        }

        /**
         * The shapes that will be trained. With them the plan is final at attach; without them it is provisional, and becomes final when
         * the first iteration opens.
         *
         * @param examples largest number of examples in an iteration
         * @param types    one input type per network input
         */
        public Builder expect(int examples, InputType... types) {
            if (examples < 1 || types == null || types.length == 0) {
                throw new RefusedException("expect(" + examples + ", " + (types == null ? 0 : types.length)
                        + " input types) (expected: at least 1 example and one type per network input)");
            }
            this.batch = examples;
            this.inputTypes = types.clone();
            return this;
        }

        /**
         * The largest number of examples that {@code evaluate} or {@code output} is given at once between iterations. The plan then leaves
         * room for the larger of the two, training and evaluation, from the start; without this call, for training alone, until an
         * evaluation that needs more makes it anew. DL4J keeps other arrays for it, and the same number of examples may need more.
         *
         * @param examples at least 1
         */
        public Builder evaluate(int examples) {
            if (examples < 1) {
                throw new RefusedException("evaluate: " + examples + " (expected: at least 1 example; leave it unset where nothing is "
                        + "evaluated)");
            }
            this.evaluationBatch = examples;
            return this;
        }

        /**
         * Fixes the placement of layers in both passes; the last rule that matches a layer wins.
         *
         * @param layers layer index or vertex name, with {@code *} and {@code ?}
         */
        public Builder place(String layers, Placement placement) {
            return place(layers, placement, placement);
        }

        /** Fixes the placement of layers per pass. */
        public Builder place(String layers, Placement forward, Placement backward) {
            if (forward == null || backward == null) {
                throw new RefusedException("place('" + layers + "', " + forward + ", " + backward + ") (expected: RESIDENT, PREFETCH or DIRECT "
                        + "for each pass)");
            }
            this.rules = rules.place(layers, forward, backward);
            return this;
        }

        /** Fixes where the backward pass of layers writes its gradient. */
        public Builder placeGradient(String layers, GradientHome home) {
            this.rules = rules.placeGradient(layers, home);
            return this;
        }

        /** How many slots the PREFETCH layers share, 2 to 64; one more lets copies run one more layer ahead. */
        public Builder parameterSlots(int slots) {
            if (slots < 2 || slots > MOST_SLOTS) {
                throw new RefusedException("parameterSlots: " + slots + " (expected: 2 to " + MOST_SLOTS + ": at least one to compute from and one "
                        + "to fill)");
            }
            this.parameterSlots = slots;
            return this;
        }

        /**
         * Device memory to leave alone beside slots and activations, such as {@code 256MB}. If not set: on a card 64 MB for
         * CUDA's libraries, and 256 MB more for cuDNN's scratch where the network has convolutions, but a sixteenth of the card at most; nothing
         * on other devices.
         */
        public Builder headroom(String size) {
            this.headroomBytes = Sizes.parse(size, "headroom");
            return this;
        }

        /**
         * Threads of the optimizer step, the training thread included; if not set, property {@code org.memferry.update.threads}, or else
         * the processors that this program may use.
         */
        public Builder updateThreads(int threads) {
            if (threads < 1 || threads > MOST_THREADS) {
                throw new RefusedException("updateThreads: " + threads + " (expected: 1 to " + MOST_THREADS + "; leave it unset to use every processor "
                        + "that this program may use)");
            }
            this.updateThreads = threads;
            return this;
        }

        /**
         * Plans from times instead of sizes alone. The first iterations are measured, as part of the training like any other; after them
         * the plan of this strategy that is predicted to be fastest takes over. Without effect on a device without memory of its own.
         *
         * @param kind any but {@link Strategy#NONE}, which is training without MemFerry
         */
        public Builder strategy(Strategy kind) {
            if (kind == null || kind == Strategy.NONE) {
                throw new RefusedException("strategy " + kind + " (expected: " + Strategy.AUTO + " or another strategy that keeps the "
                        + "parameters on the host; NONE is training without MemFerry, which the simulator can show)");
            }
            this.strategy = kind;
            return this;
        }

        /**
         * Keeps the measured profile in a file: one that is there is used, without measuring again, if it was made for the same network,
         * batch, device and link.
         */
        public Builder profile(File file) {
            this.profileFile = file;
            return this;
        }

        /**
         * Whether a layer's optimizer step is taken as soon as its gradient is in host memory, while backward goes on. If not set it is, on a
         * device with memory of its own, unless a listener may read gradients or parameters between backward and the step.
         *
         * @param eager true even with such a listener, which then sees some layers after their step; false never, so that an iteration
         *              which an exception ends in the middle of backward changes nothing
         */
        public Builder eagerUpdate(boolean eager) {
            this.eagerUpdate = eager;
            return this;
        }

        /**
         * What happens to a block of a DL4J workspace (activations, working memory) that the device has no room for. Takes effect where
         * MemFerry's ND4J managers are installed; see {@link MemFerryRuntime}.
         *
         * @param spill true places it in host memory that the device can address, slower to compute from: counted, logged once; false, the
         *              default, ends the iteration with an {@link org.memferry.base.OutOfMemoryException}
         */
        public Builder spillToHost(boolean spill) {
            this.spillToHost = spill;
            return this;
        }

        /**
         * Trains the first iterations on a stock DL4J copy of the network as well, and compares score, parameters and updater state bit for
         * bit. What was found is in {@link MemFerry#verification()} and in one line of the log; training itself gives the same bits as
         * without this. At a difference {@code fit} throws an {@link org.memferry.base.DifferenceException} at the end of that iteration,
         * naming the first element that differs.
         *
         * <p>The copy is in host memory and needs as much as plain DL4J on the CPU: parameters, gradients, updater state, activations. Where the
         * host has less, on ND4J's CUDA backend, with truncated back-propagation, an OCNNOutputLayer, with layers, rules or other parts of
         * the configuration that are of the program's own classes (SameDiff layers excepted), and with listeners of its own that are called
         * before the step, nothing is verified, and one warning and {@link MemFerry#verification()} say why.
         *
         * @param steps how many iterations; 0, the default, for none
         */
        public Builder verifyFirstSteps(int steps) {
            if (steps < 0) {
                throw new RefusedException("verifyFirstSteps: " + steps + " (expected: at least 1 iteration to train beside a stock copy, or "
                        + "0 for none)");
            }
            this.verifiedSteps = steps;
            return this;
        }

        private void writeObject(ObjectOutputStream out) throws IOException {
            if (openDevice != null) {
                throw new NotSerializableException("a configuration over the open device '" + openDevice.name() + "': an open device stays "
                        + "in its program. Name the device by its specification to serialise the configuration.");
            }
            out.defaultWriteObject();
        }

        /** The configuration. */
        public MemFerryConfig build() {
            if (profileFile != null && strategy == null) {
                throw new RefusedException("profile " + profileFile + " without a strategy (expected: strategy(AUTO), or any other, beside it: a plan "
                        + "made from sizes alone measures nothing and reads no profile)");
            }
            return new MemFerryConfig(copy());
        }
    }
}
