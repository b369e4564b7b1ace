package org.memferry.examples.bench;

import com.sun.management.OperatingSystemMXBean;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleBiFunction;

/** The times of one contestant, one entry per round: wall time, and CPU time of the whole process. In nanoseconds. */
final class Stopwatch {

    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final List<Double> wall = new ArrayList<>();
    private final List<Double> cpu = new ArrayList<>();

    /** Times some work as the next round. */
    void time(Runnable work) {
        long cpuStart = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        work.run();
        wall.add((double) (System.nanoTime() - start));
        cpu.add((double) (SYSTEM.getProcessCpuTime() - cpuStart));
    }

    /** Forgets the rounds so far. */
    void reset() {
        wall.clear();
        cpu.clear();
    }

    boolean isEmpty() {
        return wall.isEmpty();
    }

    /** Median wall time. */
    double median() {
        return median(wall.stream().mapToDouble(t -> t).toArray());
    }

    /** Shortest wall time. */
    double best() {
        return wall.stream().mapToDouble(t -> t).min().orElse(Double.NaN);
    }

    /** Times of two runs in each round, as their mean: one before and one after what they are compared with. */
    static Stopwatch mean(Stopwatch before, Stopwatch after) {
        Stopwatch mean = new Stopwatch();
        for (int i = 0; i < before.wall.size(); i++) {
            mean.wall.add((before.wall.get(i) + after.wall.get(i)) / 2);
            mean.cpu.add((before.cpu.get(i) + after.cpu.get(i)) / 2);
        }
        return mean;
    }

    /** How many times as long as another one this one takes: the median over the rounds, in wall time. */
    double times(Stopwatch other) {
        return ratio(other, (s, i) -> s.wall.get(i));
    }

    /** As {@link #times}, in CPU time of the process. */
    double cpuTimes(Stopwatch other) {
        return ratio(other, (s, i) -> s.cpu.get(i));
    }

    private double ratio(Stopwatch other, ToDoubleBiFunction<Stopwatch, Integer> time) {
        double[] ratios = new double[wall.size()];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = time.applyAsDouble(this, i) / time.applyAsDouble(other, i);
        }
        return median(ratios);
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        int middle = values.length / 2;
        return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    }
}
