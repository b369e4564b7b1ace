package org.memferry.planner;

import java.util.List;

/**
 * Finds the shortest forward pass: for each layer a copy of its parameters ahead of use, or reading them in place. A layer starts when the
 * one before has ended and its copy is there; copies are served in the order of execution. What a layer leaves behind for the next ones is
 * then two clocks, the computation's and the link's; the search goes layer by layer and keeps every pair that no other one beats in both.
 *
 * <p>Exact up to {@value #EXACT_LAYERS} layers (and more than {@value #EXACT_STATES} pairs at a time, which no network that was met comes
 * near, would be said in {@link ForwardSchedule#epsilonNanos()}). For more layers at most {@value #STATES} pairs are kept, and the bound of
 * the error is reported. Contention on the link and the sizes of slots are not in this model: it proposes, the simulation judges.
 */
public final class ForwardScheduler {

    /** Layers up to which the answer is exact. */
    public static final int EXACT_LAYERS = 64;
    static final int EXACT_STATES = 1 << 18;
    static final int STATES = 1 << 8;
    /** States of the quick search that comes first, so that the long one knows early what cannot be best. */
    private static final int FEW_STATES = 32;
    /** Choices by weight that are tried before, to each side of the weight of the bound. */
    private static final int WEIGHTS = 10;
    private static final double WEIGHT_STEP = 0.01;

    private final List<ForwardLayer> layers;
    private final ForwardBound bound;

    private ForwardScheduler(List<ForwardLayer> layers) {
        this.layers = layers;
        this.bound = new ForwardBound(layers);
    }

    /**
     * The schedule with the shortest makespan.
     *
     * @param layers in the order of execution; the same scheduler serves the backward pass with its own times and order
     */
    public static ForwardSchedule schedule(List<ForwardLayer> layers) {
        return schedule(layers, layers.size() <= EXACT_LAYERS ? EXACT_STATES : STATES);
    }

    static ForwardSchedule schedule(List<ForwardLayer> layers, int most) {
        ForwardScheduler scheduler = new ForwardScheduler(layers);
        ForwardSchedule known = shorter(LayerwiseGreedy.schedule(layers), DeepPlanGreedy.schedule(layers));
        for (int step = -WEIGHTS; step <= WEIGHTS; step++) {
            known = shorter(known, ForwardSchedule.of(layers, scheduler.bound.choices(layers, 1 + step * WEIGHT_STEP)));
        }
        return scheduler.search(scheduler.search(known, Math.min(most, FEW_STATES)), most);
    }

    private static ForwardSchedule shorter(ForwardSchedule a, ForwardSchedule b) {
        return b.makespanNanos() < a.makespanNanos() ? b : a;
    }

    /** The best schedule found, or the known one if there is none better. */
    private ForwardSchedule search(ForwardSchedule known, int most) {
        Frontier frontier = new Frontier(layers.size(), most);
        for (int i = 0; i < layers.size(); i++) {
            extend(frontier, i, known.makespanNanos());
        }
        boolean found = frontier.size() > 0 && frontier.cost(0) < known.makespanNanos();
        long makespan = found ? frontier.cost(0) : known.makespanNanos();
        long epsilon = Math.min(frontier.lostNanos(), makespan - bound.leastEnd(0, 0, 0));
        return new ForwardSchedule(found ? frontier.secondChoices(0) : known.copied(), makespan, epsilon, frontier.widest());
    }

    /** Merges the states that reading in place leads to with those that a copy leads to, both in ascending order of compute time. */
    private void extend(Frontier frontier, int place, long latest) {
        ForwardLayer layer = layers.get(place);
        int inPlace = layer.mayReadInPlace() ? 0 : frontier.size();
        int copied = layer.mayCopy() ? firstCopied(frontier, layer) : frontier.size();
        while (inPlace < frontier.size() || copied < frontier.size()) {
            long direct = inPlace < frontier.size() ? frontier.cost(inPlace) + layer.directNanos() : Long.MAX_VALUE;
            long copy = copied < frontier.size() ? ended(frontier, copied, layer) : Long.MAX_VALUE;
            if (Math.min(direct, copy) > latest) {
                break;
            }
            boolean copies = copy < direct;
            int before = copies ? copied++ : inPlace++;
            long compute = copies ? copy : direct;
            long link = copies ? arrived(frontier, before, layer) : frontier.resource(before);
            // What cannot beat the known answer even if nothing ever waited again is not followed.
            if (bound.leastEnd(place + 1, compute, link) <= latest) {
                frontier.add(compute, link, before, copies);
            }
        }
        frontier.layerDone();
    }

    /**
     * States for which the computation would wait for the copy come first, with the busiest link first: each is beaten by the next one.
     * From the last of them on, compute time ascends.
     */
    private static int firstCopied(Frontier frontier, ForwardLayer layer) {
        int first = 0;
        while (first + 1 < frontier.size() && ended(frontier, first + 1, layer) <= ended(frontier, first, layer)) {
            first++;
        }
        return first;
    }

    private static long arrived(Frontier frontier, int state, ForwardLayer layer) {
        return Math.max(frontier.resource(state), layer.copyFromNanos()) + layer.copyNanos();
    }

    private static long ended(Frontier frontier, int state, ForwardLayer layer) {
        return Math.max(frontier.cost(state), arrived(frontier, state, layer)) + layer.onDeviceNanos();
    }
}
