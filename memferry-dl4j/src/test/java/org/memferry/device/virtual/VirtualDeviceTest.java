package org.memferry.device.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.memferry.base.RefusedException;
import org.memferry.device.CopyingDeviceContractTest;
import org.memferry.device.Device;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;

/**
 * All expected times are worked out by hand: a byte takes 1 ns to the device and 2 ns to the host; layer n computes for 100 * (n + 1) ns,
 * twice that in backward.
 */
class VirtualDeviceTest extends CopyingDeviceContractTest {

    private static final Ticket[] NONE = {};

    @Override
    protected Device open() {
        return new VirtualDevice(BUDGET, LinkRates.of(1e9, 5e8), (layer, backward, direct) -> 100L * (layer + 1) * (backward ? 2 : 1));
    }

    @Override
    protected Device openHeld() {
        return open();
    }

    /** Time stands still until someone waits. */
    @Override
    protected void letCopiesRun() {
        assertThat(clock().nowNanos()).isBetween(0L, 1000L);
    }

    @Override
    protected boolean hasRealMemory() {
        return false;
    }

    private VirtualDevice clock() {
        return (VirtualDevice) device;
    }

    private Region host() {
        return device.allocateHost(100_000, "host");
    }

    private Region slab() {
        return device.allocateSlab(100_000, "slab");
    }

    private Ticket toDevice(Region host, Region slab, long bytes, Ticket... after) {
        Ticket done = device.newTicket();
        device.copyToDevice(host, 0, slab, 0, bytes, after, done);
        return done;
    }

    private Ticket toHost(Region host, Region slab, long bytes, Ticket... after) {
        Ticket done = device.newTicket();
        device.copyToHost(slab, 0, host, 0, bytes, after, done);
        return done;
    }

    private void visit(int layer, boolean backward, long directBytes) {
        device.visitStarted(layer, backward, directBytes, 0);
        device.visitEnded();
    }

    /** Waits on the compute stream and reads the clock. */
    private long computeTimeAfter(Ticket ticket) {
        device.computeWaits(ticket);
        return clock().nowNanos();
    }

    @Test
    void submitting_takes_no_time() {
        try (Region host = host(); Region slab = slab()) {
            toDevice(host, slab, 1000);
            assertThat(clock().nowNanos()).isZero();
        }
    }

    @Test
    void copies_of_one_direction_add_up_and_the_two_directions_overlap() {
        try (Region host = host(); Region slab = slab()) {
            Ticket first = toDevice(host, slab, 300);
            Ticket second = toDevice(host, slab, 400);
            Ticket back = toHost(host, slab, 250);
            Ticket last = toHost(host, slab, 150);
            assertThat(computeTimeAfter(first)).isEqualTo(300);
            assertThat(computeTimeAfter(back)).isEqualTo(500);
            assertThat(computeTimeAfter(second)).isEqualTo(700);
            assertThat(computeTimeAfter(last)).isEqualTo(800);
            assertThat(device.metrics().waitNanos()).isEqualTo(800);
        }
    }

    @Test
    void a_copy_starts_when_its_tickets_are_done_in_either_queue_and_on_the_compute_stream() {
        try (Region host = host(); Region slab = slab()) {
            Ticket there = toDevice(host, slab, 300);
            visit(4, false, 0);
            Ticket computed = device.newTicket();
            device.recordCompute(computed);
            Ticket back = toHost(host, slab, 10, there);
            Ticket afterCompute = toHost(host, slab, 10, there, computed);
            Ticket again = toDevice(host, slab, 5, back);
            device.hostWaits(back);
            assertThat(back.isDone()).isTrue();
            assertThat(again.isDone()).isFalse();
            device.hostWaits(again);
            // 300 + 2 * 10 + 5, while the compute stream stands at 500.
            assertThat(afterCompute.isDone()).isFalse();
            assertThat(clock().nowNanos()).isEqualTo(500);
            device.hostWaits(afterCompute);
            assertThat(clock().nowNanos()).isEqualTo(520);
        }
    }

    @Test
    void visits_advance_the_compute_clock_by_their_cost_and_copies_run_beside_them() {
        try (Region host = host(); Region slab = slab()) {
            Ticket there = toDevice(host, slab, 250);
            visit(0, false, 0);
            visit(0, true, 0);
            assertThat(clock().nowNanos()).isEqualTo(300);
            device.computeWaits(there);
            assertThat(clock().nowNanos()).isEqualTo(300);
            assertThat(device.metrics().waitNanos()).isZero();
        }
    }

    @Test
    void a_visit_that_reads_in_place_lasts_as_long_as_its_bytes_on_the_link() {
        visit(0, false, 70);
        assertThat(clock().nowNanos()).isEqualTo(100);
        visit(0, false, 170);
        assertThat(clock().nowNanos()).isEqualTo(270);
    }

    @Test
    void a_wait_within_a_visit_comes_before_its_cost_but_runs_beside_its_reads() {
        try (Region host = host(); Region slab = slab()) {
            Ticket there = toHost(host, slab, 100);
            device.visitStarted(0, false, 250, 0);
            device.computeWaits(there);
            device.visitEnded();
            assertThat(clock().nowNanos()).isEqualTo(300);
            Ticket more = toHost(host, slab, 60);
            device.visitStarted(0, false, 450, 0);
            device.computeWaits(more);
            device.visitEnded();
            assertThat(clock().nowNanos()).isEqualTo(750);
        }
    }

