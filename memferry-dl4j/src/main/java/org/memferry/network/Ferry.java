package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.Region;
import org.memferry.engine.EngineMetrics;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.engine.Program;
import org.memferry.nd4j.DeviceUse;
import org.memferry.nd4j.LayerScopes;
import org.memferry.nd4j.RegionArrays;
import org.memferry.nd4j.SlotScratch;
import org.memferry.nd4j.ThreadWorkspaces;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Timeline;
import org.memferry.report.MemoryInfo;
import org.memferry.report.MemoryTable;
import org.memferry.report.PlanTable;
import org.memferry.report.Verification;
import org.memferry.shadow.ShadowModel;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.lang.ref.Cleaner;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
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
    /** By itself, so that a program that shows the plan in its own way can turn it off. */
    private static final Logger PLAN_LOG = LoggerFactory.getLogger(PlanTable.class);
    private static final List<WeakReference<Ferry>> LIVE = new CopyOnWriteArrayList<>();
    /** How long closing waits for another thread's next iteration before it waits for the end of that thread's {@code fit}. */
    private static final int PATIENCE_SECONDS = 20;
    private static final int POLL_MILLIS = 2;
    private static final Cleaner CLEANER = Cleaner.create();

    private final NetworkAdapter adapter;
    private final AttachRequest request;
    private final Device device;
    private final UpdateEngine updateEngine;
    private final Remains remains;
    private final Cleaner.Cleanable cleanable;
    private final FerryMemory memory;
    private final ShadowModel shadow;
    private final Planning planning;
    private final Recording recording;
    /** Trains a stock copy beside the first iterations; null if nobody asked. */
    private final Verifier verifier;
    private final LayerScopes scopes = new Scopes(this);
    private MemoryTable preflight;
    private Plan plan;

    private List<NetworkUnit> units;
    private List<UnitBinding> bindings;
    /** Also the lock that keeps an iteration from opening while another thread rebinds a gradient. */
    private GradientHomes homes;
    private OptimizerSteps steps;
    private Installation installation;
    private ParameterReads reads;
    private Handover handover;
    private FirstConvolution firstConvolution;

    private boolean stepTaken;
    private boolean cloningNamed;
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
        this.updateEngine = updateEngine;
        this.verifier = request.verifiedSteps() == 0 ? null : new Verifier(adapter, request.verifiedSteps());
        this.remains = new Remains(device, updateEngine, request.ownsDevice());
        this.cleanable = CLEANER.register(this, remains);
        this.memory = new FerryMemory(remains, device, adapter.dataType(), rank2, adapter.countParameters(), new Uses());
        this.shadow = new ShadowModel(memory.parameters(), memory.type());
        this.recording = new Recording(device, shadow);
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
            INDArray params = ferry.memory.plainParameters();
            params.assign(adapter.flattenedParams().reshape(params.shape()));
            boolean fresh = ferry.takeOver(units, bindings, otherRules.isEmpty());
            if (otherRules.isPresent()) {
                LOG.warn("the network's updater was made for other rules ({}): its state is not theirs, moments start from zero at iteration"
                        + " {}", otherRules.get(), adapter.iteration());
            } else if (fresh && ferry.memory.stateArray() != null && adapter.iteration() > 0) {
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
            ferry.adapter.init(ferry.memory.plainParameters());
            ferry.adapter.initialiseWeights();
        });
    }

    /** Initialises a network with parameters and updater state from a model file. */
    static Ferry restore(Model network, AttachRequest request, ModelArchive archive, boolean loadUpdater) {
        long expected = NetworkAdapter.of(network).countParameters();
        Ferry ferry = initialise(network, request, f -> {
            archive.readParameters(f.memory.parameters().address(), expected, f.memory.type());
            // After the parameters, as in ModelSerializer: some layers set a parameter when they are made (radius of OCNNOutputLayer).
            f.adapter.init(f.memory.plainParameters());
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
        INDArray state = memory.stateArray();
        if (!loadUpdater || state == null) {
            return;
        }
        if (!archive.hasUpdaterState()) {
            LOG.warn("the model file has no updater state: moments start from zero at iteration {}", adapter.iteration());
            return;
        }
        archive.readUpdaterState(memory.state().address(), state.length(), memory.type());
        new RuleCheck(units).checkState(installation.blocks().blocks());
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
            ferry.takeOver(units, bindings(adapter, units, ferry.memory.plainParameters()), true);
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
            ferry.memory.reserve(first);
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
        INDArray oldParams = adapter.flattenedParams();
        INDArray oldGradients = adapter.flattenedGradients();
        BaseMultiLayerUpdater<?> oldUpdater = adapter.updater();
        INDArray oldState = oldUpdater == null ? null : oldUpdater.getStateViewArray();
        memory.makeArrays(description);
        for (int i = 0; i < units.size(); i++) {
            int index = i;
            shadow.add(units.get(i).name, units.get(i).offset, bindings.get(i).slices(), () -> userTouchesLayer(index));
        }
        makeParts(description);
        handover.parameters(this::userTouchesLayer);
        steps.prepareNorms(description, memory.type());
        handover.gradients(oldGradients);
        boolean fresh = installation.begin(oldUpdater, keepState);
        installation.listen(request.listenerFor(this));
        homes.move(adapter.gradient(), oldGradients, memory.gradientArray());
        FerryMemory.closeOrdinary(oldParams, oldGradients, oldState);
        return fresh;
    }

    private void makeParts(NetworkDescription description) {
        homes = new GradientHomes(units, bindings, memory.gradients(), memory.type(), memory.rank2());
        steps = new OptimizerSteps(adapter, request.eagerUpdate(), device, remains, shadow, units, homes, recording);
        UpdateUnits updateUnits = new UpdateUnits(units, homes, description.backwardOrder(), this::onHost);
        installation = new Installation(this, adapter, memory, units, description, updateEngine, updateUnits, steps);
        firstConvolution = new FirstConvolution(device, description);
        reads = new ParameterReads(adapter, shadow, homes, steps, installation, firstConvolution, () -> backwardEnded(adapter.network()),
                new Inferences());
        handover = new Handover(adapter, memory, shadow, units, bindings, homes, reads);
    }

    /** Starts the engine on the plan, which is final, in the slab taken for it. */
    private void start() {
        plan = planning.starting(plan, memory.parameters(), memory.gradients(), memory.slab());
        memory.fitSlab(planning.slabBytes(plan));
        run();
    }

    /** Another plan takes over between two iterations. */
    private void replan(Plan next) {
        EngineMetrics metrics = shadow.engine().metrics();
        shadow.engine().close();
        try {
            steps.end();
            // Their slots may be elsewhere from now on.
            reads.releaseGraphs();
            synchronized (homes) {
                homes.leaveSlots();
                plan = next;
                memory.fitSlab(planning.slabBytes(plan));
                run();
                shadow.engine().goOnFrom(metrics);
            }
        } catch (RuntimeException | Error e) {
            stop();
            throw e;
        }
        if (planning.isMeasuring()) {
            LOG.debug("plan to measure: {}", PlanTable.summary(plan));
        } else {
            showPlan();
        }
    }

    /** DL4J infers on larger data than the plan leaves room for: it is made before the activations are. */
    private void makeRoomToInfer() {
        Plan next = planning.evaluating(plan);
        if (next == plan) {
            return;
        }
        // What is made here must outlive the layer's workspace, which is open.
        synchronized (gate) {
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                checkOpen();
                replan(next);
            }
        }
        reads.refreshGraphs();
    }

    /** The device failed before there was an engine on it: the next iteration begins as the first did, with a plan to make final. */
    private void stop() {
        shadow.stop();
        reads.releaseGraphs();
        steps.end();
        synchronized (homes) {
            homes.leaveSlots();
        }
        memory.closeSlab();
    }

    private void run() {
        SlotScratch scratch = memory.scratchFor(plan);
        Program program = Program.compile(plan);
        homes.useSlots(program, memory.slab(), scratch.gradients());
        shadow.start(program, device, memory.gradients(), memory.slab(), scratch.parameters(), steps.start(plan));
        recording.engineStarted();
    }

    /** What was needed of the host and what it had, before anything was taken. */
    public MemoryTable preflight() {
        return preflight;
    }

    private void announce() {
        LOG.debug("{}", preflight);
        LOG.info("attached to {} on {} ({}): {}", adapter.network().getClass().getSimpleName(), device.name(), Support.backend(),
                PlanTable.summary(plan));
        if (plan.budget().finalShapes()) {
            showPlan();
        } else if (PLAN_LOG.isDebugEnabled()) {
            PLAN_LOG.debug("plan, provisional until the first iteration shows the batch:\n{}", planTable());
        }
    }

    /** The first plan that is in force, and each that takes over; those that are only there to measure take turns, and are soon over. */
    private void showPlan() {
        if (PLAN_LOG.isInfoEnabled()) {
            PLAN_LOG.info("plan{}:\n{}", planning.isMeasuring() ? ", until the network has been measured" : "", planTable());
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
            reads.ownedByThisThread();
        }
        if (accountsWorkspaces()) {
            accountWorkspaces();
        }
        steps.drain();
        stepTaken = false;
        // An updater that was dropped must not come back as DL4J's own in mid-iteration: it would not wait for the gradients.
        installation.heal();
        installation.listenFirst();
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
            verifier.opening(units, memory.parameters(), memory.gradients(), memory.state(), installation.blocks().layout(), installation.updater(),
                    installation.listener());
        }
        shadow.engine().measure(planning.clock());
        recording.opened();
        steps.open();
        synchronized (homes) {
            homes.toSlots();
            reads.refreshGraphs();
            shadow.engine().openTraining();
        }
    }

    private void accountWorkspaces() {
        DeviceUse use = device.hasOwnMemory() ? DeviceUse.of(device) : null;
        ThreadWorkspaces.ofCurrentThread().train(use, request.spillToHost(), scopes);
        if (use != null) {
            use.checkPrefetched();
        }
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
            memory.fitSlab(plan.slabBytes());
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
        showPlan();
    }

    /** The forward pass of training is over; called by the phase listener. */
    public void forwardEnded(Model model) {
        IterationEngine engine = shadow.engine();
        if (model == adapter.network() && engine != null && engine.phase() == Phase.FORWARD) {
            engine.forwardEnded();
            reads.refreshGraphs();
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

    /** No layer computes on the calling thread, by the workspaces that DL4J opens for it: one that has trained the network, maybe not last. */
    private void layerComputed() {
        IterationEngine engine = shadow.engine();
        if (engine != null && reads.owner() == Thread.currentThread()) {
            engine.computed();
        }
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
        steps.finish(gradient, iteration, epoch, batch, workspaces);
        stepTaken = true;
        return true;
    }

    /**
     * {@inheritDoc}
     *
     * @throws RefusedException if DL4J is about to put an updater of its own in place of one that is too large for it; our updater stays
     */
    @Override
    public void stateIsRead() {
        installation.stateIsRead();
    }

    @Override
    public Trainable onHost(Trainable layer) {
        return handover.onHost(layer);
    }

    /** True once per iteration if the updater has taken the step, so that DL4J's must not. */
    boolean stepWasTaken() {
        boolean taken = stepTaken;
        stepTaken = false;
        return taken;
    }

    /** The parameters that DL4J's step shall be taken on: the same memory, without calling a frozen layer written. */
    INDArray stepTarget(INDArray params) {
        return params == memory.trackedParameters() ? memory.plainParameters() : params;
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
            planning.closed(steps.layerwise());
            recording.closed();
            if (verifier != null) {
                verifier.closing(memory.parameters(), memory.state());
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
        checkOpen(memory.parameters());
    }

    private void checkOpen(Region region) {
        if (closed || !region.isOpen()) {
            throw new MemFerryException("this array showed parameters, gradients or updater state of a network in host memory of a ferry "
                    + "that is closed. Get it anew from the network, for example with params() or getParam(key).");
        }
        // Whoever asks may read on the host what another array of this memory was told to compute: each has counters of its own.
        RegionArrays.awaitComputation();
    }

    /** The network's rules may have changed, and whose state they have. */
    void rulesReplaced() {
        if (verifier != null) {
            verifier.rulesReplaced();
        }
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
        installation.setLearningRate(learningRate);
    }

    /**
     * Writes the network as DL4J's ModelSerializer would, straight from host memory; the old file is replaced only by a complete one.
     *
     * @param saveUpdater whether to write the updater state
     */
    public void save(File file, boolean saveUpdater) {
        installation.heal();
        RegionArrays.awaitComputation();
        INDArray state = memory.stateArray();
        HostArray parameters = HostArray.of(memory.parameters().address(), memory.type(), adapter.network().params().shape());
        HostArray updaterState = saveUpdater && state != null ? HostArray.of(memory.state().address(), memory.type(), state.shape()) : HostArray.NONE;
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
        recording.start(iterations, plan.network());
    }

    /** The iterations that were recorded and are complete; empty if nobody asked. */
    public List<Timeline> timelines() {
        return recording.timelines();
    }

    /** What is held where, in the form of DL4J's memory information. */
    public String memoryInfo() {
        return MemoryInfo.render(plan, device, planning.profile() == null, firstConvolution.freeBytes());
    }

    /** Time that optimizer steps took on the CPU so far, in nanoseconds, wherever they were taken. */
    public long updateNanos() {
        return steps.nanos();
    }

    /** Time that the training thread was in optimizer steps or waited for them so far, in nanoseconds. */
    public long updateWaitNanos() {
        return steps.waitNanos();
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
            if (ferry != null && ferry.reads.owner() == Thread.currentThread() && ferry.reads.isTraining()) {
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
            while (!closed && CallerCheck.isFitting(reads.owner()) && System.nanoTime() < end) {
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
        ThreadWorkspaces.forget(scopes);
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
        GradientsAccumulator foreign = installation.foreignAccumulator();
        steps.close();
        installation.reinstall();
        stopEngine();
        boolean stateFits = installation.blocks().layout().fitsDl4j();
        if (!stateFits) {
            dropState();
        }
        INDArray stateCopy = memory.stateArray() == null ? null : memory.stateArray().dup();
        handover.back();
        adapter.setUpdater(stateFits ? adapter.stockUpdater(stateCopy) : null);
        adapter.setAccumulator(foreign);
        installation.stopListening();
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
                installation.blocks().layout().parameterCount(), installation.blocks().layout().stateCount());
        memory.dropState();
    }

    /** Hears of uses of the flat arrays. */
    private final class Uses implements FerryMemory.Access {

        @Override
        public void parameters() {
            userTouchesParameters();
        }

        @Override
        public void gradients() {
            checkOpen();
        }

        @Override
        public void state(Region region) {
            checkOpen(region);
            arraysGiven();
        }
    }

    /** Hears of inference. */
    private final class Inferences implements ParameterReads.Inference {

        @Override
        public void computes() {
            makeRoomToInfer();
        }

        @Override
        public void computesElsewhere() {
            planning.evaluatingElsewhere();
        }
    }

    /** Hears of layers' workspaces. Held by the threads that trained, which must not keep the network alive. */
    private static final class Scopes implements LayerScopes {

        private final WeakReference<Ferry> ferry;

        Scopes(Ferry ferry) {
            this.ferry = new WeakReference<>(ferry);
        }

        @Override
        public void entered() {
            left();
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
