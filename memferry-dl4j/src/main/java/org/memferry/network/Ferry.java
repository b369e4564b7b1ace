package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.Region;
import org.memferry.device.TimelineListener;
import org.memferry.engine.EngineMetrics;
import org.memferry.engine.GradientListener;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.engine.Program;
import org.memferry.nd4j.DeviceUse;
import org.memferry.nd4j.LayerScopes;
import org.memferry.nd4j.RegionArrays;
import org.memferry.nd4j.SlotScratch;
import org.memferry.nd4j.ThreadWorkspaces;
import org.memferry.plan.GradientHome;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Timeline;
import org.memferry.plan.UpdateTiming;
import org.memferry.report.MemoryInfo;
import org.memferry.report.MemoryTable;
import org.memferry.report.PlanTable;
import org.memferry.report.Verification;
import org.memferry.shadow.Lease;
import org.memferry.shadow.ShadowLayer;
import org.memferry.shadow.ShadowModel;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/**
 * The running attachment of one network to one device. Owns the host regions (parameters, gradients, updater state) and the slab,
 * translates DL4J's calls into access events of the engine, and gives the network back on {@link #close()}.
 *
 * <p>Reads top to bottom in the order things happen: attach, then the events of one iteration, then what users may do in between, then
 * close.
 */
