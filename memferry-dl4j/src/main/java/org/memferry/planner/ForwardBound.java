package org.memferry.planner;

import java.util.List;

/**
 * What a forward pass takes at least from a state on, so that its search need not follow what cannot be best. The pass ends no earlier than
 * the computation has done all layers, and no earlier than the link has done all copies; so no earlier than any weighted mean of the two,
 * and the least mean is the sum over the layers of the cheaper choice of each. A few weights are tried, one of them the one that gives
 * the whole pass the highest bound.
 */
final class ForwardBound {

    private static final int STEPS = 40;
    private static final double GOLDEN = (Math.sqrt(5) - 1) / 2;

    private final double[] weights;
    /** Per weight, per place: the least mean of the layers from there on. */
    private final double[][] least;

    ForwardBound(List<ForwardLayer> layers) {
        double best = bestWeight(layers);
        this.weights = new double[] {1, best, (1 + best) / 2, best * 0.9, Math.min(1, best * 1.05)};
        this.least = new double[weights.length][];
        for (int w = 0; w < weights.length; w++) {
            least[w] = new double[layers.size() + 1];
            for (int i = layers.size() - 1; i >= 0; i--) {
                least[w][i] = least[w][i + 1] + least(layers.get(i), weights[w]);
            }
        }
    }

    /**
     * The earliest end there can be.
     *
     * @param place   first layer that is not done
     * @param compute clock of the computation
     * @param link    clock of the link
     */
    long leastEnd(int place, long compute, long link) {
        double end = 0;
        for (int w = 0; w < weights.length; w++) {
            end = Math.max(end, weights[w] * compute + (1 - weights[w]) * link + least[w][place]);
        }
        // The sums are rounded: one part in 2^45 and a nanosecond are more than they can be off.
        return (long) (end - end * 0x1p-45 - 1);
    }

    /**
     * The choices that give the least mean of computation and link: best or nearly so where waiting evens out.
     *
     * @param factor by which the computation weighs more than in the bound
     */
    boolean[] choices(List<ForwardLayer> layers, double factor) {
        double weight = Math.min(1, weights[1] * factor);
        boolean[] copied = new boolean[layers.size()];
        for (int i = 0; i < copied.length; i++) {
            ForwardLayer layer = layers.get(i);
            double copy = weight * layer.onDeviceNanos() + (1 - weight) * layer.copyNanos();
            copied[i] = layer.mayCopy() && (!layer.mayReadInPlace() || copy < weight * layer.directNanos());
        }
        return copied;
    }

    private static double least(ForwardLayer layer, double weight) {
        double copied = weight * layer.onDeviceNanos() + (1 - weight) * layer.copyNanos();
        double inPlace = weight * layer.directNanos();
        return !layer.mayCopy() ? inPlace : !layer.mayReadInPlace() ? copied : Math.min(copied, inPlace);
    }

    /** The bound of the whole pass is a concave function of the weight: a golden section search finds its top. */
    private static double bestWeight(List<ForwardLayer> layers) {
        double low = 0;
        double high = 1;
        double left = high - GOLDEN * (high - low);
        double right = low + GOLDEN * (high - low);
        double atLeft = whole(layers, left);
        double atRight = whole(layers, right);
        for (int step = 0; step < STEPS; step++) {
            if (atLeft < atRight) {
                low = left;
                left = right;
                atLeft = atRight;
                right = low + GOLDEN * (high - low);
                atRight = whole(layers, right);
            } else {
                high = right;
                right = left;
                atRight = atLeft;
                left = high - GOLDEN * (high - low);
                atLeft = whole(layers, left);
            }
        }
        return (low + high) / 2;
    }

    private static double whole(List<ForwardLayer> layers, double weight) {
        double sum = 0;
        for (ForwardLayer layer : layers) {
            sum += least(layer, weight);
        }
        return sum;
    }
}
