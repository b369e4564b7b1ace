package org.memferry.planner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;

import org.junit.jupiter.api.Test;
import org.memferry.plan.Hardware;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Profile;

class EstimatorTest {

    private static final Hardware A100 = Hardware.named("A100-80-PCIe4");
    private static final long PARAMETERS = 1 << 24;

    @Test
    void a_layer_of_many_operations_takes_as_long_as_these_at_the_stated_share_of_the_peak() {
        double flops = 1e12;
        LayerProfile layer = estimate(new LayerWork(flops, 2 * flops, 1000), true);
        double second = A100.deviceFlopsPerSecond() * A100.deviceFlopsEfficiency();
        assertThat((double) layer.forwardNanos()).isCloseTo(flops / second * 1e9, within(1.0));
        assertThat((double) layer.backwardNanos()).isCloseTo(2 * flops / second * 1e9, within(1.0));
        assertThat(layer.activationBytes()).isEqualTo(1000);
    }

    @Test
    void a_layer_of_few_operations_takes_as_long_as_its_bytes_in_device_memory_and_over_the_link_in_place() {
        LayerProfile layer = estimate(new LayerWork(1, 1, 0), true);
        double bytes = 4.0 * PARAMETERS;
        assertThat((double) layer.forwardNanos()).isCloseTo(bytes / A100.deviceBytesPerSecond() * 1e9, within(1.0));
        assertThat((double) layer.backwardNanos()).isCloseTo(3 * bytes / A100.deviceBytesPerSecond() * 1e9, within(1.0));
        assertThat((double) layer.forwardDirectNanos()).isCloseTo(bytes / A100.bytesPerSecondToDevice() * 1e9, within(1.0));
        assertThat((double) layer.backwardDirectNanos()).isCloseTo(2 * bytes / A100.bytesPerSecondToDevice() * 1e9, within(1.0));
        assertThat((double) layer.gradientDirectNanos()).isCloseTo(bytes / A100.bytesPerSecondToHost() * 1e9, within(1.0));
        assertThat((double) layer.updateNanos()).isCloseTo(PARAMETERS / A100.updatedParametersPerSecond() * 1e9, within(1.0));
    }

    @Test
    void a_recurrent_layer_adds_to_its_gradient_in_place_in_every_step_of_time() {
        LayerDescription recurrent = network(true).layers().get(0).withTouches(3, 6);
        LayerProfile layer = Estimator.estimate(RandomNetworks.network(List.of(recurrent)), List.of(new LayerWork(1, 1, 0)), A100, "key")
                .layers().get(0);
        double bytes = 4.0 * PARAMETERS;
        double seconds = 3 * bytes / A100.bytesPerSecondToHost() + 2 * bytes / A100.bytesPerSecondToDevice();
        assertThat((double) layer.gradientDirectNanos()).isCloseTo(seconds * 1e9, within(1.0));
        assertThat((double) layer.backwardDirectNanos()).isCloseTo(6 * bytes / A100.bytesPerSecondToDevice() * 1e9, within(1.0));
    }

    @Test
    void a_frozen_layer_has_no_step_and_no_gradient_to_write() {
        LayerProfile layer = estimate(new LayerWork(1, 1, 0), false);
        assertThat(layer.updateNanos()).isZero();
        assertThat(layer.gradientDirectNanos()).isEqualTo(layer.backwardNanos());
    }

    @Test
    void the_profile_is_an_estimate_under_its_key_with_the_links_of_the_hardware() {
        Profile profile = Estimator.estimate(network(true), List.of(new LayerWork(1, 1, 1)), A100, "key");
        assertThat(profile.measured()).isFalse();
        assertThat(profile.key()).isEqualTo("key");
        assertThat(profile.bytesPerSecondToDevice()).isEqualTo(A100.bytesPerSecondToDevice());
        assertThatThrownBy(() -> Estimator.estimate(network(true), List.of(), A100, "key")).hasMessageContaining("0 layers for a network of 1");
        assertThatThrownBy(() -> new LayerWork(-1, 0, 0)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("-1.0");
    }

    private static LayerProfile estimate(LayerWork work, boolean trained) {
        return Estimator.estimate(network(trained), List.of(work), A100, "key").layers().get(0);
    }

    private static NetworkDescription network(boolean trained) {
        return RandomNetworks.network(List.of(LayerDescription.builder("dense", "Dense").parameters(0, PARAMETERS)
                .gradientWritten(trained).gradientCount(trained ? PARAMETERS : 0).build()));
    }
}
