package org.memferry.parity;

import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every family under {@link Strategy#AUTO}: its plan changes every few iterations while it is measured, and once more afterwards, and score,
 * parameters, updater state and output are stock DL4J's bits after every step.
 */
class MeasuredFamiliesTest {

    /** Three rounds of five iterations, four on a card, three more of the first one, and two of the plan that comes of them. */
    private static final int STEPS = 20;
    private static final int STEPS_ON_CARD = 25;
    /** Every fourth family unless all are asked for. */
    private static final int SHARE = System.getProperty("memferry.parity", "sample").matches("wide|full") ? 1 : 4;
    private static final String FAMILY = System.getProperty("memferry.families", ".*");
    private static final long SEED = Long.getLong("memferry.seed", 20);

    /** A family on a device. */
    static final class Run {

        final Family family;
        final boolean card;
        final boolean tight;

        Run(Family family, boolean card, boolean tight) {
            this.family = family;
            this.card = card;
            this.tight = tight;
        }

        @Override
        public String toString() {
            return family.name() + (card ? " on a card" : " on the emulated device") + (tight ? " with half of the memory" : "");
        }
    }

    static List<Run> runs() {
        List<Run> runs = new ArrayList<>();
        List<Family> families = new ArrayList<>(Families.runnable());
        Collections.shuffle(families, new Random(SEED));
        for (int i = 0; i < families.size(); i++) {
            for (int card = 0; card < 2; card++) {
                if (families.get(i).name().matches(FAMILY) && (SHARE == 1 || i % (2 * SHARE) == card * SHARE)) {
                    runs.add(new Run(families.get(i), card == 1, i / SHARE % 4 < 2 == (card == 1)));
                }
            }
        }
        return runs;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void measuringAFamilyLeavesItsNumbersAlone(Run run) {
        if (run.card) {
            FakeCuda.start();
            FakeCuda.delays(run.family.name().hashCode(), 200);
        }
        Model stock = run.family.newNetwork();
        ParityTest.initialise(stock);
        Model net = run.family.newNetwork();
        ParityTest.initialise(net);
        int steps = run.card ? STEPS_ON_CARD : STEPS;
        try (MemFerry ferry = attach(net, run)) {
            for (int step = 0; step < steps; step++) {
                train(run, stock, net, step, step % 5 == 4);
            }
            assertThat(ferry.profile()).as("the profile").isNotNull();
            assertThat(ferry.metrics().unplannedReads()).as("reads that the plan does not know").isZero();
        }
        train(run, stock, net, steps, true);
        if (run.card) {
            FakeCuda.assertNothingWrong();
            FakeCuda.assertNothingHeld();
        }
    }

    private static void train(Run run, Model stock, Model net, int step, boolean infer) {
        run.family.fit(stock, step);
        run.family.fit(net, step);
        Family inference = infer ? run.family : null;
        Snapshot.of(stock, inference).assertIdentical(Snapshot.of(net, inference), "after step " + (step + 1));
    }

    /** With as much memory as anybody could want, or with half of what that plan would take. */
    private static MemFerry attach(Model net, Run run) {
        MemFerry ample = MemFerry.attach(net, config(run, 256 << 20));
        Plan plan = ample.plan();
        if (!run.tight || !plan.budget().finalShapes()) {
            return ample;
        }
        ample.close();
        return MemFerry.attach(net, config(run, plan.budget().activationBytes() + plan.slabBytes() / 2));
    }

    private static MemFerryConfig config(Run run, long bytes) {
        // An evaluation that finds no room would begin the measurement anew.
        MemFerryConfig.Builder config = MemFerryConfig.builder().strategy(Strategy.AUTO).headroom("0B").evaluate(run.family.batch())
                .device(run.card ? "cuda:0,poison,memory=" + bytes + "B"
                        : "emulated:" + bytes + "B,poison,delay=" + run.family.name().hashCode() + "/100");
        return run.family.inputTypes() == null ? config.build() : config.expect(run.family.batch(), run.family.inputTypes()).build();
    }
}
