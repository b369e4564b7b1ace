package org.memferry.device.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.memferry.base.RefusedException;
import org.memferry.device.CopyingDeviceContractTest;
import org.memferry.device.Device;
import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.TimelineListener;

/**
 * All expected times are worked out by hand: a byte takes 1 ns to the device and 2 ns to the host; layer n computes for 100 * (n + 1) ns,
 * twice that in backward.
 */
class VirtualDeviceTest extends CopyingDeviceContractTest {

    private static final Ticket[] NONE = {};

    private final List<String> events = new ArrayList<>();
    private final TimelineListener listener = new TimelineListener() {
        @Override
        public void visited(int layer, boolean backward, long start, long end, long waited) {
            events.add("visited " + layer + (backward ? " backward " : " forward ") + start + ".." + end + " waited " + waited);
        }

        @Override
        public void copied(Direction direction, long hostOffset, long bytes, long start, long end) {
            events.add(direction + " " + hostOffset + " " + bytes + " " + start + ".." + end);
        }

        @Override
        public void updated(int layer, long start, long end) {
            events.add("updated " + layer + " " + start + ".." + end);
        }
    };

    @Override
    protected Device open() {
        return new VirtualDevice(BUDGET, LinkRates.of(1e9, 5e8), (layer, backward) -> 100L * (layer + 1) * (backward ? 2 : 1));
    }

