package org.memferry.planner;

import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The planning of DeepPlan ("Fast and Efficient Model Serving Using Multi-GPUs with Direct-Host-Access", EuroSys 2023), kept as a
 * comparison: a layer is read in place where {@code direct < onDevice + copy}; then, from the first layer on, wherever the computation
 * stands still for a copy, copied layers up to there are read in place instead, in ascending order of {@code direct - onDevice}, as long
 * as that is less than the computation stands still. It stops at the first candidate that does not pay, and knows neither contention on
 * the link nor memory.
 */
public final class DeepPlanGreedy {

    private DeepPlanGreedy() {
    }

    /** The schedule that DeepPlan's greedy choice gives; layers in the order of execution. */
    public static ForwardSchedule schedule(List<ForwardLayer> layers) {
        boolean[] copied = new boolean[layers.size()];
        PriorityQueue<Integer> candidates = new PriorityQueue<>(Comparator.comparingLong(i -> extraNanos(layers.get(i))));
        for (int i = 0; i < copied.length; i++) {
            ForwardLayer layer = layers.get(i);
            boolean pays = layer.directNanos() < layer.onDeviceNanos() + layer.copyNanos();
            copied[i] = layer.mayCopy() && !(layer.mayReadInPlace() && pays);
        }
        for (int i = 0; i < copied.length; i++) {
            if (copied[i] && layers.get(i).mayReadInPlace()) {
                candidates.add(i);
            }
            long stall = stallNanos(layers, copied, i);
            while (stall > 0 && !candidates.isEmpty() && extraNanos(layers.get(candidates.peek())) < stall) {
                copied[candidates.poll()] = false;
                stall = stallNanos(layers, copied, i);
            }
        }
        return ForwardSchedule.of(layers, copied);
    }

    private static long extraNanos(ForwardLayer layer) {
        return layer.directNanos() - layer.onDeviceNanos();
    }

    /** How long the computation stands still before a layer. */
    private static long stallNanos(List<ForwardLayer> layers, boolean[] copied, int last) {
        long compute = 0;
        long link = 0;
        long stall = 0;
        for (int i = 0; i <= last; i++) {
            ForwardLayer layer = layers.get(i);
            if (copied[i]) {
                link = Math.max(link, layer.copyFromNanos()) + layer.copyNanos();
                stall = Math.max(0, link - compute);
                compute += stall + layer.onDeviceNanos();
            } else {
                stall = 0;
                compute += layer.directNanos();
            }
        }
        return stall;
    }
}
