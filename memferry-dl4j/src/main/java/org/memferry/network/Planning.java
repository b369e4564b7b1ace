package org.memferry.network;

import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.engine.VisitClock;
import org.memferry.nd4j.RegionArrays;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerPlan;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.LayerWork;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.StrategyPlanner;
import org.memferry.report.PlanTable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * Decides an attachment's plan, and when to decide anew: by sizes alone, or by a strategy from a profile that was saved or is measured in
 * the first iterations. Data that is larger than planned for, to train or to evaluate, in examples or in what an example has (steps of a
 * series, pixels), makes a new plan where the present one leaves too little beside it; smaller data goes by the plan for the largest.
 * Computation that has become slower or faster by more than {@value #DRIFT} times for {@value #PATIENCE} iterations is measured again, and
 * so is it where the data has become larger or smaller for as long (see {@link SizeDrift} and {@link RunWatch} for data that varies).
 */
final class Planning {

    private static final Logger LOG = LoggerFactory.getLogger(Planning.class);
    private static final double DRIFT = 1.5;
    private static final int PATIENCE = 8;
    /** Iterations of other sizes that a measurement passes over before it takes them as they come: it must end. */
    private static final int MOST_PASSED_OVER = 64;

    private final NetworkAdapter adapter;
    private final AttachRequest request;
    private final Device device;
    private final long available;
    private final SizeDrift size = new SizeDrift(DRIFT, PATIENCE);
    /** What the plan leaves room for. Also read by threads that do not train. */
    private volatile PlannedShapes shapes;
    private final UnplannedEvaluations unplanned;
    /** Whether the user named the types. */
    private boolean told;
    private LinkProbe link;
    private boolean inPlace;
    private ProfileRun run;
    /** What the profile is of, or the present measurement. */
    private DataShape measured;
    /** Iterations that the present measurement has not counted. */
    private int passedOver;
    private Profile profile;
    private RunWatch watch;

    Planning(NetworkAdapter adapter, AttachRequest request, Device device) {
        this.adapter = adapter;
        this.request = request;
        this.device = device;
        this.available = device.freeBytes();
        PlannedShapes none = PlannedShapes.none(adapter.segmentSteps(), request.evaluationBatch());
        this.told = request.expectsShapes();
        this.shapes = told ? none.withTrained(DataShape.told(request.batch(), request.inputTypes())) : none;
        this.unplanned = new UnplannedEvaluations(adapter);
    }

    /** The plan to begin with: by sizes alone, for the shapes known so far. */
    Plan first(NetworkDescription described) {
        NetworkDescription network = withTouches(described);
        Budget budget = budget(network);
        Plan plan = DefaultPlanner.plan(network, budget, request.rules(), request.parameterSlots());
        if (!device.hasOwnMemory()) {
            return plan;
        }
        if (request.strategy() != null && budget.finalShapes()) {
            // Whether it fits is a matter of sizes: what does not is refused before anything is taken.
            StrategyPlanner.plan(request.strategy(), network, timeless(network), budget, request.rules());
        }
        return plan.withUpdateTiming(steps());
    }

    /** How often a recurrent layer reads its parameters depends on the length of the series; where that is not told, once as any layer. */
    private NetworkDescription withTouches(NetworkDescription network) {
        if (!device.hasOwnMemory() || !shapes.isKnown()) {
            return network;
        }
        try {
            return NetworkWork.withTouches(network, adapter.shapes(shapes.longest().cut(adapter.segmentSteps()).types()));
        } catch (RuntimeException e) {
            refuseIfTold(e);
            LOG.debug("DL4J does not tell the shapes of this network's layers: reads in place count once for each pass", e);
            return network;
        }
    }

    /** Types that the user named and that are not the network's; the types of data that is there are DL4J's to refuse. */
    private void refuseIfTold(RuntimeException e) {
        if (e instanceof LayerShape.Mismatch && told) {
            throw new RefusedException("expect(" + request.batch() + ", " + Arrays.toString(request.inputTypes()) + "): " + e.getMessage()
                    + " (expected: one input type per network input, of the data that the network is trained on)");
        }
    }

    private static Profile timeless(NetworkDescription network) {
        return Profile.builder("sizes alone", Collections.nCopies(network.layers().size(), LayerProfile.builder(0, 0).build())).build();
    }

    private UpdateTiming steps() {
        return request.eagerUpdate() == Boolean.FALSE ? UpdateTiming.AFTER_BACKWARD : UpdateTiming.EAGER;
    }

    private Budget budget(NetworkDescription network) {
        if (!device.hasOwnMemory()) {
            return new Budget(Long.MAX_VALUE, 0, true, 0, true);
        }
        long headroom = Headroom.bytes(request.headroomBytes(), device.computesBehindHost(), device.totalBytes(), network);
        boolean known = shapes.isKnown();
        long activations = 0;
        boolean estimated = false;
        if (known) {
            try {
                activations = shapes.memory(adapter).totalBytes();
                estimated = true;
            } catch (RuntimeException e) {
                refuseIfTold(e);
                LOG.warn("there is no estimate of this network's activations, as DL4J does not tell the shapes of its layers ({}): the plan "
                        + "leaves no room for them but the headroom of {} bytes", e.toString(), headroom);
            }
        }
        return new Budget(available, activations, estimated, headroom, known);
    }

    /** The first iteration shows the shapes: the plan for them. */
    Plan shapesKnown(NetworkDescription network) {
        told = false;
        shapes = PlannedShapes.none(adapter.segmentSteps(), request.evaluationBatch()).withTrained(present());
        return first(network);
    }

    private DataShape present() {
        return DataShape.present(adapter, shapes.longest(), adapter.segmentSteps());
    }

    /**
     * The engine is about to start on a plan for the shapes that are trained, with nothing in the slab yet.
     *
     * @return the plan to start on: another one if a saved profile matches
     */
    Plan starting(Plan plan, Region master, Region gradients, Region slab) {
        // The device may have failed in the middle of a measurement.
        run = null;
        if (request.strategy() == null || slab == null) {
            return plan;
        }
        measured = shapes.longest();
        if (profile == null) {
            inPlace = device.canUseInPlace(master) && device.canUseInPlace(gradients);
            link = LinkProbe.measure(device, master, slab, adapter.dataType(), inPlace);
            profile = saved();
        }
        if (profile != null) {
            return byStrategy(plan, slab.bytes());
        }
        measure(plan, measured);
        return run.plan();
    }

    private void measure(Plan plan, DataShape data) {
        watch = null;
        measured = data;
        passedOver = 0;
        size.begin();
        run = new ProfileRun(device, request.rules(), inPlace, key(data), link, activationBytes(plan.network(), data), plan);
    }

    /** What each layer puts out for the data that is measured, by the shapes that DL4J tells; 0 where it tells none. */
    private long[] activationBytes(NetworkDescription network, DataShape data) {
        try {
            DataShape computed = data.cut(adapter.segmentSteps());
            return NetworkWork.work(network, adapter.shapes(computed.types()), computed.batch()).stream().mapToLong(LayerWork::activationBytes).toArray();
        } catch (RuntimeException e) {
            LOG.debug("DL4J does not tell the shapes of this network's layers: the profile has no bytes of activations", e);
            return new long[network.layers().size()];
        }
    }

    private Profile saved() {
        File file = request.profileFile();
        if (file == null) {
            return null;
        }
        try {
            Profile found = ProfileFile.find(file, key(measured)).orElse(null);
            if (found != null && link.isLinkOf(found)) {
                LOG.info("profile of {} is used", file);
                return found;
            }
        } catch (IOException e) {
            throw new MemFerryException("cannot read the profile " + file + ": " + e.getMessage() + ". Delete it, or name another file.", e);
        }
        return null;
    }

    /** What a profile holds for: configuration, batch and input shapes, device, type of the numbers. */
    private String key(DataShape data) {
        return adapter.key(data.batch(), data.types()) + ", " + device.name();
    }

    /**
     * The strategy's plan.
     *
     * @param plan by sizes, with its budget; goes on where others have taken so much of the device that the strategy has no plan
     * @param slab bytes of the slab that gives way
     */
    private Plan byStrategy(Plan plan, long slab) {
        Budget budget = plan.budget();
        boolean taken = budget.slabLimit() > free(slab);
        Plan next;
        try {
            next = StrategyPlanner.plan(request.strategy(), plan.network(), profile, taken ? budget.withSlabLimit(free(slab)) : budget,
                    request.rules());
        } catch (OutOfMemoryException e) {
            if (!taken) {
                throw e;
            }
            LOG.warn("others have taken of the device meanwhile: the plan by sizes goes on, not one of strategy {} ({})", request.strategy(),
                    e.getMessage());
            next = plan;
        }
        watch = new RunWatch(profile, device.computesBehindHost(), DRIFT, PATIENCE);
        LOG.info("planned by strategy {} from a {} profile: {}", request.strategy(), profile.measured() ? "measured" : "estimated",
                PlanTable.summary(next));
        return request.eagerUpdate() == Boolean.FALSE && next.updateTiming() == UpdateTiming.EAGER
                ? next.withUpdateTiming(UpdateTiming.AFTER_BACKWARD) : next;
    }

    /**
     * A training iteration is about to open on a plan.
     *
     * @return the plan for it, the same one if nothing changes
     * @throws OutOfMemoryException if there is no plan for its data; all is as before
     */
    Plan opening(Plan plan) {
        if (!device.hasOwnMemory()) {
            return plan;
        }
        boolean grown = !shapes.coverTraining(adapter);
        Plan fitting = grown || unplanned.areWaiting() ? roomToTrain(plan, grown) : plan;
        size.opened(adapter);
        if (run != null) {
            passOver(grown);
        } else if (watch != null && watch.opened(size.times())) {
            LOG.info("the computation takes {} times what was profiled: it is measured again", String.format("%.2f", watch.ratio()));
            measure(planToMeasure(fitting), measured);
        } else if (watch != null && size.hasMoved()) {
            LOG.info("the data is {} times as large as what was profiled by now: it is measured again", String.format("%.2f", size.times()));
            measure(planToMeasure(fitting), present());
        }
        return run == null ? fitting : nextOfRun();
    }

    /** What was measured so far is of other data once that has grown much, or has been of another size for long. */
    private void passOver(boolean grown) {
        if (size.hasMoved() || size.hasSettled() && size.isAlike() && measured.timesIn(adapter) > DRIFT) {
            measure(run.base(), present());
        } else if (grown && size.isOutgrown()) {
            measure(run.base(), measured);
        }
        passedOver += size.canBeMeasured() ? 0 : 1;
    }

    private Plan roomToTrain(Plan plan, boolean grown) {
        DataShape data = present();
        PlannedShapes wanted = grown ? shapes.withTrained(estimable(data)) : shapes;
        List<DataShape> waiting = unplanned.take();
        PlannedShapes all = wanted;
        for (DataShape evaluation : waiting) {
            all = all.withEvaluated(evaluation);
        }
        try {
            return roomFor(plan, all);
        } catch (OutOfMemoryException e) {
            if (waiting.isEmpty()) {
                throw noRoom("train on " + data + " at once", e, "");
            }
        }
        // These are over by now, and the iteration that opens may still have room.
        for (DataShape evaluation : waiting) {
            goOn(evaluation, "no plan leaves room beside training");
        }
        return roomToTrain(plan, grown);
    }

    /**
     * The thread that trains computes outside of iterations, on the data that the network was given last.
     *
     * @return the plan from now on, the same one if it leaves room for that
     * @throws OutOfMemoryException if there is no plan that does; all is as before
     */
    Plan evaluating(Plan plan) {
        if (!device.hasOwnMemory() || shapes.coverEvaluation(adapter) || unplanned.wasLetGo()) {
            return plan;
        }
        DataShape data = estimable(present());
        try {
            return roomFor(plan, shapes.withEvaluated(data));
        } catch (OutOfMemoryException e) {
            OutOfMemoryException refusal = noRoom("evaluate " + data + " at once beside training on " + shapes.trained(), e, " Or evaluate fewer "
                    + "at once; what evaluate(n) names is refused when the network is attached.");
            if (!request.isUnattended() && !(request.spillToHost() && RegionArrays.hasOurManagers())) {
                throw refusal;
            }
            // Nobody reads an error, or blocks that do not fit may be placed in host memory.
            goOn(data, refusal.getMessage());
            return plan;
        }
    }

    private void goOn(DataShape evaluation, String why) {
        unplanned.letGo(evaluation);
        LOG.warn("{} are evaluated without room of their own on the device: {}", evaluation, why);
    }

    /** Somebody computes, or seems to, where the plan cannot change: the next iteration makes room for the like of it. Called by any thread. */
    void evaluatingElsewhere() {
        if (device.hasOwnMemory() && !shapes.coverEvaluation(adapter) && !unplanned.wasLetGo()) {
            unplanned.add(estimable(present()));
        }
    }

    /** Data whose memory DL4J does not tell is known by its size alone from now on. */
    private DataShape estimable(DataShape data) {
        try {
            if (data.types() != null) {
                TrainingMemory.of(adapter, data.types());
            }
            return data;
        } catch (RuntimeException e) {
            LOG.warn("there is no estimate of this network's activations for {}, as DL4J does not tell the shapes of its layers ({}): the plan "
                    + "leaves the room that it left before", data, e.toString());
            return data.withoutTypes();
        }
    }

    /** By sizes, as little as can be is used in place, which a computation that holds its reads must show without. */
    private Plan planToMeasure(Plan plan) {
        Plan bySizes = first(plan.network());
        boolean there = bySizes.slabBytes() <= free(plan.slabBytes());
        return there ? bySizes : plan.withUpdateTiming(steps());
    }

    /** What can be had for a slab in place of one of some bytes: others may have taken of the device since it was attached. */
    private long free(long slabBytes) {
        return Math.addExact(device.freeBytes(), slabBytes);
    }

    private Plan nextOfRun() {
        run.opened();
        if (!run.isComplete()) {
            return run.plan();
        }
        Plan base = run.base();
        profile = run.profile();
        run = null;
        save();
        return byStrategy(base, base.slabBytes());
    }

    /**
     * The plan for more data than before, the same one if that leaves enough room for it. While the network is measured the plan is that of
     * the measurement, which begins anew where another one takes its place. Where there is none, all is as before: a second try must be
     * refused like the first.
     */
    private Plan roomFor(Plan plan, PlannedShapes wanted) {
        PlannedShapes before = shapes;
        Plan base = run == null ? plan : run.base();
        shapes = wanted;
        told = false;
        try {
            NetworkDescription network = withTouches(base.network());
            boolean room = base.slabBytes() <= budget(network).slabLimit();
            if (room && !isReadMoreOften(base, network)) {
                return plan;
            }
            LOG.info("{}: the plan is made anew", room ? "longer series read more in place" : "larger data leaves less room for slots and "
                    + "resident layers");
            Plan next = first(network);
            if (run != null) {
                measure(next, measured);
                return run.plan();
            }
            return profile == null ? next : byStrategy(next, plan.slabBytes());
        } catch (RuntimeException e) {
            shapes = before;
            throw e;
        }
    }

    /** Whether some layer is read in place so much more often that another placement may be the better one. */
    private static boolean isReadMoreOften(Plan plan, NetworkDescription now) {
        for (int i = 0; i < plan.layers().size(); i++) {
            LayerPlan layer = plan.layers().get(i);
            boolean inPlace = layer.forward() == Placement.DIRECT || layer.backward() == Placement.DIRECT;
            if (inPlace && now.layers().get(i).forwardTouches() > DRIFT * plan.network().layers().get(i).forwardTouches()) {
                return true;
            }
        }
        return false;
    }

    private static OutOfMemoryException noRoom(String what, OutOfMemoryException cause, String wayOut) {
        return new OutOfMemoryException("there is no room to " + what + ": " + cause.getMessage() + wayOut, cause.askedBytes(),
                cause.availableBytes());
    }

    private void save() {
        if (request.profileFile() == null) {
            return;
        }
        try {
            ProfileFile.write(profile, request.profileFile());
        } catch (IOException e) {
            LOG.warn("the profile was measured but not saved in {}: {}", request.profileFile(), String.valueOf(e));
        }
    }

    /** Bytes of the slab under a plan. While a network is measured no round gives any of them back: others might take them meanwhile. */
    long slabBytes(Plan plan) {
        return run == null ? plan.slabBytes() : run.base().slabBytes();
    }

    /** Who is told of the visits; {@link VisitClock#OFF} if nobody wants to know. */
    VisitClock clock() {
        return run != null ? run : watch != null ? watch : VisitClock.OFF;
    }

    /** The iteration waits for copies and steps from here to {@link #closed}. */
    void barrier() {
        if (run != null) {
            run.barrier();
        }
    }

    /** The iteration is closed. */
    void closed(LayerSteps steps) {
        if (run != null && (size.canBeMeasured() || passedOver > MOST_PASSED_OVER)) {
            run.closed(steps);
        }
    }

    /** Whether the present plan is one to measure with: another one follows. */
    boolean isMeasuring() {
        return run != null;
    }

    /** What was measured or read; null before. */
    Profile profile() {
        return profile;
    }

    /** How long the iterations of the present plan lasted; empty where it was made from sizes alone, or has not run. */
    Optional<MeasuredRun> measuredRun() {
        return watch == null ? Optional.empty() : watch.measured();
    }
}
