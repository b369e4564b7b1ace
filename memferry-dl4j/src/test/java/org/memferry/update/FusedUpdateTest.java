package org.memferry.update;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.Needs;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.device.NativeMemory;
import org.memferry.update.StockBlock.Parameter;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Every kernel gives stock ND4J's bits for every rule, regularisation and type. */
class FusedUpdateTest {

    private static final int[] SIZES = {1, 3, 7, 63, 64, 65, 4097, 100003};
    private static final int STEPS = 20;
    private static final UpdateWorkers WORKERS = new UpdateWorkers(2);

    @AfterAll
    static void endWorkers() {
        WORKERS.close();
    }

    static IUpdater updater(UpdateRule rule) {
        switch (rule) {
            case ADAM:
                return new Adam(0.003);
            case AMSGRAD:
                return new AMSGrad(0.003);
            case ADAMAX:
                return new AdaMax(0.003);
            case NADAM:
                return new Nadam(0.003);
            case NESTEROVS:
                return new Nesterovs(new ExponentialSchedule(ScheduleType.ITERATION, 0.05, 0.97), 0.9);
            case RMSPROP:
                return new RmsProp(0.01);
            case ADAGRAD:
                return new AdaGrad(0.05);
            case ADADELTA:
                return new AdaDelta();
            case ADABELIEF:
                return new AdaBelief(0.003);
            case SGD:
                return new Sgd(0.03);
            default:
                return new NoOp();
        }
    }

    static Map<String, List<Regularization>> regularizations() {
        Regularization l1 = new L1Regularization(0.013);
        Regularization l2 = new L2Regularization(new ExponentialSchedule(ScheduleType.ITERATION, 0.021, 0.99));
        Map<String, List<Regularization>> all = new LinkedHashMap<>();
        all.put("none", List.of());
        all.put("l1", List.of(l1));
        all.put("l2", List.of(l2));
        all.put("l1+l2", List.of(l1, l2));
        all.put("l2+l1", List.of(l2, l1));
        all.put("weight decay", List.of(new WeightDecay(0.017, false)));
        all.put("weight decay with lr", List.of(new WeightDecay(0.31, true)));
        all.put("all", List.of(new WeightDecay(0.31, true), l2, l1, new WeightDecay(0.017, false)));
        return all;
    }

    /** All combinations under {@code -Dmemferry.parity=full}; else a third of them, in which every rule meets both types. */
    static Stream<Arguments> everyRuleRegularizationAndType() {
        boolean full = "full".equals(System.getProperty("memferry.parity"));
        List<Arguments> all = new ArrayList<>();
        int n = 0;
        for (UpdateRule rule : UpdateRule.values()) {
            for (Map.Entry<String, List<Regularization>> r : regularizations().entrySet()) {
                for (ElementType type : ElementType.values()) {
                    if (full || n % 3 == 0) {
                        all.add(Arguments.of(rule, r.getKey(), r.getValue(), type));
                    }
                    n++;
                }
            }
        }
        return all.stream();
    }

    /** Two or three parameters: one divided and regularised, one regularised only, one divided only. */
    static List<Parameter> layout(int n, List<Regularization> regularization) {
        if (n < 3) {
            return List.of(new Parameter(n, true, true, regularization));
        }
        int first = n / 2;
        int second = (n - first) / 2;
        return List.of(new Parameter(first, true, true, regularization), new Parameter(second, false, true, regularization),
                new Parameter(n - first - second, true, true, List.of()));
    }

    static double[] normal(Random random, int n, double scale) {
        double[] values = new double[n];
        for (int i = 0; i < n; i++) {
            values[i] = (float) (random.nextGaussian() * scale);
        }
        return values;
    }

