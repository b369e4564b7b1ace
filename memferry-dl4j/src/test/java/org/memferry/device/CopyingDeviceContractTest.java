package org.memferry.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;

/** What every device with memory of its own promises besides: its budget, its copies and their order. */
public abstract class CopyingDeviceContractTest extends DeviceContractTest {

    /** Budget of {@link #open()} and {@link #openHeld()}. */
    protected static final long BUDGET = 1_000_003;

    private static final Ticket[] NONE = {};

    /** A device whose copies to the device are not done before {@link #letCopiesRun()}, whatever the speed of the test. */
    protected abstract Device openHeld();

    /** Lets the copies of {@link #openHeld()} run. */
    protected abstract void letCopiesRun();

    @Override
    protected abstract Device open();

    @Test
    void a_device_with_its_own_memory_says_so() {
        assertThat(device.hasOwnMemory()).isTrue();
        assertThat(device.totalBytes()).isEqualTo(BUDGET);
        assertThat(device.freeBytes()).isEqualTo(BUDGET);
    }

    @Test
    void the_budget_is_exact_to_the_byte() {
        try (Region slab = device.allocateSlab(BUDGET, "slab")) {
            assertThat(slab.bytes()).isEqualTo(BUDGET);
            assertThat(slab.address() % 256).isZero();
            assertThat(device.freeBytes()).isZero();
            assertThat(device.metrics().slabBytes()).isEqualTo(BUDGET);
            assertThatThrownBy(() -> device.allocateSlab(1, "one more")).isInstanceOf(OutOfMemoryException.class);
        }
        assertThat(device.freeBytes()).isEqualTo(BUDGET);
        assertThatThrownBy(() -> device.allocateSlab(BUDGET + 1, "slab")).isInstanceOf(OutOfMemoryException.class);
        assertThat(device.metrics().openRegions()).isZero();
        assertThat(device.metrics().slabBytes()).isZero();
        assertThat(device.metrics().peakSlabBytes()).isEqualTo(BUDGET);
    }

    @Test
    void a_slab_beyond_the_budget_is_refused_with_the_numbers_and_the_setting() {
        try (Region slab = device.allocateSlab(3, "slab")) {
            OutOfMemoryException refusal = catchThrowableOfType(OutOfMemoryException.class, () -> device.allocateSlab(BUDGET, "slots"));
            assertThat(refusal).hasMessageContaining(device.name()).hasMessageContaining("slots needs 977 KB (1,000,003 bytes)")
                    .hasMessageContaining("977 KB (1,000,000 bytes) are available")
                    .hasMessageContaining("a budget of 977 KB (1,000,003 bytes)")
                    .hasMessageContaining("deviceMemory");
            assertThat(refusal.askedBytes()).isEqualTo(BUDGET);
            assertThat(refusal.availableBytes()).isEqualTo(BUDGET - slab.bytes());
        }
    }

    @Test
    void host_regions_do_not_count_against_the_budget() {
        try (Region host = device.allocateHost(2 * BUDGET, "master")) {
            assertThat(device.freeBytes()).isEqualTo(BUDGET);
            assertThat(device.metrics().hostBytes()).isEqualTo(host.bytes());
        }
    }

    @Test
    void a_slab_still_open_at_close_is_given_back_and_counted_as_leaked() {
        Region slab = device.allocateSlab(10, "leaked on purpose");
        device.close();
        assertThat(slab.isOpen()).isFalse();
        assertThat(device.metrics().leakedRegions()).isEqualTo(1);
        assertThat(device.metrics().slabBytes()).isZero();
    }

    @Test
    void a_copy_there_and_back_moves_exactly_the_bytes_asked_for() {
        for (int size : new int[] {0, 1, 4, 6, 13, 207, 4098}) {
            try (Region from = device.allocateHost(5000, "from"); Region to = device.allocateHost(5000, "to");
                    Region slab = device.allocateSlab(5000, "slab")) {
                Ticket there = device.newTicket();
                Ticket back = device.newTicket();
                fill(from, 7);
                device.copyToDevice(from, 3, slab, 5, size, NONE, there);
                device.copyToHost(slab, 5, to, 11, size, new Ticket[] {there}, back);
                device.hostWaits(back);
                assertThat(back.isDone()).isTrue();
                assertThat(there.isDone()).isTrue();
                assertPart(to, 11, size, 7);
            }
        }
    }

