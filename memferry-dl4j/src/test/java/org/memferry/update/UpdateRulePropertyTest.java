package org.memferry.update;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.lifecycle.AfterContainer;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.FixedSchedule;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.PolySchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.SigmoidSchedule;
import org.nd4j.linalg.schedule.StepSchedule;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Any hyperparameters, schedules and iteration counts give stock ND4J's bits. */
class UpdateRulePropertyTest {

    private static final UpdateWorkers WORKERS = new UpdateWorkers(2);

    @AfterContainer
    static void endWorkers() {
        WORKERS.close();
    }

    // A36: betas and epsilons that nobody expects
    @Property(tries = 400, shrinking = ShrinkingMode.BOUNDED)
    void equalsStockForAnyHyperparameters(@ForAll("updaters") IUpdater updater, @ForAll("regularizations") List<Regularization> terms,
            @ForAll ElementType type, @ForAll("iterations") int iteration, @ForAll("sizes") int n, @ForAll("minibatches") int minibatch,
            @ForAll Random random) {
        int shift = random.nextInt(16);
        double scale = Math.pow(10, random.nextInt(12) - 8);
        try (BlockCase c = new BlockCase(updater, type, FusedUpdateTest.layout(n, terms), FusedUpdateTest.normal(random, n, 0.1), shift,
                Kernels.all(), WORKERS)) {
            for (int i = 0; i < 3; i++) {
                c.step(FusedUpdateTest.normal(random, n, scale), minibatch, iteration + i, iteration / 9, random.nextBoolean());
            }
        }
    }

    @Provide
    Arbitrary<Integer> iterations() {
        return Arbitraries.oneOf(Arbitraries.integers().between(0, 100), Arbitraries.integers().between(100, 200_000),
                Arbitraries.of(1 << 24, (1 << 24) + 1, Integer.MAX_VALUE - 3));
    }

    @Provide
    Arbitrary<Integer> sizes() {
        return Arbitraries.integers().between(1, 300);
    }

    @Provide
    Arbitrary<Integer> minibatches() {
        return Arbitraries.oneOf(Arbitraries.of(0, 1, 2, 3, 32, 64), Arbitraries.integers().between(1, 20_000_000));
    }

    private static Arbitrary<Double> rates() {
        return Arbitraries.oneOf(Arbitraries.of(0.0, 1e-3, 0.1, 1.0, 1e-30, 1e-50), Arbitraries.doubles().between(0, 10));
    }

    private static Arbitrary<Double> decays() {
        return Arbitraries.oneOf(Arbitraries.of(0.0, 0.5, 0.9, 0.95, 0.999, 0.9999, 1.0), Arbitraries.doubles().between(0, 1));
    }

    private static Arbitrary<Double> epsilons() {
        return Arbitraries.oneOf(Arbitraries.of(0.0, 1e-8, 1e-7, 1e-14, 1e-6, 1e-3), Arbitraries.doubles().between(0, 0.1));
    }

    private static Arbitrary<ISchedule> schedules() {
        Arbitrary<ScheduleType> types = Arbitraries.of(ScheduleType.ITERATION, ScheduleType.EPOCH);
        return Combinators.combine(types, rates(), decays(), Arbitraries.integers().between(0, 4)).as((type, rate, decay, kind) -> {
            switch (kind) {
                case 0:
                    return new FixedSchedule(rate);
                case 1:
                    return new ExponentialSchedule(type, rate, decay);
                case 2:
                    return new StepSchedule(type, rate, decay, 5);
                case 3:
                    return new PolySchedule(type, rate, 2, 200_000);
                default:
                    return new SigmoidSchedule(type, rate, decay, 10);
            }
        });
    }

    @Provide
    Arbitrary<IUpdater> updaters() {
        return Combinators.combine(Arbitraries.integers().between(0, 9), rates(), schedules().injectNull(0.5), decays(), decays(),
                epsilons(), schedules().injectNull(0.5)).as(UpdateRulePropertyTest::updater);
    }

    private static IUpdater updater(int rule, double rate, ISchedule schedule, double beta1, double beta2, double epsilon,
            ISchedule momentum) {
        IUpdater updater;
        switch (rule) {
            case 0:
                updater = new Adam(rate, beta1, beta2, epsilon);
                break;
            case 1:
                updater = new AMSGrad(rate, beta1, beta2, epsilon);
                break;
            case 2:
                updater = new AdaMax(rate, beta1, beta2, epsilon);
                break;
            case 3:
                updater = new Nadam(rate, beta1, beta2, epsilon);
                break;
            case 4:
                updater = momentum == null ? new Nesterovs(rate, beta1) : new Nesterovs(rate, momentum);
                break;
            case 5:
                updater = new RmsProp(rate, beta1, epsilon);
                break;
            case 6:
                updater = new AdaGrad(rate, epsilon);
                break;
            case 7:
                return new AdaDelta(beta1, epsilon);
            case 8:
                updater = new AdaBelief(rate, beta1, beta2, epsilon);
                break;
            default:
                updater = new Sgd(rate);
                break;
        }
        if (schedule != null) {
            updater.setLrAndSchedule(Double.NaN, schedule);
        }
        return updater;
    }

    @Provide
    Arbitrary<List<Regularization>> regularizations() {
        Arbitrary<Regularization> terms = Combinators.combine(Arbitraries.integers().between(0, 3), schedules()).as((kind, coefficient) -> {
            switch (kind) {
                case 0:
                    return new L1Regularization(coefficient);
                case 1:
                    return new L2Regularization(coefficient);
                case 2:
                    return new WeightDecay(coefficient, true);
                default:
                    return new WeightDecay(coefficient, false);
            }
        });
        return terms.list().ofMaxSize(4).map(ArrayList::new);
    }
}
