package org.memferry.planner;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The planning that the MemFerry paper describes, as far as it is known, kept as a comparison: layer by layer the choice that ends that
 * layer earlier; then the layers read in place are loaded for backward in what is left of the link's time, the ones that gain most per
 * nanosecond of copy first.
 */
public final class LayerwiseGreedy {

    private LayerwiseGreedy() {
    }

    /** For each layer in turn: copied if that ends this layer no later than reading in place does, whatever it means for later ones. */
    public static ForwardSchedule schedule(List<ForwardLayer> layers) {
        boolean[] copied = new boolean[layers.size()];
        long compute = 0;
        long link = 0;
        for (int i = 0; i < copied.length; i++) {
            ForwardLayer layer = layers.get(i);
            long arrived = Math.max(link, layer.copyFromNanos()) + layer.copyNanos();
            long ended = Math.max(compute, arrived) + layer.onDeviceNanos();
            long direct = compute + layer.directNanos();
            copied[i] = layer.mayCopy() && (!layer.mayReadInPlace() || ended <= direct);
            link = copied[i] ? arrived : link;
            compute = copied[i] ? ended : direct;
        }
        return ForwardSchedule.of(layers, copied);
    }

    /**
     * Layers that were read in place in forward and are copied for backward (DFGB) while forward leaves the link idle.
     *
     * @param forward  the layers of the forward pass
     * @param schedule their schedule
     * @param backward per layer of the same order its times in backward
     * @return per layer of the order: loaded for backward
     */
    public static boolean[] preloads(List<ForwardLayer> forward, ForwardSchedule schedule, List<ForwardLayer> backward) {
        long idle = schedule.makespanNanos();
        List<Integer> inPlace = new ArrayList<>();
        for (int i = 0; i < forward.size(); i++) {
            if (schedule.isCopied(i)) {
                idle -= forward.get(i).copyNanos();
            } else {
                inPlace.add(i);
            }
        }
        inPlace.sort(Comparator.comparingDouble(i -> -gain(backward.get(i)) / Math.max(1.0, backward.get(i).copyNanos())));
        boolean[] loaded = new boolean[forward.size()];
        for (int i : inPlace) {
            ForwardLayer layer = backward.get(i);
            if (layer.mayCopy() && gain(layer) > 0 && layer.copyNanos() <= idle) {
                loaded[i] = true;
                idle -= layer.copyNanos();
            }
        }
        return loaded;
    }

    private static long gain(ForwardLayer layer) {
        return layer.directNanos() - layer.onDeviceNanos();
    }
}
