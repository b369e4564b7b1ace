package org.memferry.planner;

import java.util.Arrays;

/**
 * Chooses which gradients stay on the device, as GO-MemFerry does: bytes that stay against time that backward loses by writing the others
 * in place, a knapsack. The search goes layer by layer, those first that lose most per byte, and keeps every pair (time lost, bytes) that
 * no other one beats in both and that could still beat the greedy choice if gradients could be cut in pieces.
 *
 * <p>Exact up to {@value ForwardScheduler#EXACT_LAYERS} layers; beyond, the bound of the error is reported
 * ({@link GradientChoice#epsilonNanos()}).
 */
public final class GradientPlanner {

    /** Pairs kept for more layers: few do, since what could be cut in pieces is so near to the best. */
    static final int STATES = 1 << 6;

    private final long limitBytes;
    /** Layers, those first that lose most per byte. */
    private final int[] order;
    /** Sums over the layers before a place in that order. */
    private final long[] bytesBefore;
    private final long[] extraBefore;

    private GradientPlanner(long[] bytes, long[] extraNanos, long limitBytes) {
        this.limitBytes = limitBytes;
        Integer[] dense = new Integer[bytes.length];
        Arrays.setAll(dense, i -> i);
        Arrays.sort(dense, (a, b) -> Double.compare(density(bytes[b], extraNanos[b]), density(bytes[a], extraNanos[a])));
        this.order = Arrays.stream(dense).mapToInt(Integer::intValue).toArray();
        this.bytesBefore = new long[bytes.length + 1];
        this.extraBefore = new long[bytes.length + 1];
        for (int i = 0; i < order.length; i++) {
            bytesBefore[i + 1] = Math.addExact(bytesBefore[i], bytes[order[i]]);
            extraBefore[i + 1] = Math.addExact(extraBefore[i], extraNanos[order[i]]);
        }
    }

    /**
     * The bytes that a reserve factor leaves for gradients on the device.
     *
     * @param gradientBytes per layer
     * @param reserveFactor share of all gradient bytes that stays on the device, 0 to 1
     */
    public static long reserveBytes(long[] gradientBytes, double reserveFactor) {
        if (!(reserveFactor >= 0 && reserveFactor <= 1)) {
            throw new IllegalArgumentException("reserve factor " + reserveFactor
                    + " (expected: 0 to 1, the share of gradient bytes that stays on the device)");
        }
        return (long) Math.floor(Arrays.stream(gradientBytes).sum() * reserveFactor);
    }

    /**
     * The choice that loses least.
     *
     * @param bytes       per layer: what its gradient takes on the device
     * @param extraNanos  per layer: what backward takes longer if it writes the gradient in place, at least 0
     * @param limitBytes  what all gradients on the device may take together
     */
    public static GradientChoice choose(long[] bytes, long[] extraNanos, long limitBytes) {
        return choose(bytes, extraNanos, limitBytes, bytes.length <= ForwardScheduler.EXACT_LAYERS ? ForwardScheduler.EXACT_STATES : STATES);
    }

    static GradientChoice choose(long[] bytes, long[] extraNanos, long limitBytes, int most) {
        if (limitBytes < 0) {
            throw new IllegalArgumentException("gradients may take " + limitBytes + " bytes (expected: at least 0)");
        }
        return new GradientPlanner(bytes, extraNanos, limitBytes).search(most);
    }

    private GradientChoice search(int most) {
        boolean[] known = densest();
        long knownLoss = 0;
        long knownBytes = 0;
        for (int place = 0; place < order.length; place++) {
            knownLoss += known[place] ? 0 : extraAt(place);
            knownBytes += known[place] ? bytesAt(place) : 0;
        }
        Frontier frontier = new Frontier(order.length, most);
        for (int place = 0; place < order.length; place++) {
            extend(frontier, place, knownLoss);
        }
        boolean found = frontier.size() > 0 && frontier.cost(0) <= knownLoss;
        long loss = found ? frontier.cost(0) : knownLoss;
        long epsilon = Math.min(frontier.lostNanos(), loss - leastLost(0, limitBytes));
        return new GradientChoice(byLayer(found ? frontier.secondChoices(0) : known), found ? frontier.resource(0) : knownBytes, loss, epsilon);
    }

    /** Gradients without bytes come first of all: they stay whatever the limit. */
    private static double density(long bytes, long extraNanos) {
        return bytes == 0 ? Double.POSITIVE_INFINITY : (double) extraNanos / bytes;
    }

    private long bytesAt(int place) {
        return bytesBefore[place + 1] - bytesBefore[place];
    }

    private long extraAt(int place) {
        return extraBefore[place + 1] - extraBefore[place];
    }

    private boolean[] byLayer(boolean[] byPlace) {
        boolean[] onDevice = new boolean[order.length];
        for (int place = 0; place < order.length; place++) {
            onDevice[order[place]] = byPlace[place];
        }
        return onDevice;
    }

    /** What fits of the gradients that lose most per byte: what the search has to beat. */
    private boolean[] densest() {
        boolean[] onDevice = new boolean[order.length];
        long left = limitBytes;
        for (int place = 0; place < order.length; place++) {
            onDevice[place] = bytesAt(place) <= left;
            left -= onDevice[place] ? bytesAt(place) : 0;
        }
        return onDevice;
    }

    /** What the layers from a place on lose at least, if the first that does not fit could be cut to fit. */
    private long leastLost(int place, long bytesLeft) {
        int found = Arrays.binarySearch(bytesBefore, place, bytesBefore.length, bytesBefore[place] + bytesLeft);
        int end = found >= 0 ? found : -found - 2;
        while (end < order.length && bytesAt(end) == 0) {
            end++;
        }
        if (end == order.length) {
            return 0;
        }
        double part = (bytesBefore[place] + bytesLeft - bytesBefore[end]) / (double) bytesAt(end);
        long rest = extraBefore[order.length] - extraBefore[end];
        return Math.max(0, rest - (long) Math.ceil(Math.min(1, part) * extraAt(end)) - 1);
    }

    /** Merges the states that leave a gradient on the device with those that write it in place, both in ascending order of time lost. */
    private void extend(Frontier frontier, int place, long mostLost) {
        int stays = 0;
        int inPlace = 0;
        while (stays < frontier.size() || inPlace < frontier.size()) {
            long costStays = stays < frontier.size() ? frontier.cost(stays) : Long.MAX_VALUE;
            long costInPlace = inPlace < frontier.size() ? frontier.cost(inPlace) + extraAt(place) : Long.MAX_VALUE;
            if (Math.min(costStays, costInPlace) > mostLost) {
                break;
            }
            boolean stay = costStays <= costInPlace;
            int before = stay ? stays++ : inPlace++;
            long cost = stay ? costStays : costInPlace;
            long taken = frontier.resource(before) + (stay ? bytesAt(place) : 0);
            if (taken <= limitBytes && cost + leastLost(place + 1, limitBytes - taken) <= mostLost) {
                frontier.add(cost, taken, before, stay);
            }
        }
        frontier.layerDone();
    }
}
