package org.memferry.network;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.engine.VisitClock;
import org.memferry.plan.Budget;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.MeasuredRun;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.UpdateTiming;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.StrategyPlanner;
import org.memferry.report.PlanTable;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.Optional;

/**
 * Decides an attachment's plan, and when to decide anew: by sizes alone, or by a strategy from a profile that was saved or is measured in
 * the first iterations. A batch that is larger than planned for makes a new plan where the present one leaves too little beside it;
 * computation that has become slower or faster by more than {@value #DRIFT} times for {@value #PATIENCE} iterations is measured again.
 */
final class Planning {

    private static final Logger LOG = LoggerFactory.getLogger(Planning.class);
    private static final double DRIFT = 1.5;
    private static final int PATIENCE = 8;

    private final NetworkAdapter adapter;
    private final AttachRequest request;
    private final Device device;
    private final long available;
    private int batch;
    private InputType[] types;
    /** Whether the user named the types. */
    private boolean told;
    private LinkProbe link;
    private boolean inPlace;
    private ProfileRun run;
    private Profile profile;
    private RunWatch watch;

    Planning(NetworkAdapter adapter, AttachRequest request, Device device) {
        this.adapter = adapter;
        this.request = request;
        this.device = device;
        this.available = device.freeBytes();
        this.batch = request.batch();
        this.types = request.inputTypes();
        this.told = types != null;
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
        if (!device.hasOwnMemory() || types == null) {
            return network;
        }
        try {
            return NetworkWork.withTouches(network, adapter.shapes(TrainingMemory.segments(types, adapter.segmentSteps())));
        } catch (RuntimeException e) {
            refuseIfTold(e);
            LOG.debug("DL4J does not tell the shapes of this network's layers: reads in place count once for each pass", e);
            return network;
        }
    }

    /** Types that the user named and that are not the network's; the types of data that is there are DL4J's to refuse. */
    private void refuseIfTold(RuntimeException e) {
        if (e instanceof LayerShape.Mismatch && told) {
            throw new RefusedException("expect(" + batch + ", " + Arrays.toString(types) + "): " + e.getMessage() + " (expected: one input type per "
                    + "network input, of the data that the network is trained on)");
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
        boolean known = batch > 0 && types != null;
        long activations = 0;
        boolean estimated = false;
        if (known) {
            try {
                activations = TrainingMemory.of(adapter, types).of(batch, request.evaluationBatch()).totalBytes();
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
        types = adapter.presentInputTypes();
        told = false;
        batch = presentBatch();
        return first(network);
    }

    private int presentBatch() {
        INDArray[] inputs = adapter.inputs();
        return inputs.length == 0 || inputs[0] == null ? 0 : (int) Math.min(Integer.MAX_VALUE, inputs[0].size(0));
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
        if (profile == null) {
            inPlace = device.canUseInPlace(master) && device.canUseInPlace(gradients);
            link = LinkProbe.measure(device, master, slab, adapter.dataType(), inPlace);
            profile = saved();
        }
        if (profile != null) {
            return byStrategy(plan, slab.bytes());
        }
        measure(plan);
        return run.plan();
    }

    private void measure(Plan plan) {
        watch = null;
        run = new ProfileRun(device, request.rules(), inPlace, key(), link, plan);
    }

    private Profile saved() {
        File file = request.profileFile();
        if (file == null) {
            return null;
        }
        try {
            Profile found = ProfileFile.find(file, key()).orElse(null);
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
    private String key() {
        return adapter.key(batch, types) + ", " + device.name();
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
        LOG.debug("plan:\n{}", PlanTable.render(next));
        return request.eagerUpdate() == Boolean.FALSE && next.updateTiming() == UpdateTiming.EAGER
                ? next.withUpdateTiming(UpdateTiming.AFTER_BACKWARD) : next;
    }

    /** A training iteration is about to open on a plan. Returns the plan for it, the same one if nothing changes. */
    Plan opening(Plan plan) {
        if (!device.hasOwnMemory()) {
            return plan;
        }
        Plan fitting = plan;
        if (presentBatch() > batch) {
            fitting = forLargerBatch(run == null ? plan : run.base());
            if (run != null) {
                // What was measured so far is another batch's.
                measure(fitting);
            }
        }
        if (run == null && watch != null && watch.opened()) {
            LOG.info("the computation takes {} times what was profiled: it is measured again", String.format("%.2f", watch.ratio()));
            measure(planToMeasure(fitting));
        }
        return run == null ? fitting : nextOfRun();
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

    /** The plan for the present batch, the same one if that leaves enough room for it. Where there is none, all is as before. */
    private Plan forLargerBatch(Plan plan) {
        int plannedBatch = batch;
        InputType[] plannedTypes = types;
        batch = presentBatch();
        types = adapter.presentInputTypes();
        told = false;
        try {
            if (plan.slabBytes() <= budget(plan.network()).slabLimit()) {
                return plan;
            }
            LOG.info("a batch of {} examples leaves less room for slots and resident layers: the plan is made anew", batch);
            Plan next = first(plan.network());
            return profile == null || run != null ? next : byStrategy(next, plan.slabBytes());
        } catch (OutOfMemoryException e) {
            // A second try must be refused like the first.
            batch = plannedBatch;
            types = plannedTypes;
            throw e;
        }
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
        if (run != null) {
            run.closed(steps);
        }
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
