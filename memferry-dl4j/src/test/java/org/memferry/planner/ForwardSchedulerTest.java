package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** The forward scheduler against all choices there are, and against the greedy ones that it is compared with. */
class ForwardSchedulerTest {

    @Property(tries = 1000)
    void is_equal_to_exhaustive_search(@ForAll long seed) {
        List<ForwardLayer> layers = random(new Random(seed), 12);
        ForwardSchedule schedule = ForwardScheduler.schedule(layers);
        assertThat(schedule.makespanNanos()).isEqualTo(exhaustive(layers));
        assertThat(schedule.epsilonNanos()).isZero();
        assertThat(clock(layers, schedule.copied())).as("the makespan of the schedule it gives").isEqualTo(schedule.makespanNanos());
    }

    @Property(tries = 500)
    void with_few_states_it_is_within_the_bound_that_it_reports(@ForAll long seed) {
        List<ForwardLayer> layers = random(new Random(seed), 12);
        ForwardSchedule schedule = ForwardScheduler.schedule(layers, 2);
        assertThat(schedule.makespanNanos() - exhaustive(layers)).isBetween(0L, schedule.epsilonNanos());
        assertThat(clock(layers, schedule.copied())).isEqualTo(schedule.makespanNanos());
    }

    @Property(tries = 300)
    void is_never_worse_than_the_greedy_planners(@ForAll long seed) {
        List<ForwardLayer> layers = random(new Random(seed), 150);
        long ours = ForwardScheduler.schedule(layers).makespanNanos();
        assertThat(ours).isLessThanOrEqualTo(LayerwiseGreedy.schedule(layers).makespanNanos())
                .isLessThanOrEqualTo(DeepPlanGreedy.schedule(layers).makespanNanos());
    }

    @Property(tries = 300)
    void nobody_does_what_a_layer_does_not_allow(@ForAll long seed) {
        List<ForwardLayer> layers = random(new Random(seed), 30);
        for (ForwardSchedule schedule : List.of(ForwardScheduler.schedule(layers), LayerwiseGreedy.schedule(layers),
                DeepPlanGreedy.schedule(layers))) {
            for (int i = 0; i < layers.size(); i++) {
                assertThat(schedule.isCopied(i) ? layers.get(i).mayCopy() : layers.get(i).mayReadInPlace()).as("layer %d", i).isTrue();
            }
        }
    }

    @Test
    void sixty_four_layers_are_exact_and_more_are_bounded() {
        Random random = new Random(7);
        List<ForwardLayer> layers = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            long copy = 200_000 + random.nextInt(2_000_000);
            layers.add(ForwardLayer.of(100_000 + random.nextInt(1_500_000), copy + random.nextInt(3_000_000), copy));
        }
        assertThat(ForwardScheduler.schedule(layers.subList(0, 64)).epsilonNanos()).isZero();
        ForwardSchedule schedule = ForwardScheduler.schedule(layers);
        assertThat(schedule.epsilonNanos()).isLessThan(schedule.makespanNanos() / 100);
        assertThat(schedule.widestFrontier()).isLessThanOrEqualTo(ForwardScheduler.STATES);
    }

    @Test
    void the_paper_loads_for_backward_what_gains_most_in_the_time_forward_leaves() {
        ForwardLayer inPlace = ForwardLayer.of(10, 20, 100).inPlaceOnly();
        List<ForwardLayer> forward = List.of(inPlace, inPlace, ForwardLayer.of(100, 500, 20).copyOnly(), inPlace);
        ForwardSchedule schedule = LayerwiseGreedy.schedule(forward);
        assertThat(schedule.makespanNanos()).isEqualTo(160);
        List<ForwardLayer> backward = List.of(ForwardLayer.of(20, 60, 100), ForwardLayer.of(20, 90, 100), ForwardLayer.of(1, 2, 3),
                ForwardLayer.of(20, 25, 30));
        assertThat(LayerwiseGreedy.preloads(forward, schedule, backward)).containsExactly(false, true, false, true);
    }

    @Test
    void a_negative_time_is_refused() {
        assertThatThrownBy(() -> ForwardLayer.of(1, -2, 3)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("-2 ns in place");
    }

    private static List<ForwardLayer> random(Random random, int most) {
        List<ForwardLayer> layers = new ArrayList<>();
        int count = 1 + random.nextInt(most);
        int times = 1 + random.nextInt(1 << (1 + random.nextInt(12)));
        for (int i = 0; i < count; i++) {
            long onDevice = random.nextInt(times);
            ForwardLayer layer = ForwardLayer.of(onDevice, onDevice + random.nextInt(2 * times), random.nextInt(2 * times));
            layer = random.nextInt(4) == 0 ? layer.copyFrom(random.nextInt(4 * times)) : layer;
            int fixed = random.nextInt(10);
            layers.add(fixed == 0 ? layer.copyOnly() : fixed == 1 ? layer.inPlaceOnly() : layer);
        }
        return layers;
    }

    private static long exhaustive(List<ForwardLayer> layers) {
        long best = Long.MAX_VALUE;
        for (int mask = 0; mask < 1 << layers.size(); mask++) {
            boolean[] copied = new boolean[layers.size()];
            boolean allowed = true;
            for (int i = 0; i < copied.length; i++) {
                copied[i] = (mask >> i & 1) == 1;
                allowed &= copied[i] ? layers.get(i).mayCopy() : layers.get(i).mayReadInPlace();
            }
            best = allowed ? Math.min(best, clock(layers, copied)) : best;
        }
        return best;
    }

    /** The end of the pass, from when each copy arrives and when each layer ends. */
    private static long clock(List<ForwardLayer> layers, boolean[] copied) {
        long[] arrived = new long[layers.size()];
        long[] ended = new long[layers.size()];
        for (int i = 0; i < arrived.length; i++) {
            ForwardLayer layer = layers.get(i);
            long linkFree = 0;
            for (int before = 0; before < i; before++) {
                linkFree = Math.max(linkFree, arrived[before]);
            }
            arrived[i] = copied[i] ? Math.max(linkFree, layer.copyFromNanos()) + layer.copyNanos() : 0;
            long start = Math.max(i == 0 ? 0 : ended[i - 1], arrived[i]);
            ended[i] = start + (copied[i] ? layer.onDeviceNanos() : layer.directNanos());
        }
        return ended[ended.length - 1];
    }
}