    /** Goes on with a device that tells what took place when. */
    private void listen() {
        device.close();
        device = new VirtualDevice(BUDGET, LinkRates.of(1e9, 5e8), (layer, backward) -> 100L * (layer + 1) * (backward ? 2 : 1), listener);
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
    void a_copy_starts_when_its_tickets_are_done_whichever_direction_they_are_of() {
        try (Region host = host(); Region slab = slab()) {
            Ticket there = toDevice(host, slab, 300);
            Ticket back = toHost(host, slab, 10, there);
            Ticket again = toDevice(host, slab, 5, back);
            Ticket last = toHost(host, slab, 100, there);
            device.hostWaits(back);
            assertThat(clock().nowNanos()).isEqualTo(320);
            assertThat(there.isDone()).isTrue();
            assertThat(again.isDone()).isFalse();
            device.hostWaits(again);
            assertThat(clock().nowNanos()).isEqualTo(325);
            assertThat(last.isDone()).isFalse();
            device.hostWaits(last);
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
            Ticket there = toDevice(host, slab, 50);
            Ticket back = toHost(host, slab, 15, there);
            visit(0, false, 80);
            visit(0, false, 80);
            visit(0, false, 80);
            // Carried from 80 to 100, 180 to 200 and 280 to 290; then 30 more to the host.
            assertThat(there.isDone()).isTrue();
            assertThat(computeTimeAfter(back)).isEqualTo(320);
            assertThat(device.metrics().waitNanos()).isEqualTo(20);
        }
    }

    @Test
    void writes_in_place_take_the_direction_to_the_host_and_leave_the_other_alone() {
        try (Region host = host(); Region slab = slab()) {
            Ticket back = toHost(host, slab, 100);
            Ticket there = toDevice(host, slab, 210);
            // 90 bytes are 180 ns to the host: the copy of 200 ns waits for them.
            device.visitStarted(0, true, 0, 90);
            device.visitEnded();
            assertThat(clock().nowNanos()).as("as long as it computes").isEqualTo(200);
            assertThat(computeTimeAfter(there)).isEqualTo(210);
            assertThat(computeTimeAfter(back)).isEqualTo(380);
        }
    }

    @Test
    void a_visit_that_writes_in_place_lasts_as_long_as_its_bytes_on_the_link() {
        device.visitStarted(0, true, 150, 170);
        device.visitEnded();
        assertThat(clock().nowNanos()).isEqualTo(340);
    }

    @Test
    void the_end_of_a_visit_moves_the_host_so_that_a_copy_submitted_behind_it_starts_then() {
        try (Region host = host(); Region slab = slab()) {
            visit(9, false, 0);
            Ticket computed = device.newTicket();
            device.recordCompute(computed);
            assertThat(computed.isDone()).as("an operation is over when it returns").isTrue();
            Ticket late = toDevice(host, slab, 100, computed);
            assertThat(computeTimeAfter(late)).isEqualTo(1100);
            assertThat(device.metrics().waitNanos()).isEqualTo(100);
        }
    }

    @Test
    void work_of_the_host_moves_the_clock_and_copies_go_on_beside_it() {
        try (Region host = host(); Region slab = slab()) {
            Ticket there = toDevice(host, slab, 300);
            device.copyToDevice(host, 128, slab, 0, 100, new Ticket[0], device.newTicket());
            clock().hostBusy(250);
            assertThat(there.isDone()).isFalse();
            assertThat(clock().pending(Direction.TO_DEVICE)).as("in order, by offset").containsExactly(0, 50, 128, 100);
            clock().hostBusy(250);
            assertThat(there.isDone()).isTrue();
            assertThat(clock().pending(Direction.TO_DEVICE)).isEmpty();
            assertThat(clock().nowNanos()).isEqualTo(500);
            assertThat(device.metrics().waitNanos()).as("work is not standing still").isZero();
        }
    }

    // ------------------------------------------------------------------------------------------------------------------- steps

    @Test
    void steps_run_one_after_the_other_each_from_when_its_gradient_has_arrived() {
        listen();
        try (Region host = host(); Region slab = slab()) {
            Ticket first = toHost(host, slab, 100);
            Ticket second = toHost(host, slab, 50);
            Ticket there = device.newTicket();
            update(0, 150, first);
            update(1, 20, second);
            update(2, 30, there);
            assertThat(clock().awaitUpdates()).isEqualTo(400);
            // The first gradient is there at 200, the second at 300, the third from the start.
            assertThat(events).containsSubsequence("updated 0 200..350", "ended 0 at 350", "updated 1 350..370", "ended 1 at 370",
                    "updated 2 370..400", "ended 2 at 400");
            assertThat(device.metrics().waitNanos()).as("no copy was waited for").isZero();
        }
    }

    @Test
    void a_worker_that_is_free_waits_for_the_gradient() {
        listen();
        try (Region host = host(); Region slab = slab()) {
            update(0, 10, device.newTicket());
            update(1, 10, toHost(host, slab, 60));
            visit(0, false, 0);
            assertThat(events).contains("updated 0 0..10");
            clock().hostBusy(50);
            assertThat(events).contains("updated 1 120..130");
            assertThat(clock().awaitUpdates()).isZero();
        }
    }

    @Test
    void a_copy_submitted_when_a_step_ends_starts_then_and_not_when_the_visit_around_it_ends() {
        try (Region host = host(); Region slab = slab()) {
            Ticket refreshed = device.newTicket();
            clock().update(0, 30, device.newTicket(), layer -> device.copyToDevice(host, 0, slab, 0, 100, NONE, refreshed));
            device.visitStarted(4, false, 0, 0);
            assertThat(refreshed.isDone()).as("not submitted yet").isTrue();
            device.visitEnded();
            assertThat(clock().nowNanos()).isEqualTo(500);
            assertThat(refreshed.isDone()).isTrue();
            clock().update(0, 30, device.newTicket(), layer -> device.copyToDevice(host, 0, slab, 0, 100, NONE, refreshed));
            visit(0, false, 0);
            assertThat(computeTimeAfter(refreshed)).as("500 + 30 + 100").isEqualTo(630);
        }
    }

    @Test
    void a_step_that_takes_no_time_is_told_when_the_clock_is_asked_to_move_and_not_while_it_is_given() {
        listen();
        update(3, 0, device.newTicket());
        assertThat(events).isEmpty();
        clock().hostBusy(0);
        assertThat(events).containsExactly("updated 3 0..0", "ended 3 at 0");
    }

    @Test
    void a_wait_is_for_the_record_at_the_time_of_the_call_even_if_a_step_records_the_ticket_anew() {
        try (Region host = host(); Region slab = slab()) {
            Ticket ticket = toDevice(host, slab, 100);
            clock().update(0, 40, device.newTicket(), layer -> device.copyToDevice(host, 0, slab, 0, 500, NONE, ticket));
            device.hostWaits(ticket);
            assertThat(clock().nowNanos()).isEqualTo(100);
            device.hostWaits(ticket);
            assertThat(clock().nowNanos()).isEqualTo(600);
        }
    }

    private void update(int layer, long nanos, Ticket arrived) {
        clock().update(layer, nanos, arrived, ended -> events.add("ended " + ended + " at " + clock().nowNanos()));
    }

    // --------------------------------------------------------------------------------------------------------------- slow-down

    /** Computes 100 ns per visit; a copy lengthens what it runs beside by half, a step by its double. */
    private VirtualDevice slowed() {
        return new VirtualDevice(BUDGET, LinkRates.of(1e9, 1e9), new VisitCosts() {
            @Override
            public long nanos(int layer, boolean backward) {
                return 100;
            }

            @Override
            public long directNanos(int layer, boolean backward) {
                return layer == 7 ? 130 : 0;
            }

            @Override
            public double copySlowdown() {
                return 0.5;
            }

            @Override
            public double updateSlowdown() {
                return 2;
            }
        });
    }

    @Test
    void a_copy_lengthens_the_part_of_the_visit_that_it_runs_beside() {
        try (VirtualDevice slow = slowed(); Region host = slow.allocateHost(1000, "host"); Region slab = slow.allocateSlab(1000, "slab")) {
            slow.copyToDevice(host, 0, slab, 0, 60, NONE, slow.newTicket());
            slow.copyToHost(slab, 100, host, 100, 60, NONE, slow.newTicket());
            slow.visitStarted(0, false, 0, 0);
            slow.visitEnded();
            // 60 ns beside the copies, of both directions at once, do the work of 40; 60 are left.
            assertThat(slow.nowNanos()).isEqualTo(120);
            slow.copyToDevice(host, 0, slab, 0, 900, NONE, slow.newTicket());
            slow.visitStarted(0, false, 0, 0);
            slow.visitEnded();
            assertThat(slow.nowNanos()).as("all of it beside the copy").isEqualTo(270);
        }
    }

    @Test
    void a_copy_that_stands_still_for_reads_in_place_slows_nobody_down() {
        try (VirtualDevice slow = slowed(); Region host = slow.allocateHost(1000, "host"); Region slab = slow.allocateSlab(1000, "slab")) {
            slow.copyToDevice(host, 0, slab, 0, 30, NONE, slow.newTicket());
            slow.visitStarted(0, false, 70, 0);
            slow.visitEnded();
            // The reads have the link until 70; the copy runs from then and has done 30 ns beside work of 20; 10 are left.
            assertThat(slow.nowNanos()).isEqualTo(110);
        }
    }

    @Test
    void a_step_lengthens_the_visit_too_and_adds_to_what_a_copy_does() {
        try (VirtualDevice slow = slowed(); Region host = slow.allocateHost(1000, "host"); Region slab = slow.allocateSlab(1000, "slab")) {
            slow.update(0, 30, slow.newTicket(), layer -> slow.copyToDevice(host, 0, slab, 0, 30, NONE, slow.newTicket()));
            slow.visitStarted(0, false, 0, 0);
            slow.visitEnded();
            // 30 ns beside the step do the work of 10, 30 beside the copy that follows the work of 20, 70 are left.
            assertThat(slow.nowNanos()).isEqualTo(130);
            slow.update(0, 1000, slow.newTicket(), layer -> { });
            slow.copyToDevice(host, 0, slab, 0, 900, NONE, slow.newTicket());
            slow.visitStarted(0, false, 0, 0);
            slow.visitEnded();
            assertThat(slow.nowNanos()).as("130 + 100 * (1 + 2 + 0.5)").isEqualTo(480);
        }
    }

    @Test
    void a_visit_in_place_lasts_its_direct_time_from_its_last_wait_on_and_is_not_slowed_beyond_it() {
        try (VirtualDevice slow = slowed(); Region host = slow.allocateHost(1000, "host"); Region slab = slow.allocateSlab(1000, "slab")) {
            Ticket gone = slow.newTicket();
            slow.copyToHost(slab, 0, host, 0, 40, NONE, gone);
            slow.visitStarted(7, false, 0, 0);
            slow.computeWaits(gone);
            slow.copyToHost(slab, 0, host, 0, 30, NONE, gone);
            slow.visitEnded();
            // Computing is stretched to 110, less than the 130 that reading in place takes anyway.
            assertThat(slow.nowNanos()).isEqualTo(170);
        }
    }

    // ------------------------------------------------------------------------------------------------------------------ others

    @Test
    void the_listener_hears_when_everything_took_place() {
        listen();
        try (Region host = host(); Region slab = slab()) {
            device.copyToDevice(host, 70, slab, 0, 300, NONE, device.newTicket());
            Ticket back = toHost(host, slab, 20);
            device.visitStarted(0, true, 50, 0);
            device.computeWaits(back);
            device.visitEnded();
            clock().hostBusy(1000);
            // The link is taken until 50; the visit waits until 40 and computes for 200.
            assertThat(events).containsExactly("to the host 0 20 0..40", "visited 0 backward 0..240 waited 40", "to the device 70 300 50..350");
        }
    }

    @Test
    void what_is_waited_for_on_the_threshold_of_a_visit_is_part_of_it_as_on_other_devices() {
        listen();
        try (Region host = host(); Region slab = slab()) {
            Ticket back = toHost(host, slab, 20);
            device.visitStarted(1, true, 0, 0);
            device.visitEnded();
            device.computeWaits(toHost(host, slab, 300));
            device.visitStarted(0, true, 0, 0);
            device.computeWaits(back);
            device.visitEnded();
            assertThat(events.stream().filter(event -> event.startsWith("visited"))).containsExactly("visited 1 backward 0..400 waited 0",
                    "visited 0 backward 400..1200 waited 600");
        }
    }

    @Test
    void waits_long_before_a_visit_are_none_of_its() {
        listen();
        try (Region host = host(); Region slab = slab()) {
            device.computeWaits(toHost(host, slab, 300));
            clock().hostBusy(50);
            device.visitStarted(0, false, 0, 0);
            device.visitEnded();
            assertThat(events).contains("visited 0 forward 650..750 waited 0");
        }
    }

    @Test
    void fractions_of_nanoseconds_are_rounded_once_per_copy() {
        try (VirtualDevice odd = new VirtualDevice(BUDGET, LinkRates.of(3e9, Double.POSITIVE_INFINITY), (layer, backward) -> 0);
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
        try (VirtualDevice large = new VirtualDevice(100L << 40, LinkRates.UNLIMITED, (layer, backward) -> 0);
                Region host = large.allocateHost(1L << 50, "master"); Region slab = large.allocateSlab(100L << 40, "slab")) {
            assertThat(large.name()).isEqualTo("virtual 100 TB");
            assertThat(host.bytes() + slab.bytes()).isEqualTo((1L << 50) + (100L << 40));
        }
    }

    @Test
    void a_negative_cost_and_an_empty_budget_are_refused() {
        assertThatThrownBy(() -> new VirtualDevice(0, LinkRates.UNLIMITED, (layer, backward) -> 0))
                .isInstanceOf(RefusedException.class).hasMessageStartingWith("virtual device memory: 0 (expected: more than 0 bytes,");
        try (VirtualDevice wrong = new VirtualDevice(1, LinkRates.UNLIMITED, (layer, backward) -> -5)) {
            wrong.visitStarted(3, false, 0, 0);
            assertThatThrownBy(wrong::visitEnded).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("layer 3 costs -5 ns (expected: at least 0");
        }
    }
}
