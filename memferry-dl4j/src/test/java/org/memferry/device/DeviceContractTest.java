package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;

/** What every device promises about its host memory, its tickets, its counters and its end. */
public abstract class DeviceContractTest {

    private static final long[] SIZES = {0, 1, 4, 255, 256, 257, 4098, 1_000_003};

    protected Device device;

    /** The device under test, new. */
    protected abstract Device open();

    /** Whether there is memory behind the addresses of regions. */
    protected boolean hasRealMemory() {
        return true;
    }

    @BeforeEach
    void openDevice() {
        device = open();
    }

    @AfterEach
    void closeDevice() {
        device.close();
    }

    @Test
    void host_regions_have_the_exact_size_asked_for_and_zero_is_a_size() {
        for (long size : SIZES) {
            try (Region region = device.allocateHost(size, "size " + size)) {
                assertThat(region.bytes()).isEqualTo(size);
                assertThat(region.purpose()).isEqualTo("size " + size);
                assertThat(region.isOpen()).isTrue();
                assertThat(device.metrics().hostBytes()).isEqualTo(size);
                assertThat(device.metrics().openRegions()).isEqualTo(1);
            }
        }
        assertThat(device.metrics().peakHostBytes()).isEqualTo(1_000_003);
    }

    @Test
    void host_regions_start_at_multiples_of_256_and_do_not_overlap() {
        List<Region> regions = new ArrayList<>();
        for (long size : SIZES) {
            regions.add(device.allocateHost(size, "size " + size));
        }
        for (Region region : regions) {
            assertThat(region.address()).isPositive();
            assertThat(region.address() % 256).isZero();
        }
        regions.sort((a, b) -> Long.compare(a.address(), b.address()));
        for (int i = 1; i < regions.size(); i++) {
            Region before = regions.get(i - 1);
            assertThat(regions.get(i).address()).isGreaterThanOrEqualTo(before.address() + Math.max(1, before.bytes()));
        }
        regions.forEach(Region::close);
    }

    @Test
    void host_memory_is_zeroed_even_where_it_was_used_before() {
        if (!hasRealMemory()) {
            return;
        }
        for (int round = 0; round < 20; round++) {
            try (Region region = device.allocateHost(10_007, "reused")) {
                assertThat(RegionBytes.read(region)).containsOnly(0);
                RegionBytes.fill(region, 0x5A);
            }
        }
    }

    @Test
    void a_region_closed_twice_is_given_back_once() {
        Region kept = device.allocateHost(100, "kept");
        Region region = device.allocateHost(300, "closed twice");
        region.close();
        region.close();
        assertThat(region.isOpen()).isFalse();
        assertThat(device.metrics().hostBytes()).isEqualTo(100);
        assertThat(device.metrics().openRegions()).isEqualTo(1);
        kept.close();
    }

    @Test
    void a_negative_size_is_refused_and_leaves_nothing_behind() {
        assertThatThrownBy(() -> device.allocateHost(-1, "master")).isInstanceOf(RefusedException.class)
                .hasMessageContaining("master: -1 bytes (expected: an exact size of at least 0)");
        assertThat(device.metrics().openRegions()).isZero();
        assertThat(device.metrics().hostBytes()).isZero();
    }

    @Test
    void a_new_ticket_is_done_and_is_counted() {
        Ticket ticket = device.newTicket();
        assertThat(ticket.isDone()).isTrue();
        device.hostWaits(ticket);
        device.computeWaits(ticket);
        assertThat(device.metrics().tickets()).isEqualTo(1);
        assertThat(device.metrics().waitNanos()).isZero();
    }

    @Test
    void a_ticket_recorded_on_the_compute_stream_is_done_once_waited_for() {
        Ticket ticket = device.newTicket();
        device.visitStarted(0, false, 0, 0);
        device.visitEnded();
        device.recordCompute(ticket);
        device.hostWaits(ticket);
        assertThat(ticket.isDone()).isTrue();
    }

    @Test
    void after_an_orderly_close_all_held_counters_are_zero() {
        Region region = device.allocateHost(1000, "orderly");
        region.close();
        device.close();
        assertThat(device.metrics().hostBytes()).isZero();
        assertThat(device.metrics().slabBytes()).isZero();
        assertThat(device.metrics().openRegions()).isZero();
        assertThat(device.metrics().leakedRegions()).isZero();
        assertThat(device.metrics().peakHostBytes()).isEqualTo(1000);
    }

    @Test
    void close_gives_back_regions_still_open_and_counts_them_as_leaked() {
        Region first = device.allocateHost(1000, "leaked on purpose");
        Region second = device.allocateHost(0, "leaked on purpose, empty");
        device.close();
        assertThat(device.metrics().leakedRegions()).isEqualTo(2);
        assertThat(device.metrics().openRegions()).isZero();
        assertThat(device.metrics().hostBytes()).isZero();
        assertThat(first.isOpen()).isFalse();
        assertThat(second.isOpen()).isFalse();
    }

    @Test
    void a_second_close_and_a_late_close_of_a_region_do_nothing() {
        Region leaked = device.allocateHost(1000, "leaked on purpose");
        device.close();
        device.close();
        leaked.close();
        assertThat(device.metrics().leakedRegions()).isEqualTo(1);
        assertThat(device.metrics().openRegions()).isZero();
        assertThat(device.metrics().hostBytes()).isZero();
    }

    @Test
    void a_closed_device_refuses_use_by_name() {
        Ticket ticket = device.newTicket();
        device.close();
        String closed = device.name() + " is closed";
        assertThatThrownBy(() -> device.allocateHost(1, "late")).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThatThrownBy(() -> device.newTicket()).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThatThrownBy(() -> device.recordCompute(ticket)).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThatThrownBy(() -> device.computeWaits(ticket)).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThatThrownBy(() -> device.hostWaits(ticket)).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThatThrownBy(() -> device.visitStarted(0, false, 0, 0)).isInstanceOf(MemFerryException.class).hasMessageContaining(closed);
        assertThat(device.metrics().openRegions()).isZero();
    }
}