public final class Ferry implements UpdateHook, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Ferry.class);
    /** DL4J opens this workspace around the computation of every layer, in both kinds of network. */
    private static final String LAYER_WORKSPACE = "WS_LAYER_WORKING_MEM";
    /** In place of a unit: a step of many. */
    private static final int MANY = -1;
    private static final List<WeakReference<Ferry>> LIVE = new CopyOnWriteArrayList<>();
    /** How long closing waits for another thread's next iteration before it waits for the end of that thread's {@code fit}. */
    private static final int PATIENCE_SECONDS = 20;
    private static final int POLL_MILLIS = 2;
    private static final Cleaner CLEANER = Cleaner.create();

    private final NetworkAdapter adapter;
    private final AttachRequest request;
    private final Device device;
    private final DataType type;
    private final boolean rank2;
    private final Region master;
    private Region gradients;
    private Region state;
    private Region slab;
    private SlotScratch scratch = SlotScratch.NONE;

    private final ShadowModel shadow;
    private List<NetworkUnit> units;
    private List<UnitBinding> bindings;
    private final List<SameDiffBinding> graphs = new ArrayList<>();
    private final List<ShadowLayer> graphLayers = new ArrayList<>();
    private final Map<Trainable, Trainable> onHost = new IdentityHashMap<>();
    private final Map<Trainable, Integer> unitIndex = new IdentityHashMap<>();

    private INDArray trackedParams;
    private INDArray plainParams;
    private INDArray gradientArray;
    private INDArray stateArray;
    /** Also the lock that keeps an iteration from opening while another thread rebinds a gradient. */
    private GradientHomes homes;

    private BaseMultiLayerUpdater<?> updater;
    private HostBlocks blocks;
    /** Whether rules in the configuration were changed since the blocks were made. */
    private boolean rulesChanged;
    private FerryAccumulator accumulator;
    private TrainingListener listener;
    private final Planning planning;
    /** Trains a stock copy beside the first iterations; null if nobody asked. */
    private final Verifier verifier;
    private MemoryTable preflight;
    private FirstConvolution firstConvolution;
    private Plan plan;
    private volatile Thread owner = Thread.currentThread();
    private final UpdateEngine updateEngine;
    private final Remains remains;
    private final Cleaner.Cleanable cleanable;
    private final LayerScopes scopes = new Scopes(this);
    /** Of the thread that trained last; null if none did or workspaces are not accounted. */
    private ThreadWorkspaces training;
    private UpdateUnits updateUnits;
    private HostUpdate hostUpdate;
    /** Per unit whether its step may be taken while backward goes on. */
    private boolean[] earlySteps;
    private LayerSteps steps;
    private final ScoreNorms norms = new ScoreNorms();
    private final Step step = new Step();
    private final LongAdder updateNanos = new LongAdder();
    private final LongAdder updateWaitNanos = new LongAdder();
    /** What is recorded of some iterations; null if nobody asked. */
    private volatile TimelineRecorder recorder;
    private volatile boolean recording;
    private boolean stepTaken;
    private boolean slowListenerNamed;
    private boolean cloningNamed;
    private boolean installing;
    /** Orders closing against the beginning of an iteration. */
    private final Object gate = new Object();
    private volatile boolean closeAsked;
    private volatile boolean closed;

    // ---------------------------------------------------------------------------------------------------------------- attach

    private Ferry(NetworkAdapter adapter, AttachRequest request, Device device, boolean rank2, Planning planning, UpdateEngine updateEngine) {
        this.planning = planning;
        this.adapter = adapter;
        this.request = request;
        this.device = device;
        this.type = adapter.dataType();
        this.rank2 = rank2;
        this.updateEngine = updateEngine;
        this.verifier = request.verifiedSteps() == 0 ? null : new Verifier(adapter, request.verifiedSteps());
        this.remains = new Remains(device, updateEngine, request.ownsDevice());
        this.cleanable = CLEANER.register(this, remains);
        long bytes = Math.multiplyExact(adapter.countParameters(), (long) RegionArrays.elementBytes(type));
        this.master = remains.host(bytes, "parameters");
        this.shadow = new ShadowModel(master, type);
        this.trackedParams = RegionArrays.trackedVector(master, 0, type, adapter.countParameters(), rank2, this::userTouchesParameters);
        this.plainParams = RegionArrays.vector(master, 0, type, adapter.countParameters(), rank2);
    }

    /**
     * Attaches to an initialised network: weights and updater state are kept.
     *
     * @throws RefusedException                         if the network is of a kind that is not served; nothing was touched
     * @throws org.memferry.base.OutOfMemoryException if memory is short; nothing was touched
     */
    public static Ferry attach(Model network, AttachRequest request) {
        NetworkAdapter adapter = NetworkAdapter.of(network);
        Ferry unasked = of(network);
        if (unasked != null && unasked.isUnattended()) {
            unasked.close();
        }
        if (!adapter.initialised()) {
            throw new RefusedException("the network is not initialised: call init() before MemFerry.attach, or use MemFerry.init(network, "
                    + "config) in place of init()");
        }
        Support.check(adapter);
        List<NetworkUnit> units = adapter.units();
        List<UnitBinding> bindings = bindings(adapter, units, adapter.flattenedParams());
        NetworkDescription description = Traits.describe(adapter, units, bindings);
        Optional<String> otherRules = new RuleCheck(units).otherRules(adapter.updater());
        if (otherRules.isEmpty() && adapter.updater() != null) {
            new RuleCheck(units).checkState(adapter.updater().getUpdaterBlocks());
        }
        return open(adapter, request, description, adapter.flattenedParams().rank() == 2 && Support.rank2(), ferry -> {
            ferry.plainParams.assign(adapter.flattenedParams().reshape(ferry.plainParams.shape()));
            boolean fresh = ferry.takeOver(units, bindings, otherRules.isEmpty());
            if (otherRules.isPresent()) {
                LOG.warn("the network's updater was made for other rules ({}): its state is not theirs, moments start from zero at iteration"
                        + " {}", otherRules.get(), adapter.iteration());
            } else if (fresh && ferry.stateArray != null && adapter.iteration() > 0) {
                LOG.warn("the network has been trained but has no updater state for its rules (a model file without one, perhaps): moments "
                        + "start from zero at iteration {}", adapter.iteration());
            }
        });
    }

    /**
     * Initialises a network that is not yet, in place of {@code network.init()}: same initial weights for the same seed, but they never
     * exist outside the host region.
     */
    public static Ferry init(Model network, AttachRequest request) {
        return initialise(network, request, ferry -> {
            ferry.adapter.init(ferry.plainParams);
            ferry.adapter.initialiseWeights();
        });
    }

    /** Initialises a network with parameters and updater state from a model file. */
    static Ferry restore(Model network, AttachRequest request, ModelArchive archive, boolean loadUpdater) {
        long expected = NetworkAdapter.of(network).countParameters();
        Ferry ferry = initialise(network, request, f -> {
            archive.readParameters(f.master.address(), expected, f.type);
            // After the parameters, as in ModelSerializer: some layers set a parameter when they are made (radius of OCNNOutputLayer).
            f.adapter.init(f.plainParams);
        });
        try {
            ferry.restoreState(archive, loadUpdater);
        } catch (RuntimeException e) {
            ferry.close();
            throw e;
        }
        return ferry;
    }

    private void restoreState(ModelArchive archive, boolean loadUpdater) {
        if (!loadUpdater || stateArray == null) {
            return;
        }
        if (!archive.hasUpdaterState()) {
            LOG.warn("the model file has no updater state: moments start from zero at iteration {}", adapter.iteration());
            return;
        }
        archive.readUpdaterState(state.address(), stateArray.length(), type);
        new RuleCheck(units).checkState(blocks.blocks());
    }

    private static Ferry initialise(Model network, AttachRequest request, Consumer<Ferry> init) {
        NetworkAdapter adapter = NetworkAdapter.of(network);
        if (adapter.initialised()) {
            throw new RefusedException("the network is initialised already: use MemFerry.attach(network, config), which keeps its weights");
        }
        Support.checkConfiguration(adapter);
        // Described by a twin first, so that a refusal leaves the network itself untouched.
        NetworkDescription description = describe(adapter, twin -> { });
        boolean rank2 = Support.rank2();
        return open(adapter, request, description, rank2, ferry -> {
            init.accept(ferry);
            List<NetworkUnit> units = adapter.units();
            ferry.takeOver(units, bindings(adapter, units, ferry.plainParams), true);
        });
    }

    /**
     * Describes a network by a twin of the same configuration, which is initialised on memory that is never written.
     *
     * @param meanwhile is given the twin while it lives
     */
    static NetworkDescription describe(NetworkAdapter adapter, Consumer<NetworkAdapter> meanwhile) {
        NetworkAdapter twin = adapter.twin();
        long count = adapter.countParameters();
        long bytes = Math.multiplyExact(count, (long) RegionArrays.elementBytes(adapter.dataType()));
        try (Device scratch = Devices.open("host"); Region region = scratch.allocateHost(bytes, "twin")) {
            twin.init(RegionArrays.vector(region, 0, adapter.dataType(), count, Support.rank2()));
            List<NetworkUnit> units = twin.units();
            NetworkDescription description = Traits.describe(twin, units, bindings(twin, units, twin.flattenedParams()));
            meanwhile.accept(twin);
            return description;
        }
    }

    private static Ferry open(NetworkAdapter adapter, AttachRequest request, NetworkDescription description, boolean rank2,
            Consumer<Ferry> body) {
        Device device = request.openDevice();
        UpdateEngine updateEngine = null;
        Ferry ferry = null;
        try {
            Support.checkDevice(Nd4j.getBackend().getClass().getSimpleName(), device);
            Planning planning = new Planning(adapter, request, device);
            Plan first = planning.first(description);
            Preflight preflight = Preflight.of(first, ownBytes(adapter), device).check();
            updateEngine = request.updateThreads() > 0 ? UpdateEngine.start(request.updateThreads()) : UpdateEngine.start();
            ferry = new Ferry(adapter, request, device, rank2, planning, updateEngine);
            ferry.preflight = preflight.table();
            ferry.plan = first;
            ferry.reserve();
            body.accept(ferry);
            ferry.begin();
            ferry.announce();
            LIVE.removeIf(r -> r.get() == null);
            LIVE.add(new WeakReference<>(ferry));
            return ferry;
        } catch (RuntimeException | Error e) {
            if (ferry != null) {
                ferry.remains.giveBack();
                ferry.cleanable.clean();
            } else {
                new Remains(device, updateEngine, request.ownsDevice()).giveBack();
            }
            throw e;
        }
    }

    /** Starts on a plan that is final already. Should the device fail in that, the network is given back before anybody hears of it. */
    private void begin() {
        if (!plan.budget().finalShapes()) {
            return;
        }
        try {
            start();
        } catch (RuntimeException | Error e) {
            giveBackAll();
            throw e;
        }
    }

    /** Bytes of the ordinary arrays that a network holds, and that it gives back when it is attached. */
    private static long ownBytes(NetworkAdapter adapter) {
        if (!adapter.initialised()) {
            return 0;
        }
        long elements = adapter.flattenedParams().length();
        elements = Math.addExact(elements, adapter.flattenedGradients() == null ? 0 : adapter.flattenedGradients().length());
        INDArray state = adapter.updater() == null ? null : adapter.updater().getStateViewArray();
        elements = Math.addExact(elements, state == null ? 0 : state.length());
        return Math.multiplyExact(elements, (long) RegionArrays.elementBytes(adapter.dataType()));
    }

    static List<UnitBinding> bindings(NetworkAdapter adapter, List<NetworkUnit> units, INDArray flat) {
        List<UnitBinding> bindings = new ArrayList<>();
        for (NetworkUnit unit : units) {
            bindings.add(new UnitBinding(unit, (offset, length) -> MultiLayerAdapter.view(flat, unit.offset + offset, length)));
        }
        return bindings;
    }

    /** Takes all memory that the plan needs, before the network is touched. */
    private void reserve() {
        gradients = remains.host(plan.network().parameterBytes(), "gradients");
        state = remains.host(plan.network().updaterStateBytes(), "updater state");
        requireInPlace();
        if (plan.budget().finalShapes()) {
            reserveSlab();
        }
    }

    private void reserveSlab() {
        slab = plan.slabBytes() > 0 ? remains.slab(plan.slabBytes(), "slots") : null;
    }

    /**
     * Swaps the network's arrays for ours. All memory is there, and the device is not asked for anything: nothing is refused any more.
     *
     * @param keepState whether the updater state that the network may have is of its rules
     * @return true if the network had no updater state that fits, so that it begins anew
     */
    private boolean takeOver(List<NetworkUnit> networkUnits, List<UnitBinding> unitBindings, boolean keepState) {
        this.units = networkUnits;
        this.bindings = unitBindings;
        NetworkDescription description = plan.network();
        firstConvolution = new FirstConvolution(device, description);
        INDArray oldParams = adapter.flattenedParams();
        INDArray oldGradients = adapter.flattenedGradients();
        BaseMultiLayerUpdater<?> oldUpdater = adapter.updater();
        INDArray oldState = oldUpdater == null ? null : oldUpdater.getStateViewArray();

        gradientArray = RegionArrays.trackedVector(gradients, 0, type, description.parameterCount(), true, this::checkOpen);
        makeStateArray(description.updaterStateCount());
        for (int i = 0; i < units.size(); i++) {
            NetworkUnit unit = units.get(i);
            int index = i;
            ShadowLayer layer = shadow.add(unit.name, unit.offset, bindings.get(i).slices(), () -> userTouchesLayer(index));
            bindMaster(i, layer);
            if (!description.layers().get(i).readAfterBackward()) {
                norms.add(unit, layer, type);
            }
        }
        adapter.setFlattenedParams(trackedParams);
        if (oldGradients != null) {
            // Below a frozen layer DL4J's backward pass writes no gradient, and its updater goes on with what stands there.
            gradientArray.assign(oldGradients.reshape(gradientArray.shape()));
        }
        homes = new GradientHomes(units, bindings, gradients, type, rank2);
        for (int i = 0; i < units.size(); i++) {
            Trainable view = UpdaterState.withGradients(units.get(i).trainable, homes.host(i));
            onHost.put(units.get(i).trainable, view);
            unitIndex.put(units.get(i).trainable, i);
            if (units.get(i).layer != null) {
                onHost.put(units.get(i).layer, view);
            }
        }
        updateUnits = new UpdateUnits(units, homes, description.backwardOrder(), this::onHost);
        adapter.setFlattenedGradients(gradientArray);
        bindings.forEach(UnitBinding::rebindOptimizers);
        boolean fresh = !keepState || oldState == null || stateArray == null || oldState.length() != stateArray.length();
        HostBlocks made = makeBlocks();
        if (!fresh) {
            adoptState(HostBlocks.layoutOf(oldUpdater), oldState, made.layout());
        }
        installUpdater(made, fresh);
        this.listener = request.listenerFor(this);
        if (!adapter.listeners().contains(listener)) {
            adapter.addListener(listener);
        }
        homes.move(adapter.gradient(), oldGradients, gradientArray);
        closeOrdinary(oldParams, oldGradients, oldState);
        return fresh;
    }

    /** Rules that were changed in the configuration alone have moved the limits of blocks. */
    private void adoptState(BlockLayout from, INDArray fromState, BlockLayout to) {
        if (from.equals(to)) {
            stateArray.assign(fromState.reshape(stateArray.shape()));
        } else {
            UpdaterState.relayout(from, fromState, to, stateArray);
        }
    }

    private void makeStateArray(long count) {
        Region region = state;
        stateArray = count == 0 ? null : RegionArrays.trackedVector(region, 0, type, count, rank2, () -> {
            checkOpen(region);
            arraysGiven();
        });
    }

    private void bindMaster(int index, ShadowLayer layer) {
        NetworkUnit unit = units.get(index);
        bindings.get(index).bind(
                (offset, length) -> RegionArrays.trackedVector(master, unit.offset + offset, type, length, rank2,
                        () -> userTouchesLayer(index)),
                table -> new ParameterMap(this, layer, table.index(), !Layers.sameDiff(unit)));
        if (Layers.sameDiff(unit)) {
            for (UnitBinding.Table table : bindings.get(index).tables()) {
                graphs.add(new SameDiffBinding(table, layer, this));
                graphLayers.add(layer);
            }
        }
    }

    private void installUpdater(boolean fresh) {
        installUpdater(makeBlocks(), fresh);
    }

    private HostBlocks makeBlocks() {
        // Every parameter table is read for them: these reads must not start healing.
        installing = true;
        try {
            return HostBlocks.over(units, adapter.flattenedParams(), gradientArray, stateArray);
        } finally {
            installing = false;
        }
    }

    private void installUpdater(HostBlocks newBlocks, boolean fresh) {
        blocks = newBlocks;
        rulesChanged = false;
        updater = adapter.ferryUpdater(this, newBlocks, stateArray);
        if (fresh) {
            UpdaterState.initialise(updater);
        }
        hostUpdate = hostUpdate();
        findEarlySteps();
        accumulator = new FerryAccumulator(this);
        adapter.setUpdater(updater);
        adapter.setAccumulator(accumulator);
        if (verifier != null) {
            verifier.rulesReplaced();
        }
    }

    private HostUpdate hostUpdate() {
        return new HostUpdate(updater, blocks, updateEngine, new Region[] {master, gradients, state}, ElementType.of(type),
                adapter.defaultConfiguration().isMiniBatch(), updateUnits);
    }

    /** Which layers may take their step while backward goes on: nobody reads their parameters again in the iteration. */
    private void findEarlySteps() {
        earlySteps = new boolean[units.size()];
        for (int i = 0; i < earlySteps.length; i++) {
            NetworkUnit unit = units.get(i);
            earlySteps[i] = !plan.network().layers().get(i).readAfterBackward() && hostUpdate.isSeparable(unit.trainable);
        }
    }

    /** Puts our listener back, in front: those behind it then see gradients where they stay. Not to be called by a listener. */
    private void listenFirst() {
        Collection<TrainingListener> present = adapter.listeners();
        if (!present.isEmpty() && present.iterator().next() == listener) {
            return;
        }
        List<TrainingListener> all = new ArrayList<>();
        all.add(listener);
        for (TrainingListener other : present) {
            if (other != listener) {
                all.add(other);
            }
        }
        adapter.setListeners(all);
    }

    /** The network's own flat arrays have no reader any more: their memory is given back now and not at some garbage collection. */
    private static void closeOrdinary(INDArray... arrays) {
        for (INDArray a : arrays) {
            if (a != null && a.closeable() && !a.wasClosed()) {
                a.close();
            }
        }
    }

    /** Starts the engine on the plan, which is final, in the slab taken for it. */
    private void start() {
        Plan chosen = planning.starting(plan, master, gradients, slab);
        if (chosen.slabBytes() != plan.slabBytes()) {
            closeSlab();
            plan = chosen;
            reserveSlab();
        }
        plan = chosen;
        run();
    }

    /** Another plan takes over between two iterations. */
    private void replan(Plan next) {
        EngineMetrics metrics = shadow.engine().metrics();
        shadow.engine().close();
        try {
            endSteps();
            // Their slots may be elsewhere from now on.
            releaseGraphs();
            synchronized (homes) {
                homes.leaveSlots();
                plan = next;
                long present = slab == null ? 0 : slab.bytes();
                if (planning.keepsSlab() ? present < next.slabBytes() : present != next.slabBytes()) {
                    closeSlab();
                    reserveSlab();
                }
                run();
                shadow.engine().goOnFrom(metrics);
            }
        } catch (RuntimeException | Error e) {
            stop();
            throw e;
        }
    }

    /** The device failed before there was an engine on it: the next iteration begins as the first did, with a plan to make final. */
    private void stop() {
        shadow.stop();
        releaseGraphs();
        endSteps();
        synchronized (homes) {
            homes.leaveSlots();
        }
        closeSlab();
    }

    private void endSteps() {
        if (steps != null) {
            steps.close();
            steps = null;
            remains.steps(null);
        }
    }

    private void closeSlab() {
        if (slab != null) {
            slab.close();
            slab = null;
        }
    }

    private void run() {
        requireInPlace();
        Program program = Program.compile(plan);
        scratch.close();
        scratch = scratchFor(plan);
        homes.useSlots(program, slab, scratch.gradients());
        if (plan.updateTiming().isLayerwise()) {
            // The thread must not keep the network alive: while a step is due the training thread does.
            WeakReference<Ferry> self = new WeakReference<>(this);
            steps = new LayerSteps(device, units.size(), unit -> self.get().mayStepEarly(unit), unit -> self.get().takeStep(unit));
            remains.steps(steps);
        }
        shadow.start(program, device, gradients, slab, scratch.parameters(), steps == null ? GradientListener.NONE : steps);
        shadow.engine().watchVisits(recording ? recorder : TimelineListener.NONE);
    }

    private SlotScratch scratchFor(Plan chosen) {
        long parameterBytes = 0;
        long gradientBytes = 0;
        for (int i = 0; i < chosen.layers().size(); i++) {
            LayerPlan layer = chosen.layers().get(i);
            long bytes = chosen.network().layers().get(i).parameterBytes();
            if (layer.forward() != Placement.DIRECT || layer.backward() != Placement.DIRECT) {
                parameterBytes = Math.max(parameterBytes, bytes);
            }
            if (layer.gradientHome() == GradientHome.SLOT) {
                gradientBytes = Math.max(gradientBytes, bytes);
            }
        }
        return SlotScratch.take(remains::host, parameterBytes, gradientBytes);
    }

    /** Memory that could not be pinned can be copied from and to, but a card cannot compute in it. */
    private void requireInPlace() {
        for (LayerPlan layer : plan.layers()) {
            boolean reads = layer.forward() == Placement.DIRECT || layer.backward() == Placement.DIRECT;
            boolean writes = layer.gradientHome() == GradientHome.DIRECT;
            Region used = reads && !device.canUseInPlace(master) ? master : writes && !device.canUseInPlace(gradients) ? gradients : null;
            if (used != null) {
                throw new OutOfMemoryException(device.name() + ": the " + used.purpose() + " of " + Sizes.exact(used.bytes()) + " could not be pinned in "
                        + "host memory, so that nothing can be used in place, but the plan has layers that are DIRECT (raise the limit of locked "
                        + "memory, ulimit -l, or the container's memory; or place all layers RESIDENT or PREFETCH with gradients in SLOT)",
                        used.bytes(), 0);
            }
        }
    }

    /** What was needed of the host and what it had, before anything was taken. */
    public MemoryTable preflight() {
        return preflight;
    }

    private void announce() {
        LOG.debug("{}", preflight);
        LOG.info("attached to {} on {} ({}): {}", adapter.network().getClass().getSimpleName(), device.name(), Support.backend(),
                PlanTable.summary(plan));
        String provisional = plan.budget().finalShapes() ? "" : " (provisional until the first iteration shows the batch)";
        if (request.isUnattended()) {
            LOG.debug("plan{}:\n{}", provisional, planTable());
        } else {
            LOG.info("plan{}:\n{}", provisional, planTable());
        }
    }

    // ------------------------------------------------------------------------------------------------- events of an iteration

    /** DL4J's optimizer begins an iteration. */
    void beginIteration() {
        try {
            openIteration();
        } catch (RefusedException | OutOfMemoryException e) {
            if (!request.isUnattended()) {
                throw e;
            }
            LOG.warn("the network goes on as plain DL4J's: {}", e.getMessage());
            close();
        }
    }

    private void openIteration() {
        synchronized (gate) {
            if (closeAsked) {
                closeNow();
                return;
            }
            owner = Thread.currentThread();
        }
        if (accountsWorkspaces()) {
            training = ThreadWorkspaces.ofCurrentThread();
            training.train(device.hasOwnMemory() ? DeviceUse.of(device) : null, request.spillToHost(), scopes);
        }
        if (steps != null) {
            // Of an iteration that was given up: what follows must not run beside it.
            steps.drain();
        }
        stepTaken = false;
        // An updater that was dropped must not come back as DL4J's own in mid-iteration: it would not wait for the gradients.
        heal();
        listenFirst();
        // What was computed with the parameters since the last step, such as a constraint, must be done before they are copied.
        RegionArrays.awaitComputation();
        if (shadow.engine() == null) {
            makePlanFinal();
        }
        Plan next = planning.opening(plan);
        if (next != plan) {
            replan(next);
        }
        if (verifier != null) {
            verifier.opening(units, master, gradients, state, blocks.layout(), updater, listener);
        }
        shadow.engine().measure(planning.clock());
        if (recording && recorder.opens(System.nanoTime())) {
            watch(TimelineListener.NONE);
        }
        openSteps();
        synchronized (homes) {
            homes.toSlots();
            refreshGraphs();
            shadow.engine().openTraining();
        }
    }

    private void openSteps() {
        if (steps == null) {
            return;
        }
        step.iteration = adapter.iteration();
        step.epoch = adapter.epoch();
        step.batch = adapter.network().batchSize();
        step.writeUpdate = updateIsRead();
        boolean early = plan.updateTiming() == UpdateTiming.EAGER && (request.eagerUpdate() == Boolean.TRUE || !isReadBeforeStep());
        if (!steps.open(early)) {
            throw new MemFerryException("an earlier iteration was given up in the middle of backward. " + LayerSteps.advice());
        }
    }

    /**
     * Backward has left a unit: whether its step may be taken while backward goes on. The norms that the score will ask for are taken here,
     * on the training thread, where ND4J takes them as it does in stock training.
     */
    private boolean mayStepEarly(int unit) {
        Trainable layer = units.get(unit).trainable;
        if (!earlySteps[unit] || !hostUpdate.isReady(layer) || !hostUpdate.isFreeOfNorms(layer)) {
            return false;
        }
        norms.take(shadow.layers().get(unit));
        return true;
    }

    /** Takes the step of a unit whose gradient is in host memory; on the thread of the steps. */
    private void takeStep(int unit) {
        long start = System.nanoTime();
        hostUpdate.step(units.get(unit).trainable, step.iteration, step.epoch, step.batch, step.writeUpdate);
        stepTook(unit, start);
        shadow.engine().updated(unit);
    }

    private void stepTook(int unit, long start) {
        long end = System.nanoTime();
        updateNanos.add(end - start);
        TimelineRecorder told = recorder;
        if (recording && told != null) {
            told.updated(unit, start, end);
        }
    }

    /** Whether a listener may read gradients or parameters between backward and the step, where DL4J's are those before the step. */
    private boolean isReadBeforeStep() {
        for (TrainingListener l : adapter.listeners()) {
            if (l != listener && ListenerHabits.mayReadBeforeStep(l)) {
                if (!slowListenerNamed) {
                    slowListenerNamed = true;
                    LOG.info("{} reads the network between backward and the optimizer's step: no step is taken while backward goes on. Tell "
                            + "eagerUpdate(true) if it reads neither gradients nor parameters there.", l.getClass().getName());
                }
                return true;
            }
        }
        return false;
    }

    /**
     * Attaches a network whose iteration has begun without us, before anything of it was computed: parameters, updater and accumulator are
     * read by DL4J only after this.
     */
    public static Ferry attachInIteration(Model network, AttachRequest request) {
        // What is made here must outlive whatever workspace is open.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Ferry ferry = attach(network, request);
            ferry.beginIteration();
            return ferry;
        }
    }

    private void makePlanFinal() {
        plan = planning.shapesKnown(plan.network());
        try {
            reserveSlab();
            start();
        } catch (RuntimeException | Error e) {
            stop();
            throw e;
        }
        if (request.isUnattended()) {
            LOG.debug("plan final: {}", PlanTable.summary(plan));
        } else {
            LOG.info("plan final: {}", PlanTable.summary(plan));
        }
        LOG.debug("plan:\n{}", PlanTable.render(plan));
    }

    private void refreshGraphs() {
        for (int i = 0; i < graphs.size(); i++) {
            int[] slots = shadow.engine().program().slotsOf(graphLayers.get(i).index());
            graphs.get(i).refresh(slots.length == 0 ? Program.MASTER : slots[0]);
        }
    }

    private void releaseGraphs() {
        for (int i = 0; i < graphs.size(); i++) {
            graphs.get(i).release(graphLayers.get(i).arrays(Program.MASTER));
        }
    }

    /** A layer reads one of its parameters, or a user does. */
    INDArray read(ShadowLayer layer, int parameter) {
        IterationEngine engine = shadow.engine();
        Phase phase = engine == null ? Phase.IDLE : engine.phase();
        if ((phase == Phase.IDLE || phase == Phase.INFERENCE) && !installed() && CallerCheck.layerCodeReads()) {
            heal();
        }
        if (engine == null || Thread.currentThread() != owner || !computing(phase)) {
            // On another thread, or with workspaces in inference only, it may be a pass all the same, and be followed by a backward one.
            if (homes.isInSlot(layer.index()) && CallerCheck.layerCodeReads()) {
                gradientToHost(layer.index());
            }
            return layer.tracked(parameter);
        }
        return lease(layer, engine, phase).array(parameter);
    }

    /** A SameDiff layer builds its graph, which counts as being entered: its listener is not in the graph yet. */
    void graphBuilt(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        if (engine != null && (engine.phase() == Phase.FORWARD || engine.phase() == Phase.BACKWARD) && Thread.currentThread() == owner) {
            shadow.read(layer);
        }
    }

    /** A SameDiff graph is about to compute with the arrays of the layer's slot. */
    void graphReads(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        if (engine == null || engine.program().slotsOf(layer.index()).length == 0 && Thread.currentThread() != owner) {
            return;
        }
        if (Thread.currentThread() != owner) {
            throw new MemFerryException("layer " + layer.name() + " computes in SameDiff and is read by thread "
                    + Thread.currentThread().getName() + " while thread " + owner.getName() + " trains: its slot serves one thread only. "
                    + "Evaluate on the training thread, or fix the layer with place(\"" + layer.name() + "\", DIRECT).");
        }
        if (engine.phase() == Phase.IDLE || engine.phase() == Phase.INFERENCE) {
            heal();
        } else if (engine.isPastBackward(layer.index())) {
            backwardEnded(adapter.network());
        }
        lease(layer, engine, engine.phase());
        int[] slots = engine.program().slotsOf(layer.index());
        if (slots.length > 0) {
            engine.restage(layer.index(), slots[0]);
        }
    }

    private Lease lease(ShadowLayer layer, IterationEngine engine, Phase known) {
        Phase phase = known;
        if (steps != null && phase != Phase.IDLE && phase != Phase.INFERENCE && !engine.isIn(layer.index())
                && !CallerCheck.inIteration()) {
            // The iteration ended in an exception: to go on with it would take a step on half a gradient.
            engine.abort();
            phase = Phase.IDLE;
        }
        if (phase == Phase.IDLE || phase == Phase.INFERENCE) {
            if (phase == Phase.IDLE) {
                RegionArrays.awaitComputation();
                engine.openInference();
            }
            gradientToHost(layer.index());
        } else {
            firstConvolution.read(layer.index());
        }
        return shadow.read(layer);
    }

    /**
     * Outside a training iteration nobody says whether a read belongs to a backward pass: a gradient must not land in a shared slot.
     * Another thread may ask, so that an iteration must not open in between.
     */
    private void gradientToHost(int unit) {
        if (!homes.isInSlot(unit)) {
            return;
        }
        synchronized (homes) {
            Phase phase = shadow.engine().phase();
            if (phase == Phase.IDLE || phase == Phase.INFERENCE) {
                homes.toHost(unit);
            }
        }
    }

    /** Tells DL4J's own reads from a user's: DL4J computes inside its layer workspace. Without workspaces the call stack has to do. */
    private boolean computing(Phase phase) {
        boolean training = phase != Phase.IDLE && phase != Phase.INFERENCE;
        WorkspaceMode mode = training ? adapter.trainingWorkspaces() : adapter.inferenceWorkspaces();
        if (mode == WorkspaceMode.NONE) {
            return CallerCheck.layerCodeReads();
        }
        return Nd4j.getWorkspaceManager().checkIfWorkspaceExistsAndActive(LAYER_WORKSPACE);
    }

    /** The forward pass of training is over; called by the phase listener. */
    public void forwardEnded(Model model) {
        IterationEngine engine = shadow.engine();
        if (model == adapter.network() && engine != null && engine.phase() == Phase.FORWARD) {
            engine.forwardEnded();
            refreshGraphs();
        }
    }

    /** The backward pass of training is over; called by the phase listener. */
    public void backwardEnded(Model model) {
        IterationEngine engine = shadow.engine();
        if (model != adapter.network() || engine == null || engine.phase() != Phase.BACKWARD && engine.phase() != Phase.UPDATE) {
            return;
        }
        engine.backwardEnded();
        if (adapter.listeners().size() > 1) {
            engine.awaitGradients();
        }
        homes.showHost(adapter.gradient());
    }

    /** DL4J has closed the workspace of a layer's computation, on the training thread. */
    private void layerComputed() {
        IterationEngine engine = shadow.engine();
        if (engine != null && engine.phase() == Phase.BACKWARD) {
            engine.computed();
        }
    }

    /** A whole parameter table was walked: DL4J does so for the regularisation score, right after the backward pass. */
    void walked() {
        IterationEngine engine = shadow.engine();
        if (engine != null && engine.phase() == Phase.BACKWARD && Thread.currentThread() == owner) {
            backwardEnded(adapter.network());
        }
    }

    /** The parameters of a layer whose step may have been taken, as the score shall see them; null if it shall see them themselves. */
    Map<String, INDArray> standIns(ShadowLayer layer) {
        IterationEngine engine = shadow.engine();
        boolean scored = engine != null && engine.phase() == Phase.UPDATE && Thread.currentThread() == owner;
        return scored && steps != null && steps.isClaimed(layer.index()) ? norms.table(layer) : null;
    }

    @Override
    public boolean update(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
        IterationEngine engine = shadow.engine();
        if (engine == null || engine.phase() == Phase.IDLE || engine.phase() == Phase.INFERENCE) {
            // Not in an iteration of ours: a user's own call, or an iteration that began without us.
            return false;
        }
        planning.barrier();
        engine.backwardEnded();
        refuseLostGradients(gradient, engine);
        if (steps == null) {
            engine.awaitGradients();
            homes.showHost(gradient);
            long start = System.nanoTime();
            hostUpdate.run(gradient, iteration, epoch, batch, workspaces, updateIsRead(), unit -> false);
            stepTook(MANY, start);
            updateWaitNanos.add(System.nanoTime() - start);
        } else {
            finishSteps(gradient, iteration, epoch, batch, workspaces);
        }
        stepTaken = true;
        return true;
    }

    /** The barrier: whatever DL4J reads after this, all steps are taken. */
    private void finishSteps(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
        if (step.iteration != iteration || step.epoch != epoch || step.batch != batch) {
            throw new MemFerryException("the updater is called for iteration " + iteration + ", epoch " + epoch + ", " + batch
                    + " examples, but the iteration was opened for iteration " + step.iteration + ", epoch " + step.epoch + ", "
                    + step.batch + " examples. " + (steps.hasBegun() ? LayerSteps.advice() : "Nothing was updated."));
        }
        int[] order = plan.network().backwardOrder();
        if (plan.updateTiming() == UpdateTiming.EAGER) {
            for (int unit : order) {
                submitStep(unit);
            }
        }
        shadow.engine().awaitGradients();
        homes.showHost(gradient);
        if (plan.updateTiming() == UpdateTiming.IN_CHUNKS) {
            // The next forward needs the first layers first.
            for (int i = order.length - 1; i >= 0; i--) {
                submitStep(order[i]);
            }
        }
        long waitsFrom = System.nanoTime();
        steps.await();
        long start = System.nanoTime();
        hostUpdate.run(gradient, iteration, epoch, batch, workspaces, step.writeUpdate, layer -> steps.isClaimed(unitOf(layer)));
        if (!steps.areAllClaimed(order)) {
            stepTook(MANY, start);
        }
        updateWaitNanos.add(System.nanoTime() - waitsFrom);
        steps.complete();
    }

    private void submitStep(int unit) {
        Trainable layer = units.get(unit).trainable;
        if (hostUpdate.isSeparable(layer) && hostUpdate.isReady(layer)) {
            steps.submit(unit);
        }
    }

    private int unitOf(Trainable layer) {
        return unitIndex.get(layer);
    }

    /** Whether a listener may read the update where DL4J leaves it, in the gradient. */
    private boolean updateIsRead() {
        for (TrainingListener l : adapter.listeners()) {
            if (l != listener && ListenerHabits.mayReadUpdate(l)) {
                return true;
            }
        }
        return false;
    }

    private void refuseLostGradients(Gradient gradient, IterationEngine engine) {
        for (String key : gradient.gradientForVariable().keySet()) {
            Integer unit = homes.unitOf(key);
            if (unit != null && plan.layers().get(unit).gradientHome() == GradientHome.SLOT && !engine.gradientTaken(unit)) {
                throw new MemFerryException("layer " + plan.network().layers().get(unit) + " wrote a gradient without reading a parameter"
                        + " in backward, so its gradient slot may hold another layer's by now. "
                        + (steps != null && steps.hasBegun() ? LayerSteps.advice() : "Nothing was updated.") + " Fix its home with "
                        + "placeGradient(\"" + units.get(unit).name + "\", DIRECT).");
            }
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws RefusedException if DL4J is about to put an updater of its own in place of one that is too large for it; our updater stays
     */
    @Override
    public void stateIsRead() {
        if (!closed && !blocks.layout().fitsDl4j() && CallerCheck.updaterIsReplaced()) {
            rulesChanged = true;
            Support.refuseToReplace(blocks.layout());
        }
    }

    @Override
    public Trainable onHost(Trainable layer) {
        return onHost.getOrDefault(layer, layer);
    }

    /** True once per iteration if the updater has taken the step, so that DL4J's must not. */
    boolean stepWasTaken() {
        boolean taken = stepTaken;
        stepTaken = false;
        return taken;
    }

    /** The parameters that DL4J's step shall be taken on: the same memory, without calling a frozen layer written. */
    INDArray stepTarget(INDArray params) {
        return params == trackedParams ? plainParams : params;
    }

    /** DL4J's optimizer has taken the step. */
    void closeIteration() {
        IterationEngine engine = shadow.engine();
        if (engine == null) {
            return;
        }
        for (int i = 0; i < units.size(); i++) {
            // DL4J regularises a layer that is frozen with backprop: it is written although it has no gradient.
            if (!Layers.frozen(units.get(i))) {
                engine.stepTaken(i);
            }
        }
        if (engine.phase() == Phase.IDLE || engine.phase() == Phase.INFERENCE) {
            engine.abort();
        } else {
            shadow.closeTraining();
            checkArrays();
            planning.closed(steps);
            if (recording) {
                recorder.closes(System.nanoTime());
            }
            if (verifier != null) {
                verifier.closing(master, state);
            }
        }
    }

    /** A backend that moves an array says nothing, and goes on with memory of its own. */
    private void checkArrays() {
        String moved = shadow.movedArray() != null ? shadow.movedArray() : homes.movedArray();
        if (moved != null) {
            throw new MemFerryException(moved + " no longer lies in MemFerry's memory: ND4J has moved its array, as it does when a thread computes on"
                    + " another card than the array's. Start Java with one card visible, such as CUDA_VISIBLE_DEVICES=0, and go on from a model"
                    + " that was saved before: what this iteration did may be lost.");
        }
    }

    // --------------------------------------------------------------------------------------------- between two iterations

    private void userTouchesParameters() {
        checkOpen();
        arraysGiven();
        shadow.written();
        if (!cloningNamed && CallerCheck.isKeptInMemory()) {
            cloningNamed = true;
            LOG.warn("InMemoryModelSaver keeps clones of this network, each with {} of parameters and updater state in ordinary memory beside "
                    + "the {} of the attachment. LocalFileModelSaver keeps them in files.", Sizes.format(plan.hostBytes()
                    - plan.network().parameterBytes()), Sizes.format(plan.hostBytes()));
        }
    }

    private void userTouchesLayer(int unit) {
        checkOpen();
        arraysGiven();
        shadow.written(unit);
    }

    private void arraysGiven() {
        if (verifier != null) {
            verifier.arraysGiven();
        }
    }

    /** What came of training beside a stock copy so far. */
    public Verification verification() {
        return verifier == null ? Verification.of(0).build() : verifier.verification();
    }

    private void checkOpen() {
        checkOpen(master);
    }

    private void checkOpen(Region region) {
        if (closed || !region.isOpen()) {
            throw new MemFerryException("this array showed parameters, gradients or updater state of a network in host memory of a ferry "
                    + "that is closed. Get it anew from the network, for example with params() or getParam(key).");
        }
        // Whoever asks may read on the host what another array of this memory was told to compute: each has counters of its own.
        RegionArrays.awaitComputation();
    }

    /**
     * Puts updater, accumulator and listener back where DL4J dropped them ({@code net.clear()}, {@code setUpdater},
     * {@code setLearningRate}), with what DL4J put in their place: a new updater's state is adopted, no updater means a new state, as
     * it does in DL4J. Done when a pass begins and not before: in between DL4J may be half way through exchanging its updater.
     *
     * @throws RefusedException if the user has set a gradients accumulator
     */
    private void heal() {
        GradientsAccumulator foreign = foreignAccumulator();
        if (foreign != null && !closed) {
            throw new RefusedException("the attached network was given a gradients accumulator (" + foreign.getClass().getName()
                    + "): gradient accumulation and gradient sharing between workers are not served. Call "
                    + "setGradientsAccumulator(null), or close the ferry first and train with plain DL4J.");
        }
        reinstall();
    }

    private GradientsAccumulator foreignAccumulator() {
        GradientsAccumulator present = adapter.solver() == null ? null : adapter.solver().getOptimizer().getGradientsAccumulator();
        return present instanceof FerryAccumulator ? null : present;
    }

    private boolean installed() {
        return installing || closed || updater != null && adapter.updater() == updater && !rulesChanged
                && adapter.solver().getOptimizer().getGradientsAccumulator() == accumulator;
    }

    private void reinstall() {
        if (installed()) {
            return;
        }
        BaseMultiLayerUpdater<?> present = adapter.updater();
        if (present == updater && rulesChanged) {
            layOutAnew();
            return;
        }
        if (present == null) {
            LOG.warn("the network's updater was dropped (clear() or setUpdater(null)): as in DL4J its state starts anew at iteration {}",
                    adapter.iteration());
        } else if (present != updater) {
            LOG.debug("the network's updater was replaced: its state is adopted");
        }
        INDArray newState = present == null || present == updater ? null : present.getStateViewArray();
        long count = UpdaterState.count(units);
        if (stateArray == null ? count > 0 : stateArray.length() != count) {
            state.close();
            state = remains.host(Math.multiplyExact(count, (long) RegionArrays.elementBytes(type)), "updater state");
            makeStateArray(count);
        }
        if (newState != null && stateArray != null) {
            stateArray.assign(newState.reshape(stateArray.shape()));
        }
        // The array that was adopted from may be a user's: it is not closed.
        installUpdater(newState == null && present != updater);
    }

    /**
     * Sets one learning rate for all layers, as {@code net.setLearningRate} does, without a second copy of the updater state unless
     * blocks of parameters merge or split.
     *
     * @param learningRate the new rate, replacing rates and schedules
     */
    public void setLearningRate(double learningRate) {
        if (!(learningRate >= 0) || Double.isInfinite(learningRate)) {
            throw new RefusedException("learning rate " + learningRate + " (expected: a finite number of at least 0, for all"
                    + " layers)");
        }
        heal();
        for (NetworkUnit unit : units) {
            Object conf = unit.layer == null ? null : unit.layer.conf().getLayer();
            IUpdater rule = conf instanceof BaseLayer ? ((BaseLayer) conf).getIUpdater() : null;
            if (rule != null && rule.hasLearningRate()) {
                rule.setLrAndSchedule(learningRate, null);
            }
        }
        rulesChanged = true;
        layOutAnew();
    }

    /** Makes the updater's blocks anew, as the configuration has them now; the moments of a parameter stay with it. */
    private void layOutAnew() {
        HostBlocks now = makeBlocks();
        BlockLayout before = blocks.layout();
        if (stateArray == null || before.equals(now.layout())) {
            installUpdater(now, false);
            return;
        }
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            INDArray copy = stateArray.dup();
            installUpdater(now, false);
            UpdaterState.relayout(before, copy, now.layout(), stateArray);
            closeOrdinary(copy);
        }
    }

    /**
     * Writes the network as DL4J's ModelSerializer would, straight from host memory; the old file is replaced only by a complete one.
     *
     * @param saveUpdater whether to write the updater state
     */
    public void save(File file, boolean saveUpdater) {
        heal();
        RegionArrays.awaitComputation();
        HostArray parameters = HostArray.of(master.address(), type, adapter.network().params().shape());
        HostArray updaterState = saveUpdater && stateArray != null ? HostArray.of(state.address(), type, stateArray.shape())
                : HostArray.NONE;
        ModelArchive.write(file, adapter.configurationJson(), parameters, updaterState, Map.of());
    }

    /**
     * Records what takes place in the next iterations, in memory taken now; forgets what was recorded before.
     *
     * @param iterations how many, at least 1
     */
    public void recordTimeline(int iterations) {
        if (iterations < 1) {
            throw new RefusedException("recordTimeline: " + iterations + " iterations (expected: at least 1; leave the call out to record none)");
        }
        checkOpen();
        recorder = new TimelineRecorder(iterations, plan.network());
        watch(recorder);
    }

    private void watch(TimelineListener listener) {
        recording = listener != TimelineListener.NONE;
        device.watchCopies(listener);
        if (shadow.engine() != null) {
            shadow.engine().watchVisits(listener);
        }
    }

    /** The iterations that were recorded and are complete; empty if nobody asked. */
    public List<Timeline> timelines() {
        return recorder == null ? List.of() : recorder.timelines();
    }

    /** What is held where, in the form of DL4J's memory information. */
    public String memoryInfo() {
        return MemoryInfo.render(plan, device, firstConvolution.freeBytes());
    }

    /** Time that optimizer steps took on the CPU so far, in nanoseconds, wherever they were taken. */
    public long updateNanos() {
        return updateNanos.sum();
    }

    /** Time that the training thread was in optimizer steps or waited for them so far, in nanoseconds. */
    public long updateWaitNanos() {
        return updateWaitNanos.sum();
    }

    /** The ferry that a network is attached by, or null. */
    public static Ferry of(Model network) {
        for (WeakReference<Ferry> reference : LIVE) {
            Ferry ferry = reference.get();
            if (ferry == null) {
                LIVE.remove(reference);
            } else if (ferry.adapter.network() == network) {
                return ferry;
            }
        }
        return null;
    }

    /** The attached network. */
    public Model network() {
        return adapter.network();
    }

    /** The times that the plan was made from, measured or read; null where it was made from sizes alone. */
    public Profile profile() {
        return planning.profile();
    }

    /** See {@link Planning#measuredRun()}. */
    public Optional<MeasuredRun> measuredRun() {
        return planning.measuredRun();
    }

    /** The present plan; provisional until the shapes are known. */
    public Plan plan() {
        return plan;
    }

    /** True if an attached network is in a training iteration on the calling thread. */
    public static boolean isIterating() {
        for (WeakReference<Ferry> reference : LIVE) {
            Ferry ferry = reference.get();
            IterationEngine engine = ferry == null || ferry.owner != Thread.currentThread() ? null : ferry.shadow.engine();
            if (engine != null && engine.phase() != Phase.IDLE && engine.phase() != Phase.INFERENCE) {
                return true;
            }
        }
        return false;
    }

    /** True if workspace blocks are counted against the device's budget; false if there are only estimates of them. */
    public static boolean accountsWorkspaces() {
        return RegionArrays.hasOurManagers();
    }

    /** The plan as a table, with what is known of DL4J's workspaces. */
    public String planTable() {
        return !device.hasOwnMemory() ? PlanTable.render(plan) : PlanTable.render(plan) + (accountsWorkspaces()
                ? "workspaces: counted against the budget, at most " + Sizes.exact(DeviceUse.of(device).peakWorkspaceBytes()) + " so far, "
                + DeviceUse.of(device).spilledBlocks() + " blocks placed in host memory\n"
                : "workspaces: estimated only, as MemFerry's ND4J managers are not installed\n");
    }

    /** The device. */
    public Device device() {
        return device;
    }

    /** The engine; null while the plan is provisional. */
    public IterationEngine engine() {
        return shadow.engine();
    }

    /** True if the program itself did not ask for this attachment. */
    public boolean isUnattended() {
        return request.isUnattended();
    }

    /** True until {@link #close()}. */
    public boolean isOpen() {
        return !closed;
    }

    // ------------------------------------------------------------------------------------------------------------------ close

    /**
     * Gives the network back: ordinary arrays with the latest values, DL4J's own updater with the state, no trace of the ferry. A network
     * that is too large for DL4J's own updater gets none, and its moments end here, which is logged: save it first. While another thread
     * trains the network, waits until that thread begins its next iteration; its {@code fit} goes on as plain DL4J. A second call does nothing.
     */
    @Override
    public void close() {
        closeAsked = true;
        Object network = adapter.network();
        if (!Thread.holdsLock(network)) {
            awaitNextIteration();
        }
        if (closed) {
            return;
        }
        // DL4J holds the network's monitor as long as a thread computes with it.
        synchronized (network) {
            synchronized (gate) {
                closeNow();
            }
        }
    }

    /** The thread that trains closes the ferry itself when its next iteration begins, where DL4J holds on to nothing of ours. */
    private void awaitNextIteration() {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        boolean interrupted = false;
        synchronized (gate) {
            while (!closed && CallerCheck.isFitting(owner) && System.nanoTime() < end) {
                try {
                    gate.wait(POLL_MILLIS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeNow() {
        closeAsked = true;
        if (closed) {
            return;
        }
        if (verifier != null) {
            verifier.close();
        }
        giveBackAll();
        LIVE.removeIf(r -> r.get() == null || r.get() == this);
        if (training != null) {
            training.forget(scopes);
        }
        remains.giveBack();
        cleanable.clean();
        gate.notifyAll();
    }

    private void giveBackAll() {
        // The network's new arrays must outlive whatever workspace the caller has open.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            giveBackArrays();
        }
        closed = true;
    }

    private void giveBackArrays() {
        GradientsAccumulator foreign = foreignAccumulator();
        if (steps != null) {
            steps.close();
        }
        reinstall();
        stopEngine();
        if (!blocks.layout().fitsDl4j()) {
            dropState();
        }
        boolean graphRank2 = rank2 || adapter instanceof GraphAdapter;
        long count = plan.network().parameterCount();
        INDArray params = Nd4j.createUninitialized(type, graphRank2 ? new long[] {1, count} : new long[] {count}, rank2 ? 'f' : 'c');
        params.assign(plainParams.reshape(params.shape()));
        INDArray stateCopy = stateArray == null ? null : stateArray.dup();
        for (int i = 0; i < units.size(); i++) {
            giveBack(i, params);
        }
        adapter.setFlattenedParams(params);
        adapter.setFlattenedGradients(null);
        adapter.initGradientsView();
        adapter.flattenedGradients().assign(gradientArray.reshape(adapter.flattenedGradients().shape()));
        bindings.forEach(UnitBinding::rebindOptimizers);
        adapter.forgetGradient();
        adapter.setUpdater(blocks.layout().fitsDl4j() ? adapter.stockUpdater(stateCopy) : null);
        adapter.setAccumulator(foreign);
        List<TrainingListener> rest = new ArrayList<>(adapter.listeners());
        if (rest.removeIf(l -> l instanceof PhaseListener && l == listener)) {
            adapter.setListeners(rest);
        }
    }

    private void stopEngine() {
        if (shadow.engine() == null) {
            return;
        }
        try {
            shadow.engine().close();
        } catch (MemFerryException e) {
            // No copy writes to the parameters or the updater's state, which are what is given back.
            LOG.warn("the device's copies could not be waited for; the network is given back all the same", e);
        }
    }

    /** DL4J's updater cannot hold the state; its memory is given back before the network's own arrays are made. */
    private void dropState() {
        LOG.warn("the network is given back without updater state: DL4J's own updater holds at most {} parameters and elements of state, this "
                + "network has {} and {}. DL4J cannot train it; to go on with MemFerry, save it with MemFerry.save before closing and "
                + "restore it with MemFerry.restoreMultiLayerNetwork or restoreComputationGraph.", Integer.MAX_VALUE,
                blocks.layout().parameterCount(), blocks.layout().stateCount());
        stateArray = null;
        state.close();
    }

    private void giveBack(int index, INDArray params) {
        NetworkUnit unit = units.get(index);
        INDArray flat = params.rank() == 2 && !rank2 ? params.reshape(params.length()) : params;
        UnitBinding binding = new UnitBinding(unit, (offset, length) -> MultiLayerAdapter.view(flat, unit.offset + offset, length));
        Map<Object, Map<String, INDArray>> tables = new IdentityHashMap<>();
        for (UnitBinding.Table table : binding.tables()) {
            tables.put(table.owner, ordinaryTable(table, MultiLayerAdapter.view(flat, unit.offset + table.offset, table.length)));
        }
        binding.bind((offset, length) -> MultiLayerAdapter.view(flat, unit.offset + offset, length), t -> tables.get(t.owner));
        for (int g = 0; g < graphs.size(); g++) {
            if (graphLayers.get(g).index() == index) {
                graphs.get(g).release(tables.values().iterator().next().values().toArray(new INDArray[0]));
            }
        }
    }

    private static Map<String, INDArray> ordinaryTable(UnitBinding.Table table, INDArray view) {
        return new LinkedHashMap<>(UnitBinding.tableOver(table.owner, view));
    }

    /** The arguments of the steps of one iteration, read from the model when it opens. */
    private static final class Step {

        private volatile int iteration;
        private volatile int epoch;
        private volatile int batch;
        private volatile boolean writeUpdate;
    }

    /** Hears of the end of a layer's computation. Held by the thread that trains, which must not keep the network alive. */
    private static final class Scopes implements LayerScopes {

        private final WeakReference<Ferry> ferry;

        Scopes(Ferry ferry) {
            this.ferry = new WeakReference<>(ferry);
        }

        @Override
        public void left() {
            Ferry present = ferry.get();
            if (present != null) {
                present.layerComputed();
            }
        }
    }
}
