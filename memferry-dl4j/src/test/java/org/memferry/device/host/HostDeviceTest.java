package org.memferry.device.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.DeviceContractTest;
import org.memferry.device.Region;
import org.memferry.device.Ticket;

class HostDeviceTest extends DeviceContractTest {

    @Override
    protected Device open() {
        return new HostDevice();
    }

    @Test
    void it_has_no_memory_of_its_own_and_no_limit() {
        assertThat(device.name()).isEqualTo("host");
        assertThat(device.hasOwnMemory()).isFalse();
        assertThat(device.totalBytes()).isEqualTo(Long.MAX_VALUE);
        assertThat(device.freeBytes()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void slabs_copies_and_releases_are_refused() {
        try (Region host = device.allocateHost(100, "master")) {
            Ticket done = device.newTicket();
            Ticket[] none = {};
            assertThatThrownBy(() -> device.allocateSlab(0, "slots")).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("slots of 0 bytes (expected: no slab");
            assertThatThrownBy(() -> device.copyToDevice(host, 0, host, 50, 10, none, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("copy of 10 bytes to the device (expected: no copies");
            assertThatThrownBy(() -> device.copyToHost(host, 0, host, 50, 10, none, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("copy of 10 bytes to the host (expected: no copies");
            assertThatThrownBy(() -> device.released(host, 0, 10)).isInstanceOf(RefusedException.class);
            assertThat(device.metrics().copies()).isZero();
        }
    }

    @Test
    void reading_in_place_crosses_no_link_and_is_not_counted() {
        device.visitStarted(0, false, 1000, 0);
        device.visitEnded();
        assertThat(device.metrics().directBytes()).isZero();
    }
}
