package org.memferry.examples.capacity;

import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.examples.Screen;
import org.memferry.plan.Hardware;
import org.memferry.plan.Strategy;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

class CapacityTest {

    private static final long DEVICE = 2 << 20;
    private static final long HOST = 32 << 20;

    private final Capacity capacity = new Capacity(CapacityModel.MLP, DEVICE, HOST, Hardware.named("V100-32-PCIe3"),
            new Screen(new PrintWriter(new StringWriter()), new PrintWriter(new StringWriter()), false));

    @Test
    void whatPlansWithinDeviceAndHostTrainsAndOneNotchMoreDoesNot() {
        Map<Strategy, Capacity.Found> found = capacity.search();
        Capacity.Found zero = found.get(Strategy.ZERO_OFFLOAD);
        assertThat(capacity.train(Strategy.ZERO_OFFLOAD, zero)).isPositive();
        assertThat(capacity.isBoundByHost(zero)).isFalse();
        assertThat(capacity.isOneMoreRefused(Strategy.ZERO_OFFLOAD, zero)).isTrue();
        assertThat(capacity.isOneMoreRefused(Strategy.STREAM, zero)).isFalse();
    }

    @Test
    void theHostBoundsWhatTheDeviceDoesNot() {
        Map<Strategy, Capacity.Found> found = capacity.search();
        Capacity.Found best = found.get(Strategy.AUTO);
        assertThat(capacity.isBoundByHost(best)).isTrue();
        assertThat(16 * best.parameters).isLessThanOrEqualTo(HOST);
        assertThat(best.parameters).isGreaterThan(found.get(Strategy.ZERO_OFFLOAD).parameters);
        assertThat(found.get(Strategy.ZERO_OFFLOAD).parameters).isGreaterThan(found.get(Strategy.NATIVE_OFFLOAD).parameters);
        assertThat(found.get(Strategy.NATIVE_OFFLOAD).parameters).isGreaterThan(found.get(Strategy.NONE).parameters);
    }

    @Test
    void aTransformersWorkIsKnownForEveryProjection() {
        assertThat(MemFerry.describe(CapacityModel.TRANSFORMER.network(1), 1, CapacityModel.TRANSFORMER.input()).work())
                .hasSize(12 * 6 + 2).allMatch(work -> work.forwardFlops() > 0);
    }
}
