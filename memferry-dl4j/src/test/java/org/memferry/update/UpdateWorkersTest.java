package org.memferry.update;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Timeout(60)
class UpdateWorkersTest {

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 8})
    void doesEveryPieceOnceAndIsDoneWhenItReturns(int threads) {
        try (UpdateWorkers workers = new UpdateWorkers(threads)) {
            assertThat(workers.threads()).isEqualTo(threads);
            for (int round = 0; round < 3000; round++) {
                int pieces = round % 37;
                AtomicIntegerArray done = new AtomicIntegerArray(Math.max(1, pieces));
                workers.run(done::incrementAndGet, pieces);
                for (int i = 0; i < pieces; i++) {
                    assertThat(done.get(i)).isEqualTo(1);
                }
            }
        }
    }

    @Test
    void severalCallersAtOnceAllGetTheirJobsDone() throws InterruptedException {
        try (UpdateWorkers workers = new UpdateWorkers(2)) {
            AtomicInteger done = new AtomicInteger();
            Thread[] callers = new Thread[4];
            for (int i = 0; i < callers.length; i++) {
                callers[i] = new Thread(() -> {
                    for (int round = 0; round < 500; round++) {
                        AtomicInteger mine = new AtomicInteger();
                        workers.run(piece -> mine.incrementAndGet(), 11);
                        done.addAndGet(mine.get());
                    }
                });
                callers[i].start();
            }
            for (Thread caller : callers) {
                caller.join();
            }
            assertThat(done.get()).isEqualTo(4 * 500 * 11);
        }
    }

    @Test
    void aJobInsideAJobIsDoneByItsCaller() {
        try (UpdateWorkers workers = new UpdateWorkers(2)) {
            AtomicInteger done = new AtomicInteger();
            workers.run(piece -> workers.run(inner -> done.incrementAndGet(), 5), 7);
            assertThat(done.get()).isEqualTo(35);
        }
    }

    @Test
    void throwsTheFirstFailureAndWorksOn() {
        try (UpdateWorkers workers = new UpdateWorkers(3)) {
            for (int round = 0; round < 200; round++) {
                assertThatThrownBy(() -> workers.run(piece -> {
                    throw new IllegalStateException("piece " + piece);
                }, 9)).isInstanceOf(IllegalStateException.class).hasMessageStartingWith("piece ");
                AtomicInteger done = new AtomicInteger();
                workers.run(piece -> done.incrementAndGet(), 9);
                assertThat(done.get()).isEqualTo(9);
            }
        }
    }

    @Test
    void anInterruptedCallerFinishesItsJobAndStaysInterrupted() {
        try (UpdateWorkers workers = new UpdateWorkers(2)) {
            Thread.currentThread().interrupt();
            AtomicInteger done = new AtomicInteger();
            workers.run(piece -> done.incrementAndGet(), 100);
            assertThat(done.get()).isEqualTo(100);
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    @Test
    void closingEndsTheThreadsAndLaterJobsAreDoneByTheirCallers() throws InterruptedException {
        UpdateWorkers workers = new UpdateWorkers(4);
        CountDownLatch running = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        Thread caller = new Thread(() -> workers.run(piece -> {
            running.countDown();
            done.incrementAndGet();
        }, 1000));
        caller.start();
        running.await();
        workers.close();
        workers.close();
        caller.join();
        assertThat(done.get()).isEqualTo(1000);
        assertThat(Thread.getAllStackTraces().keySet()).noneMatch(t -> workers.owns(t));
        workers.run(piece -> done.incrementAndGet(), 3);
        assertThat(done.get()).isEqualTo(1003);
    }

    @Test
    void threadsAreDaemons() {
        try (UpdateWorkers workers = new UpdateWorkers(3)) {
            assertThat(Thread.getAllStackTraces().keySet().stream().filter(workers::owns)).hasSize(2).allMatch(Thread::isDaemon);
        }
    }

    @Test
    void aBadNumberOfThreadsFallsBackToTheCpus() {
        for (String bad : new String[] {"0", "-1", "many", ""}) {
            try (LogLines heard = new LogLines()) {
                assertThat(UpdateWorkers.defaultThreads(bad, null, 16, heard.log())).isEqualTo(16);
                assertThat(heard.lines()).containsExactly("WARN org.memferry.update.threads: '" + bad + "' (expected: a number from 1); 16 is"
                        + " used, the CPUs of this process");
                assertThat(UpdateWorkers.defaultThreads(" 3 ", null, 16, heard.log())).isEqualTo(3);
            }
        }
        assertThatThrownBy(() -> new UpdateWorkers(0)).hasMessage("threads: 0 (expected: >= 1)");
    }

    // B61
    @Test
    void aThreadCountLeftInTheEnvironmentIsHeededAndOneIsWarnedOf() {
        try (LogLines heard = new LogLines()) {
            assertThat(UpdateWorkers.defaultThreads(null, null, 16, heard.log())).isEqualTo(16);
            assertThat(UpdateWorkers.defaultThreads(null, "4", 16, heard.log())).isEqualTo(4);
            assertThat(UpdateWorkers.defaultThreads(null, " 3 , 2", 16, heard.log())).isEqualTo(3);
            assertThat(UpdateWorkers.defaultThreads(null, "64", 16, heard.log())).isEqualTo(16);
            assertThat(UpdateWorkers.defaultThreads(null, "lots", 16, heard.log())).isEqualTo(16);
            assertThat(UpdateWorkers.defaultThreads(null, "1", 1, heard.log())).isEqualTo(1);
            assertThat(UpdateWorkers.defaultThreads("2", "1", 16, heard.log())).as("the property comes first").isEqualTo(2);
            assertThat(heard.lines()).isEmpty();
            assertThat(UpdateWorkers.defaultThreads(null, "1", 16, heard.log())).isEqualTo(1);
            assertThat(heard.lines()).singleElement().asString().startsWith("WARN OMP_NUM_THREADS=1 in the environment: the optimizer step"
                    + " runs on 1 thread of 16 CPUs.").contains("-Dorg.memferry.update.threads=16");
        }
    }

    @Test
    void resultsDoNotDependOnThreadsOrOnWhereARangeIsCut() {
        int n = 300_011;
        Random random = new Random(5);
        double[] p = FusedUpdateTest.normal(random, n, 1);
        double[] g = FusedUpdateTest.normal(random, n, 1);
        for (UpdateKernel kernel : Kernels.all()) {
            double[] whole = adam(kernel, p, g, 1, n);
            for (int threads : new int[] {1, 2, 5}) {
                for (int piece : new int[] {1021, 4096, 65536}) {
                    assertThat(Arrays.mismatch(adam(kernel, p, g, threads, piece), whole))
                            .as("%s, %s threads, pieces of %s", kernel.name(), threads, piece).isEqualTo(-1);
                }
            }
        }
    }

    private static double[] adam(UpdateKernel kernel, double[] p, double[] g, int threads, int piece) {
        int n = p.length;
        try (GuardedArray parameters = new GuardedArray(ElementType.FLOAT, n, 1);
                GuardedArray gradients = new GuardedArray(ElementType.FLOAT, n, 2);
                GuardedArray state = new GuardedArray(ElementType.FLOAT, 2 * n, 3);
                UpdateWorkers workers = new UpdateWorkers(threads)) {
            parameters.write(p);
            gradients.write(g);
            state.write(new double[2 * n]);
            UpdatePass pass = new UpdatePass();
            for (int iteration = 0; iteration < 3; iteration++) {
                pass.begin(RuleStep.of(new org.nd4j.linalg.learning.config.Adam(), ElementType.FLOAT, iteration, 0));
                workers.run(i -> kernel.update(pass, parameters.address(), gradients.address(), state.address(),
                        state.address() + 4L * n, 0, (long) i * piece, Math.min(n, (long) (i + 1) * piece)), (n - 1) / piece + 1);
            }
            return parameters.read();
        }
    }
}
