package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** How the iterations of a plan are compared with the profile it was made from. */
class RunWatchTest {

    private static final Profile PROFILE = Profile.builder("test", List.of(LayerProfile.builder(100, 200).build())).build();
    private static final int PATIENCE = 3;

    @Test
    void computationThatTakesLongerForSomeIterationsInARowHasDrifted() {
        RunWatch watch = new RunWatch(PROFILE, false, 1.5, PATIENCE);
        assertThat(iterations(watch, 10, 440)).as("within the factor").isZero();
        assertThat(iterations(watch, PATIENCE, 460)).as("not yet").isZero();
        assertThat(iterations(watch, 1, 300)).as("the last one of them ends").isOne();
        assertThat(iterations(watch, 10, 300)).isZero();
        assertThat(watch.ratio()).isEqualTo(1);
    }

    /** A clock of the host says nothing of most of its iterations: they seem to take no time at all. */
    @Test
    void whereTheComputationRunsBehindTheHostOnlyIterationsThatAreTimedCount() {
        RunWatch watch = new RunWatch(PROFILE, true, 1.5, PATIENCE);
        int timed = 0;
        for (int i = 1; i <= 10 * RunWatch.EVERY; i++) {
            assertThat(watch.opened(1)).isFalse();
            assertThat(watch.isExact()).isEqualTo(i % RunWatch.EVERY == 0);
            timed += watch.isExact() ? 1 : 0;
            visits(watch, watch.isExact() ? 300 : 3);
        }
        assertThat(timed).isEqualTo(10);
        assertThat(watch.measured()).hasValueSatisfying(run -> {
            assertThat(run.forwardNanos(0)).isEqualTo(100);
            assertThat(run.backwardNanos(0)).isEqualTo(200);
            assertThat(run.iterations()).isEqualTo(10 * RunWatch.EVERY - 1);
        });
    }

    @Test
    void theFirstIterationDoesNotCountAndTheMeanIsThatOfTheOthers() {
        RunWatch watch = new RunWatch(PROFILE, false, 1.5, PATIENCE);
        iterations(watch, 1, 3000);
        assertThat(watch.measured()).isEmpty();
        iterations(watch, 1, 300);
        assertThat(watch.measured()).hasValueSatisfying(run -> assertThat(run.stepNanos()).as("no second one yet").isZero());
        iterations(watch, 1, 600);
        assertThat(watch.measured()).hasValueSatisfying(run -> {
            assertThat(run.iterations()).isEqualTo(2);
            assertThat(run.forwardNanos(0)).isEqualTo(150);
            assertThat(run.stepNanos()).isPositive();
        });
    }

    /** Whether the time of larger data grows with it or not, it has not drifted; that of quite another size says nothing. */
    @Test
    void dataOfAnotherSizeIsNotTakenForADrift() {
        RunWatch watch = new RunWatch(PROFILE, false, 1.5, PATIENCE);
        for (int i = 0; i < 10 * PATIENCE; i++) {
            double size = i % 2 == 0 ? 1 : 20;
            assertThat(watch.opened(size)).isFalse();
            visits(watch, (long) (300 * size));
        }
        for (long nanos : new long[] {300, 600}) {
            for (int i = 0; i < 2 * PATIENCE; i++) {
                assertThat(watch.opened(1.4)).isFalse();
                visits(watch, nanos);
            }
        }
        int drifted = 0;
        for (int i = 0; i < PATIENCE + 1; i++) {
            drifted += watch.opened(1.4) ? 1 : 0;
            visits(watch, 700);
        }
        assertThat(drifted).as("more than larger data explains").isPositive();
    }

    /** How often the watch said of an opening that the computation had drifted. */
    private static int iterations(RunWatch watch, int count, long nanos) {
        int drifted = 0;
        for (int i = 0; i < count; i++) {
            drifted += watch.opened(1) ? 1 : 0;
            visits(watch, nanos);
        }
        return drifted;
    }

    private static void visits(RunWatch watch, long nanos) {
        watch.visited(0, false, nanos / 3, nanos / 3);
        watch.visited(0, true, nanos - nanos / 3, nanos - nanos / 3);
    }
}
