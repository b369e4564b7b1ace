package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.memferry.base.OutOfMemoryException;
import org.memferry.plan.Hardware;
import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;

class ForecastTest {

    private static final Hardware V100 = Hardware.named("V100-32-PCIe3");
    private static final int LAYERS = 6;
    private static final long PARAMETERS = 1 << 20;

    @Test
    void a_strategy_is_planned_within_the_budget_and_simulated_from_its_plan() {
        Workload workload = workload();
        Profile profile = Forecast.estimate(workload, V100);
        for (Strategy strategy : Strategy.values()) {
            if (strategy != Strategy.NONE) {
                Forecast forecast = Forecast.of(strategy, workload, profile, V100, workload.budget(64 << 20, 1 << 20));
                assertThat(forecast.plan().orElseThrow().slabBytes()).isLessThanOrEqualTo(forecast.plan().orElseThrow().budget().slabLimit());
                assertThat(forecast.simulation().stepNanos())
                        .isEqualTo(Simulator.simulate(forecast.plan().orElseThrow(), profile).stepNanos());
            }
        }
    }

    @Test
    void plain_training_steps_at_the_rate_of_the_devices_memory_and_holds_everything() {
        Workload workload = workload();
        Profile profile = Forecast.estimate(workload, V100);
        Forecast forecast = Forecast.of(Strategy.NONE, workload, profile, V100, workload.budget(V100.deviceBytes(), 0));
        long visits = profile.layers().stream().mapToLong(l -> l.forwardNanos() + l.backwardNanos()).sum();
        long step = (long) Math.ceil(7.0 * 4 * LAYERS * PARAMETERS * 1e9 / V100.deviceBytesPerSecond());
        assertThat(forecast.simulation().stepNanos()).isEqualTo(visits + step);
        assertThat(forecast.plan()).isEmpty();
        long all = 16 * LAYERS * PARAMETERS + workload.activationBytes();
        assertThatThrownBy(() -> Forecast.of(Strategy.NONE, workload, profile, V100, workload.budget(all - 1, 0)))
                .isInstanceOf(OutOfMemoryException.class);
        assertThat(Forecast.of(Strategy.NONE, workload, profile, V100, workload.budget(all, 0)).simulation().devicePeakBytes())
                .isEqualTo(all);
    }

    private static Workload workload() {
        List<LayerDescription> layers = new ArrayList<>();
        List<LayerWork> work = new ArrayList<>();
        int[] forward = new int[LAYERS];
        int[] backward = new int[LAYERS];
        for (int i = 0; i < LAYERS; i++) {
            layers.add(LayerDescription.builder("layer " + i, "Dense").parameters(i * PARAMETERS, PARAMETERS).build());
            work.add(new LayerWork(1e9, 3e9, 1000));
            forward[i] = i;
            backward[LAYERS - 1 - i] = i;
        }
        NetworkDescription network = new NetworkDescription(layers, forward, backward, forward, LAYERS * PARAMETERS,
                2 * LAYERS * PARAMETERS, 4);
        return new Workload("test", network, work, new IterationMemory(0, 12_000, 0, 0, "made up"));
    }
}