    @Test
    void a_copy_submitted_beside_reads_in_place_is_late_by_their_bytes() {
        try (Region host = host(); Region slab = slab()) {
            device.visitStarted(0, false, 60, 0);
            Ticket there = toDevice(host, slab, 200);
            Ticket back = toHost(host, slab, 100);
            device.visitEnded();
            assertThat(computeTimeAfter(back)).isEqualTo(200);
            assertThat(computeTimeAfter(there)).isEqualTo(260);
        }
    }

    @Test
    void copies_submitted_before_reads_in_place_are_late_by_them_and_so_is_what_depends_on_them() {
        try (Region host = host(); Region slab = slab()) {
            Ticket first = toDevice(host, slab, 50);
            Ticket second = toDevice(host, slab, 250);
            Ticket third = toDevice(host, slab, 100);
            Ticket back = toHost(host, slab, 10, third);
            visit(0, false, 0);
            // From 100 to 130 the link belongs to this visit, while the second copy is under way.
            visit(1, false, 30);
            assertThat(computeTimeAfter(first)).isEqualTo(300);
            assertThat(computeTimeAfter(second)).isEqualTo(330);
            assertThat(computeTimeAfter(third)).isEqualTo(430);
            assertThat(computeTimeAfter(back)).isEqualTo(450);
        }
    }

    @Test
    void a_copy_uses_the_gaps_that_reads_in_place_leave() {
        try (Region host = host(); Region slab = slab()) {
            visit(0, false, 80);
            visit(0, false, 80);
            visit(0, false, 80);
            // The host has not moved: submitted at 0, carried from 80 to 100, 180 to 200 and 280 to 290.
            Ticket there = toDevice(host, slab, 50);
            Ticket back = toHost(host, slab, 15, there);
            assertThat(computeTimeAfter(there)).isEqualTo(300);
            assertThat(computeTimeAfter(back)).isEqualTo(320);
        }
    }

    @Test
    void a_copy_is_submitted_at_the_time_of_the_host_which_moves_when_the_host_waits() {
        try (Region host = host(); Region slab = slab()) {
            visit(9, false, 0);
            Ticket early = toDevice(host, slab, 100);
            assertThat(computeTimeAfter(early)).isEqualTo(1000);
            Ticket computed = device.newTicket();
            device.recordCompute(computed);
            assertThat(computed.isDone()).isFalse();
            device.hostWaits(computed);
            assertThat(computed.isDone()).isTrue();
            Ticket late = toDevice(host, slab, 100);
            assertThat(computeTimeAfter(late)).isEqualTo(1100);
            assertThat(device.metrics().waitNanos()).isEqualTo(100);
        }
    }

    @Test
    void the_compute_stream_never_lags_behind_the_host() {
        try (Region host = host(); Region slab = slab()) {
            device.hostWaits(toDevice(host, slab, 777));
            visit(0, false, 0);
            assertThat(clock().nowNanos()).isEqualTo(877);
        }
    }

    @Test
    void fractions_of_nanoseconds_are_rounded_once_per_copy() {
        try (VirtualDevice odd = new VirtualDevice(BUDGET, LinkRates.of(3e9, Double.POSITIVE_INFINITY), (layer, backward, direct) -> 0);
                Region host = odd.allocateHost(1000, "host"); Region slab = odd.allocateSlab(1000, "slab")) {
            Ticket done = odd.newTicket();
            odd.copyToDevice(host, 0, slab, 0, 1000, NONE, done);
            odd.hostWaits(done);
            assertThat(odd.nowNanos()).isEqualTo(333);
            odd.copyToHost(slab, 0, host, 0, 1000, NONE, done);
            odd.hostWaits(done);
            assertThat(odd.nowNanos()).isEqualTo(333);
        }
    }

    @Test
    void terabytes_need_no_memory() {
        try (VirtualDevice large = new VirtualDevice(100L << 40, LinkRates.UNLIMITED, (layer, backward, direct) -> 0);
                Region host = large.allocateHost(1L << 50, "master"); Region slab = large.allocateSlab(100L << 40, "slab")) {
            assertThat(large.name()).isEqualTo("virtual 100 TB");
            assertThat(host.bytes() + slab.bytes()).isEqualTo((1L << 50) + (100L << 40));
        }
    }

    @Test
    void a_negative_cost_and_an_empty_budget_are_refused() {
        assertThatThrownBy(() -> new VirtualDevice(0, LinkRates.UNLIMITED, (layer, backward, direct) -> 0))
                .isInstanceOf(RefusedException.class).hasMessageStartingWith("virtual device memory: 0 (expected: more than 0 bytes,");
        try (VirtualDevice wrong = new VirtualDevice(1, LinkRates.UNLIMITED, (layer, backward, direct) -> -5)) {
            wrong.visitStarted(3, false, 0, 0);
            assertThatThrownBy(wrong::visitEnded).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("layer 3 costs -5 ns (expected: at least 0");
        }
    }
}
