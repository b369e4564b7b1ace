package org.memferry.update;

import org.bytedeco.javacpp.Pointer;
import org.memferry.device.NativeLibrary;
import org.memferry.device.NativeMemory;
import org.nd4j.linalg.learning.config.IUpdater;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;

/**
 * Times a rule against a native stream of the same traffic, interleaved, in CPU time: {@code UpdateTiming [parameters] [rounds]
 * [rule...]}. Arrays are staggered as the issue asks: bases of equal hash cost Zen up to half of its speed.
 */
final class UpdateTiming {

    private static final long STAGGER = 16 * 1024 + 1088;

    private UpdateTiming() {
    }

    public static void main(String[] args) {
        if (!NativeLibrary.isLoaded()) {
            throw new IllegalStateException(NativeLibrary.load());
        }
        long n = args.length > 0 ? Long.parseLong(args[0]) : 100_000_000;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 9;
        List<String> rules = args.length > 2 ? Arrays.asList(args).subList(2, args.length) : List.of("ADAM");
        long bytes = n * 4;
        NativeMemory memory = NativeMemory.zeroed(5 * (bytes + STAGGER) + 4096, "timing");
        long p = memory.address();
        long g = p + bytes + STAGGER & -64;
        long s = g + bytes + STAGGER & -64;
        Pointer all = new org.memferry.device.Address().at(p);
        Pointer.memset(all, 0, 5 * bytes);
        JavaKernel.FloatsAt floats = new JavaKernel.FloatsAt();
        float[] block = new float[1 << 16];
        for (int i = 0; i < block.length; i++) {
            block[i] = (float) Math.sin(i) * 0.01f;
        }
        for (long at = 0; at < 2 * n - block.length; at += block.length) {
            floats.at(p + 4 * at).put(block, 0, block.length);
        }
        for (String name : rules) {
            UpdateRule rule = UpdateRule.valueOf(name);
            for (int threads : new int[] {1, 2}) {
                // The baseline level is for CPUs on which the avx2 build of ND4J does not run: fused by hand there, it is slow.
                for (int level = Math.min(1, NativeKernel.bestLevel()); level <= NativeKernel.bestLevel(); level++) {
                    time(rule, new NativeKernel(NativeLevel.LEVELS[level]), threads, n, rounds, p, g, s);
                }
                if (args.length <= 2) {
                    time(rule, new JavaKernel(), threads, n, Math.min(rounds, 3), p, g, s);
                }
            }
        }
        memory.free();
    }

    private static void time(UpdateRule rule, UpdateKernel kernel, int threads, long n, int rounds, long p, long g, long s) {
        IUpdater updater = FusedUpdateTest.updater(rule);
        int states = rule.stateComponents();
        int best = NativeKernel.bestLevel();
        try (UpdateWorkers workers = new UpdateWorkers(threads)) {
            FusedUpdate fused = new FusedUpdate(new UpdateEngine(kernel, workers), ElementType.FLOAT, List.of(UpdateRange.of(n).build()));
            double[] cpu = new double[rounds];
            double[] wall = new double[rounds];
            double[] gbps = new double[rounds];
            for (int r = -1; r < rounds; r++) {
                int iteration = r + 1;
                UpdateRequest request = UpdateRequest.of(RuleStep.of(updater, ElementType.FLOAT, iteration, 0)).minibatch(32).at(p, g, s)
                        .build();
                long[] a = measure(() -> stream(workers, best, states, n, p, g, s));
                long[] b = measure(() -> fused.run(request));
                long[] c = measure(() -> stream(workers, best, states, n, p, g, s));
                if (r >= 0) {
                    cpu[r] = (a[0] + c[0]) / 2.0 / b[0];
                    wall[r] = (a[1] + c[1]) / 2.0 / b[1];
                    gbps[r] = (2 + 1 + 2 * states) * 4.0 * n / Math.min(a[1], c[1]);
                }
            }
            Arrays.sort(cpu);
            Arrays.sort(wall);
            Arrays.sort(gbps);
            System.out.printf("%-9s %-15s %d thread(s): %.2f of stream in CPU time (%.2f..%.2f), %.2f in wall time; stream %.1f GB/s%n",
                    rule,
                    kernel.name(), threads, cpu[rounds / 2], cpu[0], cpu[rounds - 1], wall[rounds / 2], gbps[rounds / 2]);
        }
    }

    private static void stream(UpdateWorkers workers, int level, int states, long n, long p, long g, long s) {
        int piece = 1 << 16;
        workers.run(i -> NativeKernel.stream(level, states, false, p, g, s, s + 4 * n, s + 8 * n, (long) i * piece,
                Math.min(n, (long) (i + 1) * piece)), (int) ((n - 1) / piece + 1));
    }

    /** CPU nanoseconds of the process, wall nanoseconds. */
    private static long[] measure(Runnable work) {
        com.sun.management.OperatingSystemMXBean os =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = os.getProcessCpuTime();
        long wall = System.nanoTime();
        work.run();
        return new long[] {os.getProcessCpuTime() - cpu, System.nanoTime() - wall};
    }
}
