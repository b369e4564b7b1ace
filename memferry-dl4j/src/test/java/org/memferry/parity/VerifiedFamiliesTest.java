package org.memferry.parity;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.report.Verification;
import org.nd4j.linalg.factory.Nd4j;

/** Every family trains beside a stock copy: the copy agrees, or it is said why it cannot be asked, and training is the same as without it. */
class VerifiedFamiliesTest {

    private static final int STEPS = 2;

    /** Every third family unless all are asked for. */
    private static final int SHARE = System.getProperty("memferry.parity", "sample").matches("wide|full") ? 1 : 3;
    private static final String FAMILY = System.getProperty("memferry.families", ".*");

    /** What is not verified, and a part of the reason. */
    private static final Map<String, String> NOT_VERIFIED = Map.of("one-class-output", "OCNNOutputLayer",
            "graves-lstm-tbptt", "truncated", "masked-last-step-tbptt", "truncated", "graph-tbptt", "truncated");

    static List<Family> families() {
        List<Family> families = new ArrayList<>();
        for (int i = 0; i < Families.runnable().size(); i += SHARE) {
            if (Families.runnable().get(i).name().matches(FAMILY)) {
                families.add(Families.runnable().get(i));
            }
        }
        return families;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("families")
    void the_stock_copy_agrees_and_training_is_as_without_it(Family family) {
        Model plain = family.newNetwork();
        ParityTest.initialise(plain);
        Model verified = family.newNetwork();
        ParityTest.initialise(verified);
        try (MemFerry ferry = MemFerry.attach(verified, config(family))) {
            for (int step = 0; step < STEPS + 1; step++) {
                family.fit(plain, step);
                long root = Nd4j.getRandom().rootState();
                long node = Nd4j.getRandom().nodeState();
                family.fit(verified, step);
                assertThat(new long[] {Nd4j.getRandom().rootState(), Nd4j.getRandom().nodeState()}).as("random generator")
                        .containsExactly(root, node);
                Snapshot.of(plain, null).assertIdentical(Snapshot.of(verified, null), "after step " + step);
            }
            Verification found = ferry.verification();
            assertThat(found.difference()).isEmpty();
            if (NOT_VERIFIED.containsKey(family.name())) {
                assertThat(found.notVerified()).hasValueSatisfying(reason -> assertThat(reason).contains(NOT_VERIFIED.get(family.name())));
            } else {
                assertThat(found.isComplete()).as("%s", found).isTrue();
            }
        }
    }

    private static MemFerryConfig config(Family family) {
        Placement[] placements = {Placement.RESIDENT, Placement.PREFETCH, Placement.DIRECT};
        Placement placement = placements[Math.floorMod(family.name().hashCode(), placements.length)];
        return MemFerryConfig.builder().device("emulated:256MB,poison,delay=7/100").place("*", placement)
                .placeGradient("*", placement == Placement.DIRECT ? GradientHome.DIRECT : GradientHome.SLOT).verifyFirstSteps(STEPS).build();
    }
}
