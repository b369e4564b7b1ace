package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The gradient planner against all choices there are. */
class GradientPlannerTest {

    @Property(tries = 500)
    void is_equal_to_brute_force(@ForAll long seed) {
        Case c = new Case(new Random(seed), 15);
        GradientChoice choice = GradientPlanner.choose(c.bytes, c.extraNanos, c.limit);
        assertThat(choice.lostNanos()).isEqualTo(c.bruteForce());
        assertThat(choice.epsilonNanos()).isZero();
        c.check(choice);
    }

    @Property(tries = 500)
    void with_few_states_it_is_within_the_bound_that_it_reports(@ForAll long seed) {
        Case c = new Case(new Random(seed), 12);
        GradientChoice choice = GradientPlanner.choose(c.bytes, c.extraNanos, c.limit, 2);
        assertThat(choice.lostNanos() - c.bruteForce()).isBetween(0L, choice.epsilonNanos());
        c.check(choice);
    }

    @Test
    void a_thousand_layers_are_bounded() {
        Random random = new Random(3);
        long[] bytes = random.longs(1000, 1000, 16_000_000).toArray();
        long[] extra = random.longs(1000, 0, 2_000_000).toArray();
        GradientChoice choice = GradientPlanner.choose(bytes, extra, GradientPlanner.reserveBytes(bytes, 0.3));
        assertThat(choice.epsilonNanos()).isLessThan(choice.lostNanos() / 100);
    }

    @Test
    void the_reserve_factor_is_a_share_of_all_gradient_bytes() {
        assertThat(GradientPlanner.reserveBytes(new long[] {100, 300}, 0.5)).isEqualTo(200);
        assertThatThrownBy(() -> GradientPlanner.reserveBytes(new long[] {100}, 1.5)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1.5").hasMessageContaining("0 to 1");
    }

    private static final class Case {

        private final long[] bytes;
        private final long[] extraNanos;
        private final long limit;

        Case(Random random, int most) {
            int layers = 1 + random.nextInt(most);
            int range = 2 + random.nextInt(1 << (1 + random.nextInt(12)));
            bytes = random.longs(layers, 0, range).toArray();
            extraNanos = random.longs(layers, 0, range).toArray();
            limit = (long) (random.nextDouble() * range * layers / 2);
        }

        long bruteForce() {
            long best = Long.MAX_VALUE;
            for (int mask = 0; mask < 1 << bytes.length; mask++) {
                long taken = 0;
                long lost = 0;
                for (int i = 0; i < bytes.length; i++) {
                    taken += (mask >> i & 1) == 1 ? bytes[i] : 0;
                    lost += (mask >> i & 1) == 1 ? 0 : extraNanos[i];
                }
                best = taken <= limit ? Math.min(best, lost) : best;
            }
            return best;
        }

        void check(GradientChoice choice) {
            long taken = 0;
            long lost = 0;
            for (int i = 0; i < bytes.length; i++) {
                taken += choice.isOnDevice(i) ? bytes[i] : 0;
                lost += choice.isOnDevice(i) ? 0 : extraNanos[i];
            }
            assertThat(taken).isEqualTo(choice.deviceBytes()).isLessThanOrEqualTo(limit);
            assertThat(lost).isEqualTo(choice.lostNanos());
        }
    }
}
