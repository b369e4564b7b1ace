package org.memferry.planner;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;
import org.memferry.plan.Budget;
import org.memferry.plan.Hardware;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;

import java.util.Optional;

/**
 * What a strategy would take for a workload on some hardware: its plan and the simulation of an iteration. Everything in it is predicted.
 * Immutable.
 */
public final class Forecast {

    private static final double NANOS = 1e9;

    private final Strategy strategy;
    private final Profile profile;
    private final Plan plan;
    private final Simulation simulation;

    private Forecast(Strategy strategy, Profile profile, Plan plan, Simulation simulation) {
        this.strategy = strategy;
        this.profile = profile;
        this.plan = plan;
        this.simulation = simulation;
    }

    /** The times of a workload on some hardware, estimated. */
    public static Profile estimate(Workload workload, Hardware hardware) {
        return Estimator.estimate(workload.network(), workload.work(), hardware, workload.key() + ", estimated for " + hardware.name());
    }

    /**
     * Plans and simulates one strategy. {@link Strategy#NONE} has no plan; its step moves parameters, gradients and updater state at the
     * rate of the device's memory.
     *
     * @param profile  of the workload's network: {@link #estimate}, or a measured one
     * @param hardware for the step of {@link Strategy#NONE}
     * @param budget   the device bytes
     * @throws OutOfMemoryException if the budget does not hold what the strategy needs at least
     */
    public static Forecast of(Strategy strategy, Workload workload, Profile profile, Hardware hardware, Budget budget) {
        if (strategy == Strategy.NONE) {
            return stock(workload, profile, hardware, budget);
        }
        Plan plan = StrategyPlanner.plan(strategy, workload.network(), profile, budget, PlacementRules.none());
        return new Forecast(strategy, profile, plan, Simulator.simulate(plan, profile));
    }

    private static Forecast stock(Workload workload, Profile profile, Hardware hardware, Budget budget) {
        long bytes = StrategyPlanner.smallestBudget(Strategy.NONE, workload.network(), profile);
        if (bytes > budget.slabLimit()) {
            throw new OutOfMemoryException("plain training needs " + Sizes.exact(bytes) + " for parameters, gradients and updater state but "
                    + Sizes.exact(budget.slabLimit()) + " of " + Sizes.format(budget.deviceBytes()) + " are left beside activations ("
                    + Sizes.format(budget.activationBytes()) + ", estimated) and headroom (" + Sizes.format(budget.headroomBytes())
                    + "). Use another strategy, or give the device more memory (deviceMemory, --device-memory).", bytes, Math.max(0, budget.slabLimit()));
        }
        double moved = 3.0 * workload.network().parameterBytes() + 2.0 * workload.network().updaterStateBytes();
        long step = (long) Math.ceil(moved * NANOS / hardware.deviceBytesPerSecond());
        return new Forecast(Strategy.NONE, profile, null, Simulator.stock(workload.network(), profile, budget, step));
    }

    /** What was asked for. */
    public Strategy strategy() {
        return strategy;
    }

    /** The times that it was made from. */
    public Profile profile() {
        return profile;
    }

    /** The plan; empty for {@link Strategy#NONE}. */
    public Optional<Plan> plan() {
        return Optional.ofNullable(plan);
    }

    /** An iteration in steady state. */
    public Simulation simulation() {
        return simulation;
    }
}