    @Test
    void a_copy_is_submitted_without_waiting_for_it() {
        try (Region host = held().allocateHost(1000, "host"); Region slab = device.allocateSlab(1000, "slab")) {
            Ticket done = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 1000, NONE, done);
            assertThat(done.isDone()).isFalse();
            letCopiesRun();
            device.hostWaits(done);
            assertThat(done.isDone()).isTrue();
            assertThat(device.metrics().copies()).isEqualTo(1);
        }
    }

    @Test
    void copies_of_one_direction_run_in_the_order_of_submission_however_many_there_are() {
        int copies = 1000;
        try (Region host = held().allocateHost(copies, "host"); Region back = device.allocateHost(1, "back");
                Region slab = device.allocateSlab(1, "slab")) {
            for (int i = 0; i < copies && hasRealMemory(); i++) {
                RegionBytes.of(host).put(i, (byte) i);
            }
            Ticket[] done = new Ticket[copies];
            for (int i = 0; i < copies; i++) {
                done[i] = device.newTicket();
                device.copyToDevice(host, i, slab, 0, 1, NONE, done[i]);
            }
            Ticket read = device.newTicket();
            device.copyToHost(slab, 0, back, 0, 1, new Ticket[] {done[copies - 1]}, read);
            letCopiesRun();
            device.hostWaits(done[copies / 2]);
            assertThat(Arrays.copyOf(done, copies / 2)).allMatch(Ticket::isDone);
            device.hostWaits(read);
            assertPart(back, 0, 1, (byte) (copies - 1));
            assertThat(device.metrics().bytesToDevice()).isEqualTo(copies);
            assertThat(device.metrics().bytesToHost()).isEqualTo(1);
            assertThat(device.metrics().copies()).isEqualTo(copies + 1);
        }
    }

    @Test
    void a_copy_to_the_host_starts_after_the_copy_to_the_device_that_it_names() throws InterruptedException {
        try (Region from = held().allocateHost(1000, "from"); Region to = device.allocateHost(1000, "to");
                Region slab = device.allocateSlab(1000, "slab")) {
            Ticket there = device.newTicket();
            Ticket back = device.newTicket();
            fill(from, 42);
            device.copyToDevice(from, 0, slab, 0, 1000, NONE, there);
            device.copyToHost(slab, 0, to, 0, 1000, new Ticket[] {there}, back);
            giveAWrongCopyTime();
            assertThat(back.isDone()).isFalse();
            letCopiesRun();
            device.hostWaits(back);
            assertThat(there.isDone()).isTrue();
            assertPart(to, 0, 1000, 42);
        }
    }

    @Test
    void a_copy_waits_for_its_tickets_as_they_were_recorded_when_it_was_submitted() throws InterruptedException {
        try (Region from = held().allocateHost(1000, "from"); Region to = device.allocateHost(1000, "to");
                Region slab = device.allocateSlab(1000, "slab")) {
            Ticket reused = device.newTicket();
            Ticket back = device.newTicket();
            fill(from, 42);
            device.copyToDevice(from, 0, slab, 0, 1000, NONE, reused);
            device.copyToHost(slab, 0, to, 0, 1000, new Ticket[] {reused}, back);
            device.recordCompute(reused);
            assertThat(reused.isDone()).isTrue();
            giveAWrongCopyTime();
            assertThat(back.isDone()).isFalse();
            letCopiesRun();
            device.hostWaits(back);
            assertPart(to, 0, 1000, 42);
        }
    }

    @Test
    void a_ticket_may_be_among_those_its_own_copy_waits_for() {
        try (Region host = device.allocateHost(8, "host"); Region slab = device.allocateSlab(8, "slab")) {
            Ticket ticket = device.newTicket();
            for (int i = 0; i < 10; i++) {
                device.copyToDevice(host, 0, slab, 0, 8, new Ticket[] {ticket}, ticket);
                device.copyToHost(slab, 0, host, 0, 8, new Ticket[] {ticket}, ticket);
            }
            device.hostWaits(ticket);
            assertThat(ticket.isDone()).isTrue();
        }
    }

    @Test
    void the_directions_do_not_wait_for_each_other_unasked() {
        try (Region host = held().allocateHost(1000, "host"); Region slab = device.allocateSlab(1000, "slab")) {
            Ticket there = device.newTicket();
            Ticket back = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 900, NONE, there);
            device.copyToHost(slab, 900, host, 900, 100, NONE, back);
            device.hostWaits(back);
            assertThat(back.isDone()).isTrue();
            assertThat(there.isDone()).isFalse();
            letCopiesRun();
            device.hostWaits(there);
        }
    }

    @Test
    void a_copy_of_no_bytes_keeps_its_place_in_the_queue() {
        try (Region host = held().allocateHost(1000, "host"); Region slab = device.allocateSlab(1000, "slab")) {
            Ticket empty = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 1000, NONE, device.newTicket());
            device.copyToDevice(host, 1000, slab, 1000, 0, NONE, empty);
            assertThat(empty.isDone()).isFalse();
            letCopiesRun();
            device.hostWaits(empty);
            assertThat(empty.isDone()).isTrue();
        }
    }

    @Test
    void waiting_for_what_is_done_is_not_counted_as_waiting() {
        try (Region host = device.allocateHost(1000, "host"); Region slab = device.allocateSlab(1000, "slab")) {
            Ticket done = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 1000, NONE, done);
            device.hostWaits(done);
            long waited = device.metrics().waitNanos();
            device.hostWaits(done);
            device.computeWaits(done);
            assertThat(device.metrics().waitNanos()).isEqualTo(waited);
        }
    }

    @Test
    void parts_outside_a_region_are_refused_with_offset_length_and_size() {
        try (Region host = device.allocateHost(100, "master"); Region slab = device.allocateSlab(50, "slab")) {
            Ticket done = device.newTicket();
            assertThatThrownBy(() -> device.copyToDevice(host, 90, slab, 0, 11, NONE, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("offset 90, length 11 in region 'master' (expected: a part of its 100 bytes)");
            assertThatThrownBy(() -> device.copyToHost(slab, 40, host, 0, 11, NONE, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("offset 40, length 11 in region 'slab' (expected: a part of its 50 bytes)");
            assertThatThrownBy(() -> device.copyToDevice(host, -1, slab, 0, 1, NONE, done)).isInstanceOf(RefusedException.class);
            assertThatThrownBy(() -> device.copyToDevice(host, 0, slab, 0, -1, NONE, done)).isInstanceOf(RefusedException.class);
            assertThatThrownBy(() -> device.copyToDevice(host, 1, slab, 0, Long.MAX_VALUE, NONE, done))
                    .isInstanceOf(RefusedException.class);
            assertThatThrownBy(() -> device.released(slab, 0, 51)).isInstanceOf(RefusedException.class);
            assertThat(done.isDone()).isTrue();
            assertThat(device.metrics().copies()).isZero();
        }
    }

    @Test
    void regions_of_the_wrong_kind_closed_or_of_another_device_are_refused() {
        try (Device other = open(); Region host = device.allocateHost(100, "master"); Region slab = device.allocateSlab(100, "slab")) {
            Region foreign = other.allocateHost(100, "foreign");
            Region closed = device.allocateHost(100, "gone");
            closed.close();
            Ticket done = device.newTicket();
            assertThatThrownBy(() -> device.copyToDevice(slab, 0, slab, 0, 1, NONE, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("region 'slab' (expected: a host region of this device)");
            assertThatThrownBy(() -> device.copyToDevice(host, 0, host, 0, 1, NONE, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("region 'master' (expected: a slab of this device)");
            assertThatThrownBy(() -> device.copyToDevice(foreign, 0, slab, 0, 1, NONE, done)).isInstanceOf(RefusedException.class);
            assertThatThrownBy(() -> device.copyToDevice(closed, 0, slab, 0, 1, NONE, done)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("region 'gone' is closed");
            foreign.close();
        }
    }

    @Test
    void tickets_of_another_device_are_refused_everywhere() {
        try (Device other = open(); Region host = device.allocateHost(100, "master"); Region slab = device.allocateSlab(100, "slab")) {
            Ticket own = device.newTicket();
            Ticket foreign = other.newTicket();
            Ticket[] after = {foreign};
            String rule = "(expected: a ticket made by this device)";
            assertThatThrownBy(() -> device.copyToDevice(host, 0, slab, 0, 1, NONE, foreign)).hasMessageContaining(rule);
            assertThatThrownBy(() -> device.copyToHost(slab, 0, host, 0, 1, after, own)).hasMessageContaining(rule);
            assertThatThrownBy(() -> device.recordCompute(foreign)).hasMessageContaining(rule);
            assertThatThrownBy(() -> device.computeWaits(foreign)).hasMessageContaining(rule);
            assertThatThrownBy(() -> device.hostWaits(foreign)).isInstanceOf(RefusedException.class).hasMessageContaining(rule);
            assertThat(device.metrics().copies()).isZero();
        }
    }

    @Test
    void a_visit_left_open_ends_when_another_starts() {
        device.visitStarted(0, false, 3, 0);
        device.visitStarted(1, false, 4, 0);
        device.visitEnded();
        device.visitEnded();

        assertThat(device.metrics().directBytes()).isEqualTo(7);
    }

    @Test
    void bytes_read_in_place_are_counted() {
        device.visitStarted(0, false, 5, 0);
        device.visitEnded();
        device.visitStarted(1, true, 7, 0);
        device.visitEnded();
        assertThat(device.metrics().directBytes()).isEqualTo(12);
    }

    @Test
    void a_steady_state_makes_no_tickets_no_regions_and_no_garbage() {
        try (Region host = device.allocateHost(4096, "host"); Region slab = device.allocateSlab(4096, "slab")) {
            Ticket there = device.newTicket();
            Ticket back = device.newTicket();
            Ticket compute = device.newTicket();
            Ticket[] afterThere = {there, compute};
            Ticket[] afterBack = {back};
            Runnable iteration = () -> {
                for (int layer = 0; layer < 4; layer++) {
                    device.copyToDevice(host, layer, slab, 0, 2048, afterBack, there);
                    device.visitStarted(layer, false, 64, 0);
                    device.computeWaits(there);
                    device.visitEnded();
                    device.recordCompute(compute);
                    device.copyToHost(slab, 0, host, layer, 2048, afterThere, back);
                    device.hostWaits(back);
                    device.released(slab, 0, 2048);
                }
            };
            int iterations = 5000;
            repeat(iteration, iterations);
            long tickets = device.metrics().tickets();
            long bytes = allocatedBytes();
            repeat(iteration, iterations);
            // Measuring itself makes some garbage; one object per iteration would be 80,000 bytes at least.
            assertThat(allocatedBytes() - bytes).isLessThan(iterations * 8L);
            assertThat(device.metrics().tickets()).isEqualTo(tickets);
            assertThat(device.metrics().openRegions()).isEqualTo(2);
            assertThat(device.metrics().copies()).isEqualTo(2L * 4 * 2 * iterations);
        }
    }

    private static void repeat(Runnable iteration, int times) {
        for (int i = 0; i < times; i++) {
            iteration.run();
        }
    }

    /** Heap bytes ever allocated by this thread and the copy threads. */
    private static long allocatedBytes() {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        List<Thread> counted = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread == Thread.currentThread() || thread.getName().startsWith("memferry copies"))
                .collect(Collectors.toList());
        return counted.stream().mapToLong(thread -> threads.getThreadAllocatedBytes(thread.getId())).sum();
    }

    /** Swaps the device under test for one whose copies are held. */
    private Device held() {
        device.close();
        device = openHeld();
        return device;
    }

    /** A copy that wrongly does not wait would run now; waiting longer can only find more. */
    private void giveAWrongCopyTime() throws InterruptedException {
        if (hasRealMemory()) {
            Thread.sleep(30);
        }
    }

    private void fill(Region region, int value) {
        if (hasRealMemory()) {
            RegionBytes.fill(region, value);
        }
    }

    /** Asserts that a part, and only that part, of a region that was all zero has a value. */
    private void assertPart(Region region, int offset, int length, int value) {
        if (!hasRealMemory()) {
            return;
        }
        byte[] expected = new byte[Math.toIntExact(region.bytes())];
        Arrays.fill(expected, offset, offset + length, (byte) value);
        assertThat(RegionBytes.read(region)).isEqualTo(expected);
    }
}
