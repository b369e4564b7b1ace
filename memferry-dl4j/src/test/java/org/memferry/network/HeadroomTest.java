package org.memferry.network;

import org.junit.jupiter.api.Test;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** Case A01: no plan is made to a card's last megabyte. */
class HeadroomTest {

    private static final long GB = 1L << 30;
    private static final NetworkDescription DENSE = network("DenseLayer");
    private static final NetworkDescription CONVOLUTIONAL = network("FrozenLayer(ConvolutionLayer)");

    private static NetworkDescription network(String type) {
        LayerDescription layer = LayerDescription.builder("0", type).parameters(0, 10).build();
        return new NetworkDescription(List.of(layer), new int[] {0}, new int[] {0}, new int[] {0}, 10, 0, 4);
    }

    @Test
    void a_card_keeps_room_for_libraries_and_for_convolutions_scratch() {
        assertThat(Headroom.bytes(null, true, 8 * GB, DENSE)).isEqualTo(Headroom.LIBRARIES);
        assertThat(Headroom.bytes(null, true, 8 * GB, CONVOLUTIONAL)).isEqualTo(Headroom.LIBRARIES + Headroom.CONVOLUTIONS);
        assertThat(Headroom.bytes(null, true, GB, CONVOLUTIONAL)).as("a sixteenth at most").isEqualTo(GB / 16);
    }

    @Test
    void what_the_user_says_holds_and_other_devices_keep_nothing() {
        assertThat(Headroom.bytes(5L, true, 8 * GB, CONVOLUTIONAL)).isEqualTo(5);
        assertThat(Headroom.bytes(0L, true, 8 * GB, CONVOLUTIONAL)).isZero();
        assertThat(Headroom.bytes(7L, false, 8 * GB, DENSE)).isEqualTo(7);
        assertThat(Headroom.bytes(null, false, 8 * GB, CONVOLUTIONAL)).isZero();
    }
}
