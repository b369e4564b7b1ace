package org.memferry.planner;

import java.util.function.ToLongFunction;

import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.plan.Budget;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;

/**
 * The plans that know times: for each {@link Strategy} a bounded number of proposals is made from the profile, and the one whose
 * simulation is fastest is the plan. The same input gives the same plan.
 *
 * <p>{@link Strategy#ZERO_OFFLOAD} takes its step after backward; every other strategy but {@link Strategy#NATIVE_OFFLOAD} takes it
 * eagerly. {@link Strategy#AUTO} starts from the plans of all others and goes on from the fastest, so no strategy's plan for the same
 * budget is predicted to be faster.
 */
public final class StrategyPlanner {

    private static final int LEAST_PREDICTIONS = 2;
    private static final int MOST_PREDICTIONS = 200;

    private StrategyPlanner() {
    }

    /**
     * Plans a network.
     *
     * @param strategy any but {@link Strategy#NONE}
     * @param network  what to plan
     * @param profile  its times
     * @param budget   the device bytes
     * @param rules    placements fixed by the user, whatever the strategy
     * @throws OutOfMemoryException if the budget does not hold the strategy's smallest plan
     * @throws RefusedException     if the strategy is NONE, or a rule matches no layer
     */
    public static Plan plan(Strategy strategy, NetworkDescription network, Profile profile, Budget budget, PlacementRules rules) {
        return plan(strategy, new PlanningTask(network, profile, budget, rules, simulated(profile)));
    }

    private static ToLongFunction<Plan> simulated(Profile profile) {
        return plan -> Simulator.simulate(plan, profile).stepNanos();
    }

    static Plan plan(Strategy strategy, PlanningTask task) {
        task.rules.checkAgainst(task.network);
        if (strategy == Strategy.NONE) {
            throw new RefusedException("strategy NONE is stock training: there is nothing to plan (expected: another strategy; simulate"
                    + " shows what NONE would take)");
        }
        if (task.budget.deviceBytes() == Long.MAX_VALUE) {
            return Plan.inPlace(task.network, task.budget);
        }
        Shortage.requireRoom(task.budget);
        return strategy == Strategy.AUTO ? AutoPlans.plan(task) : named(strategy, task).plan(needs(strategy, task));
    }

    /** The judge that has seen the proposals of one strategy; asked once per task. */
    static Judge named(Strategy strategy, PlanningTask task) {
        Judge known = task.judged.get(strategy);
        if (known == null) {
            known = new Judge(task, predictions(task, strategy == Strategy.MEMFERRY ? FerryPlans.LEAST_PREDICTIONS : LEAST_PREDICTIONS));
            offer(strategy, task, known);
            task.judged.put(strategy, known);
        }
        return known;
    }

    private static void offer(Strategy strategy, PlanningTask task, Judge judge) {
        switch (strategy) {
            case ZERO_OFFLOAD:
            case NATIVE_OFFLOAD:
                OffloadPlans.offer(task, strategy, judge);
                break;
            case MEMFERRY:
                FerryPlans.offer(task, judge);
                break;
            case GO_MEMFERRY:
                FerryPlans.offerGo(task, judge);
                break;
            case STREAM:
                StreamPlans.offer(task, judge);
                break;
            default:
                throw new IllegalArgumentException(strategy + " has no proposals of its own");
        }
    }

    /**
     * Few where each takes long: a simulation's time grows with the layers.
     *
     * @param least fewest, however many layers there are
     */
    static int predictions(PlanningTask task, int least) {
        long visits = 2L * Math.max(1, task.layers);
        return (int) Math.max(least, Math.min(MOST_PREDICTIONS, 4_000_000 / (visits * visits)));
    }

    private static String needs(Strategy strategy, PlanningTask task) {
        boolean free = task.rules == PlacementRules.none();
        return free ? "strategy " + strategy + " needs" : "strategy " + strategy + " with the placements you fixed needs";
    }

    /**
     * The smallest slab in which a strategy runs: what a {@link Budget} must leave beside activations and headroom. For
     * {@link Strategy#NONE} what parameters, gradients and updater state take.
     *
     * @return bytes
     */
    public static long smallestBudget(Strategy strategy, NetworkDescription network, Profile profile) {
        PlanningTask task = new PlanningTask(network, profile, new Budget(0, 0, true, 0, true), PlacementRules.none(), plan -> 0);
        switch (strategy) {
            case NONE:
                return Math.addExact(Math.multiplyExact(2L, network.parameterBytes()), network.updaterStateBytes());
            case ZERO_OFFLOAD:
            case NATIVE_OFFLOAD:
                return OffloadPlans.draft(task, strategy).slabBytes();
            case MEMFERRY:
                return FerryPlans.smallest(task).slabBytes();
            case STREAM:
                return StreamPlans.smallest(task).slabBytes();
            default:
                return new Draft(task).slabBytes();
        }
    }
}
