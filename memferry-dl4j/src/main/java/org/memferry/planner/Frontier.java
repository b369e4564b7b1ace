package org.memferry.planner;

import java.util.Arrays;

/**
 * The states of a search over layers that are worth going on with, for searches whose state is two numbers, both the better the smaller:
 * a cost in nanoseconds and a resource (the link's clock, bytes). Only states that no other one beats in both are kept, in ascending order
 * of cost and so in descending order of the resource; each knows the state of the layer before and the choice that led to it.
 *
 * <p>Where more states are left than the search may keep, neighbours are put together: of each run of neighbours the one with the highest
 * cost stays, since it has the least of the resource. No state that was dropped is cheaper than the one that stays for it by more than
 * the run's span, and a cost that is higher by a time never makes the end higher by more than that time: the sum of the widest spans
 * bounds the error of the whole search ({@link #lostNanos}).
 */
final class Frontier {

    private final int most;
    private long[] cost = {0};
    private long[] resource = {0};
    private int size = 1;

    private long[] nextCost = new long[64];
    private long[] nextResource = new long[64];
    private int[] nextFrom = new int[64];
    private int nextSize;

    /** Per layer done, per state: {@code 2 * index of the state before + 1} if the second choice led here. */
    private final int[][] from;
    private int layers;
    private long lostNanos;
    private int widest = 1;

    /**
     * One state of cost 0 and resource 0.
     *
     * @param layers number of layers that will be added
     * @param most   states kept at most after each
     */
    Frontier(int layers, int most) {
        this.from = new int[layers][];
        this.most = most;
    }

    int size() {
        return size;
    }

    long cost(int state) {
        return cost[state];
    }

    long resource(int state) {
        return resource[state];
    }

    /** Most states that were kept after a layer. */
    int widest() {
        return widest;
    }

    /** Bound of what the search lost by putting states together: the best end is at most this much better than the one found. */
    long lostNanos() {
        return lostNanos;
    }

    /**
     * A state of the next layer; to be called in ascending order of cost. Dropped if one before it has no more of the resource.
     *
     * @param before state that it follows
     * @param second false for the first choice of the layer, true for the second
     */
    void add(long newCost, long newResource, int before, boolean second) {
        if (nextSize > 0 && nextResource[nextSize - 1] <= newResource) {
            return;
        }
        if (nextSize > 0 && nextCost[nextSize - 1] == newCost) {
            nextSize--;
        }
        if (nextSize == nextCost.length) {
            nextCost = Arrays.copyOf(nextCost, nextSize * 2);
            nextResource = Arrays.copyOf(nextResource, nextSize * 2);
            nextFrom = Arrays.copyOf(nextFrom, nextSize * 2);
        }
        nextCost[nextSize] = newCost;
        nextResource[nextSize] = newResource;
        nextFrom[nextSize] = 2 * before + (second ? 1 : 0);
        nextSize++;
    }

    /** The layer's states are all there: they become the states that the next layer follows. */
    void layerDone() {
        if (nextSize > most) {
            thin();
        }
        from[layers++] = Arrays.copyOf(nextFrom, nextSize);
        long[] oldCost = cost;
        long[] oldResource = resource;
        cost = nextCost;
        resource = nextResource;
        nextCost = oldCost;
        nextResource = oldResource;
        size = nextSize;
        nextSize = 0;
        nextFrom = nextFrom.length < nextCost.length ? new int[nextCost.length] : nextFrom;
        if (nextCost.length < nextFrom.length) {
            nextCost = new long[nextFrom.length];
            nextResource = new long[nextFrom.length];
        }
        widest = Math.max(widest, size);
    }

    /** Runs of equal span over the whole range of costs, so that the widest one is as narrow as it can be. */
    private void thin() {
        long span = (nextCost[nextSize - 1] - nextCost[0]) / most + 1;
        int kept = 0;
        long widestRun = 0;
        for (int begin = 0; begin < nextSize; ) {
            int last = begin;
            while (last + 1 < nextSize && nextCost[last + 1] - nextCost[begin] < span) {
                last++;
            }
            widestRun = Math.max(widestRun, nextCost[last] - nextCost[begin]);
            nextCost[kept] = nextCost[last];
            nextResource[kept] = nextResource[last];
            nextFrom[kept] = nextFrom[last];
            kept++;
            begin = last + 1;
        }
        nextSize = kept;
        lostNanos = Math.addExact(lostNanos, widestRun);
    }

    /** Per layer whether the second choice led to a state of the last one. */
    boolean[] secondChoices(int state) {
        boolean[] second = new boolean[layers];
        int at = state;
        for (int layer = layers - 1; layer >= 0; layer--) {
            second[layer] = (from[layer][at] & 1) == 1;
            at = from[layer][at] / 2;
        }
        return second;
    }
}