    // A25, B12: guard words stand around odd sizes and unaligned offsets
    @ParameterizedTest(name = "{0}, {1}, {3}")
    @MethodSource("everyRuleRegularizationAndType")
    void equalsStockBitForBit(UpdateRule rule, String name, List<Regularization> regularization, ElementType type) {
        for (int n : SIZES) {
            Random random = new Random(n);
            try (BlockCase c = new BlockCase(updater(rule), type, layout(n, regularization), normal(random, n, 0.1), n % 16, Kernels.all(),
                    WORKERS)) {
                for (int i = 0; i < STEPS; i++) {
                    c.step(normal(random, n, 0.3), i % 5 == 0 ? 0 : 32 - i, i, i / 7, i % 2 == 0);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(UpdateRule.class)
    void treatsSpecialValuesAsStockDoes(UpdateRule rule) {
        double[] special = {0.0, -0.0, 1e-45, -1e-45, 1e-40, -3e-39, 1.17549435e-38, 4.9e-324, -2e-310, 1e-30, 1e-20, -1e-15, 1e-8, 1, -1,
            3e18, -1e19, 1e30, 3.4028234e38, -3.4028234e38, 1e200, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN};
        int n = special.length * special.length;
        double[] parameters = new double[n];
        double[] gradients = new double[n];
        for (int i = 0; i < n; i++) {
            parameters[i] = special[i / special.length];
            gradients[i] = special[i % special.length];
        }
        for (ElementType type : ElementType.values()) {
            for (List<Regularization> regularization : regularizations().values()) {
                try (BlockCase c = new BlockCase(updater(rule), type, layout(n, regularization), parameters, 3, Kernels.all(), WORKERS)) {
                    for (int i = 0; i < 3; i++) {
                        c.step(gradients, i == 1 ? 0 : 7, i, 0, true);
                    }
                }
            }
        }
    }

    @Test
    void subtractsTheGradientItselfWhereNothingIsTrained() {
        int n = 777;
        Random random = new Random(1);
        List<Parameter> layout = List.of(new Parameter(n, true, false, List.of(new L2Regularization(0.1))));
        try (BlockCase c = new BlockCase(new Adam(), ElementType.FLOAT, layout, normal(random, n, 1), 1, Kernels.all(), WORKERS)) {
            c.step(normal(random, n, 1), 32, 0, 0, true);
        }
    }

    @Test
    void updatesRangesOneByOneInAnyOrder() {
        int n = 5000;
        Random random = new Random(2);
        double[] p = normal(random, n, 1);
        double[] g = normal(random, n, 1);
        List<UpdateRange> ranges = List.of(UpdateRange.of(1700).build(), UpdateRange.of(1).notDivided().build(),
                UpdateRange.of(3299).regularization(List.of(new WeightDecay(0.1, true))).build());
        try (GuardedArray p1 = new GuardedArray(ElementType.FLOAT, n, 0); GuardedArray p2 = new GuardedArray(ElementType.FLOAT, n, 0);
                GuardedArray g1 = new GuardedArray(ElementType.FLOAT, n, 0);
                GuardedArray s1 = new GuardedArray(ElementType.FLOAT, 2 * n, 0);
                GuardedArray s2 = new GuardedArray(ElementType.FLOAT, 2 * n, 0)) {
            p1.write(p);
            p2.write(p);
            g1.write(g);
            s1.write(new double[2 * n]);
            s2.write(new double[2 * n]);
            FusedUpdate update = new FusedUpdate(new UpdateEngine(UpdateKernels.choose(), WORKERS), ElementType.FLOAT, ranges);
            RuleStep step = RuleStep.of(new Adam(), ElementType.FLOAT, 0, 0);
            update.run(UpdateRequest.of(step).minibatch(8).at(p1.address(), g1.address(), s1.address()).build());
            UpdateRequest second = UpdateRequest.of(step).minibatch(8).at(p2.address(), g1.address(), s2.address()).build();
            update.run(second, 2, 3);
            update.run(second, 0, 1);
            update.run(second, 1, 2);
            assertThat(p2.read()).isEqualTo(p1.read()).isNotEqualTo(p);
            assertThat(s2.read()).isEqualTo(s1.read());
        }
    }

    // B35
    @Test
    void namesTheFirstRangeThatIsNotFinite() {
        int n = 1000;
        double[] odd = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        for (ElementType type : ElementType.values()) {
            for (UpdateKernel kernel : Kernels.all()) {
                try (GuardedArray p = new GuardedArray(type, 4 * n, 3); GuardedArray g = new GuardedArray(type, 4 * n, 3);
                        GuardedArray s = new GuardedArray(type, 8 * n, 1)) {
                    List<UpdateRange> ranges = List.of(UpdateRange.of(n).build(), UpdateRange.of(n).build(), UpdateRange.of(n).build(),
                            UpdateRange.of(n).build());
                    FusedUpdate update = new FusedUpdate(new UpdateEngine(kernel, WORKERS), type, ranges);
                    // No epsilon: what pads a range to whole vectors is 0 / 0.
                    UpdateRequest request = UpdateRequest.of(RuleStep.of(new Adam(0.1, 0.9, 0.999, 0), type, 0, 0))
                            .at(p.address(), g.address(), s.address()).build();
                    for (int at = -1; at < 4 * n; at += at < 2 * n - 20 ? 397 : at < 2 * n + 20 ? 1 : 401) {
                        for (GuardedArray array : new GuardedArray[] {g, p}) {
                            p.write(normal(new Random(1), 4 * n, 1));
                            g.write(normal(new Random(2), 4 * n, 1));
                            s.write(new double[8 * n]);
                            if (at >= 0) {
                                double[] values = array.read();
                                values[at] = odd[at % 3];
                                values[Math.min(at + n, 4 * n - 1)] = odd[at % 3];
                                array.write(values);
                            }
                            assertThat(update.run(request)).as("%s, %s, element %s of %s", kernel.name(), type, at, array == g ? "g" : "p")
                                    .isEqualTo(at < 0 ? -1 : at / n);
                        }
                    }
                }
            }
        }
    }

    // A11
    @Test
    void countsBeyondTwoToTheThirtyOneElements() {
        long third = 1L << 33;
        FusedUpdate update = new FusedUpdate(new UpdateEngine(new JavaKernel(), WORKERS), ElementType.DOUBLE,
                List.of(UpdateRange.of(third).build(), UpdateRange.of(7).build()));
        assertThat(update.length()).isEqualTo(third + 7);
        assertThat(update.byteOffset(0, third)).isEqualTo(third * 8);
        assertThat(update.byteOffset(2, third + 6)).isEqualTo((2 * (third + 7) + third + 6) * 8);
        assertThatThrownBy(() -> new FusedUpdate(new UpdateEngine(new JavaKernel(), WORKERS), ElementType.DOUBLE,
                List.of(UpdateRange.of(1L << 60).build()))).isInstanceOf(ArithmeticException.class);
    }

    @Test
    void givesKernelsAddressesBeyondTwoToTheThirtyOneElements() {
        long first = (1L << 31) + 5;
        List<String> calls = new ArrayList<>();
        UpdateKernel recorder = new UpdateKernel() {
            @Override
            public String name() {
                return "recorder";
            }

            @Override
            public boolean update(UpdatePass pass, long p, long g, long x, long y, long z, long from, long to) {
                calls.add(p + " " + g + " " + x + " " + y + " " + from + " " + to);
                return true;
            }
        };
        try (UpdateWorkers alone = new UpdateWorkers(1)) {
            FusedUpdate update = new FusedUpdate(new UpdateEngine(recorder, alone), ElementType.FLOAT,
                    List.of(UpdateRange.of(first).build(), UpdateRange.of(10).build()));
            UpdateRequest request = UpdateRequest.of(RuleStep.of(new Adam(), ElementType.FLOAT, 0, 0)).at(64, 128, 256).build();
            update.run(request, 1, 2);
            assertThat(calls).containsExactly((64 + 4 * first) + " " + (128 + 4 * first) + " " + (256 + 4 * first) + " "
                    + (256 + 4 * (first + 10 + first)) + " 0 10");
            calls.clear();
            update.run(request, 0, 1);
            assertThat(calls.get(calls.size() - 1)).endsWith(" " + (first - first % 65536) + " " + first);
        }
    }

    @Test
    void kernelsReachElementsBeyondTwoToTheThirtyOne() {
        long from = (1L << 31) + 3;
        int n = 1000;
        long bytes = (from + n) * 4;
        // Never touched but for the last pages, so this costs address space only.
        List<NativeMemory> memory = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                memory.add(NativeMemory.zeroed(bytes, "offset test"));
            }
            double[] p = normal(new Random(3), n, 1);
            double[] g = normal(new Random(4), n, 1);
            for (UpdateKernel kernel : Kernels.all()) {
                new JavaKernel.FloatsAt().at(memory.get(0).address() + 4 * from).put(StockBlock.floats(p), 0, n);
                new JavaKernel.FloatsAt().at(memory.get(1).address() + 4 * from).put(StockBlock.floats(g), 0, n);
                UpdatePass pass = new UpdatePass();
                pass.begin(RuleStep.of(new Nesterovs(0.1, 0.0), ElementType.FLOAT, 0, 0));
                kernel.update(pass, memory.get(0).address(), memory.get(1).address(), memory.get(2).address(), memory.get(3).address(), 0,
                        from, from + n);
                float[] result = new float[n];
                new JavaKernel.FloatsAt().at(memory.get(0).address() + 4 * from).get(result, 0, n);
                for (int i = 0; i < n; i++) {
                    // Without momentum, Nesterov's rule is a plain step.
                    assertThat(result[i]).as(kernel.name()).isEqualTo((float) p[i] - 0.1f * (float) g[i]);
                }
            }
        } catch (OutOfMemoryException e) {
            Needs.that(false, e.getMessage());
        } finally {
            memory.forEach(NativeMemory::free);
        }
    }

    // A03
    @Test
    void aStepAllocatesNothing() {
        int n = 300_000;
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (UpdateKernel kernel : Kernels.all()) {
            try (GuardedArray p = new GuardedArray(ElementType.FLOAT, n, 0); GuardedArray g = new GuardedArray(ElementType.FLOAT, n, 0);
                    GuardedArray s = new GuardedArray(ElementType.FLOAT, 2 * n, 0)) {
                FusedUpdate update = new FusedUpdate(new UpdateEngine(kernel, WORKERS), ElementType.FLOAT,
                        List.of(UpdateRange.of(n - 10).build(), UpdateRange.of(10).build()));
                UpdateRequest request = UpdateRequest.of(RuleStep.of(new Adam(), ElementType.FLOAT, 0, 0)).minibatch(32)
                        .at(p.address(), g.address(), s.address()).build();
                long fewest = Long.MAX_VALUE;
                for (int round = 0; round < 20; round++) {
                    long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
                    update.run(request);
                    fewest = Math.min(fewest, threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
                }
                assertThat(fewest).as("%s: bytes allocated by a step", kernel.name()).isZero();
            }
        }
    }

    @Test
    void aUsersOwnRuleAndRegularisationAreNotTakenForDl4js() {
        IUpdater own = new Sgd(0.1) {
            @Override
            public double getLearningRate(int iteration, int epoch) {
                return 1;
            }
        };
        assertThat(UpdateRule.of(own)).isEmpty();
        assertThatThrownBy(() -> RuleStep.of(own, ElementType.FLOAT, 0, 0)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("use its GradientUpdater");
        List<Regularization> terms = List.of(new L2Regularization(0.1) {
        });
        assertThat(UpdateRange.knows(terms)).isFalse();
        assertThatThrownBy(() -> UpdateRange.of(1).regularization(terms).build()).isInstanceOf(RefusedException.class)
                .hasMessageContaining("at most 4 before and after the rule");
        assertThatThrownBy(() -> ElementType.of(DataType.HALF)).isInstanceOf(RefusedException.class).hasMessageContaining("HALF");
    }

    @Test
    void argumentErrorsSayWhatWasExpected() {
        assertThatThrownBy(() -> UpdateRange.of(0).build()).hasMessage("length: 0 (expected: >= 1)");
        assertThatThrownBy(() -> new FusedUpdate(new UpdateEngine(new JavaKernel(), WORKERS), ElementType.FLOAT, List.of()))
                .hasMessage("ranges: none (expected: >= 1)");
        assertThatThrownBy(() -> UpdateRequest.of(RuleStep.of(new Adam(), ElementType.FLOAT, 0, 0)).at(8, 8, 0).build())
                .hasMessage("addresses of parameters, gradients, state: 8, 8, 0 (expected: not 0)");
        FusedUpdate update = new FusedUpdate(new UpdateEngine(new JavaKernel(), WORKERS), ElementType.FLOAT,
                List.of(UpdateRange.of(1).build()));
        UpdateRequest wide = UpdateRequest.of(RuleStep.of(new Sgd(), ElementType.DOUBLE, 0, 0)).at(8, 8, 0).build();
        assertThatThrownBy(() -> update.run(wide)).hasMessage("rule step for DOUBLE (expected: FLOAT)");
        assertThatThrownBy(() -> update.run(wide, 0, 2)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
