package org.memferry.device.emulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.Test;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.memferry.device.CopyingDeviceContractTest;
import org.memferry.device.Device;
import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.device.Ticket;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.Profile;
import org.slf4j.LoggerFactory;

/** Times are asserted from below only: how much later a sleeping thread wakes up is the machine's business. */
class EmulatedDeviceTest extends CopyingDeviceContractTest {

    private static final Ticket[] NONE = {};
    private static final double MB_PER_SECOND = 1 << 20;
    private static final long MILLI = 1_000_000;

    private final CountDownLatch held = new CountDownLatch(1);

    @Override
    protected Device open() {
        return EmulatedDevice.builder(BUDGET).build();
    }

    @Override
    protected Device openHeld() {
        return EmulatedDevice.builder(BUDGET)
                .copiers(direction -> direction == Direction.TO_DEVICE ? heldCopier() : Copier.memcpy()).build();
    }

    private Copier heldCopier() {
        Copier memcpy = Copier.memcpy();
        return (from, to, bytes) -> {
            try {
                // A failed test does not let go: then this ends the wait of the region's close.
                assertThat(held.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            memcpy.copy(from, to, bytes);
        };
    }

    @Override
    protected void letCopiesRun() {
        held.countDown();
    }

    private static Device withRates(double megabytesToDevice, double megabytesToHost) {
        return EmulatedDevice.builder(BUDGET)
                .linkRates(LinkRates.of(megabytesToDevice * MB_PER_SECOND, megabytesToHost * MB_PER_SECOND)).build();
    }

    @Test
    void each_direction_serves_at_most_its_rate() {
        try (Device slow = withRates(10, 20);
                Region host = slow.allocateHost(1 << 19, "host"); Region slab = slow.allocateSlab(1 << 19, "slab")) {
            assertThat(nanosOfFourCopies(slow, host, slab, Direction.TO_DEVICE)).isGreaterThanOrEqualTo(50 * MILLI);
            assertThat(nanosOfFourCopies(slow, host, slab, Direction.TO_HOST)).isGreaterThanOrEqualTo(25 * MILLI);
            assertThat(slow.metrics().waitNanos()).isGreaterThanOrEqualTo(60 * MILLI);
        }
    }

    /** Four copies of 128 KB each. */
    private static long nanosOfFourCopies(Device slow, Region host, Region slab, Direction direction) {
        Ticket done = slow.newTicket();
        long start = System.nanoTime();
        for (int i = 0; i < 4; i++) {
            long offset = i * (1L << 17);
            if (direction == Direction.TO_DEVICE) {
                slow.copyToDevice(host, offset, slab, offset, 1 << 17, NONE, done);
            } else {
                slow.copyToHost(slab, offset, host, offset, 1 << 17, NONE, done);
            }
        }
        slow.hostWaits(done);
        return System.nanoTime() - start;
    }

    @Test
    void a_visit_lasts_at_least_as_long_as_its_bytes_cross_the_link() {
        try (Device slow = withRates(10, 1000)) {
            long start = System.nanoTime();
            slow.visitStarted(0, false, 1 << 18, 0);
            slow.visitEnded();
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(25 * MILLI);
        }
    }

    @Test
    void a_copy_to_the_device_is_late_by_the_bytes_read_in_place_beside_it() {
        try (Device slow = withRates(10, 1000);
                Region host = slow.allocateHost(1 << 18, "host"); Region slab = slow.allocateSlab(1 << 18, "slab")) {
            Ticket done = slow.newTicket();
            long start = System.nanoTime();
            slow.visitStarted(0, false, 1 << 18, 0);
            slow.copyToDevice(host, 0, slab, 0, 1 << 18, NONE, done);
            slow.hostWaits(done);
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(50 * MILLI);
            slow.visitEnded();
        }
    }

    @Test
    void a_copy_under_way_is_late_by_the_bytes_read_in_place_that_came_after_it() throws InterruptedException {
        CountDownLatch underWay = new CountDownLatch(1);
        LinkRates rates = LinkRates.of(5 * MB_PER_SECOND, Double.POSITIVE_INFINITY);
        try (Device slow = EmulatedDevice.builder(BUDGET).linkRates(rates)
                .copiers(direction -> (from, to, bytes) -> underWay.countDown()).build();
                Region host = slow.allocateHost(1 << 18, "host"); Region slab = slow.allocateSlab(1 << 18, "slab")) {
            Ticket done = slow.newTicket();
            long start = System.nanoTime();
            slow.copyToDevice(host, 0, slab, 0, 1 << 18, NONE, done);
            underWay.await();
            slow.visitStarted(0, false, 1 << 18, 0);
            slow.hostWaits(done);
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(100 * MILLI);
            slow.visitEnded();
        }
    }

    @Test
    void compute_dilation_pads_a_visit_to_a_multiple_of_its_time() {
        try (Device dilated = EmulatedDevice.builder(BUDGET).computeDilation(4).build()) {
            long start = System.nanoTime();
            dilated.visitStarted(0, false, 0, 0);
            compute(10 * MILLI);
            long computed = dilated.visitEnded();
            assertThat(computed).isGreaterThanOrEqualTo(40 * MILLI);
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(computed);
        }
    }

    private static void compute(long cpuNanos) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + cpuNanos;
        while (threads.getCurrentThreadCpuTime() < end) {
            Thread.onSpinWait();
        }
    }

    @Test
    void compute_dilation_does_not_stretch_the_time_without_a_processor() throws InterruptedException {
        try (Device dilated = EmulatedDevice.builder(BUDGET).computeDilation(100).build()) {
            dilated.visitStarted(0, false, 0, 0);
            Thread.sleep(100);
            // 10 s if it were stretched.
            assertThat(dilated.visitEnded()).isBetween(100 * MILLI, 5_000 * MILLI);
        }
    }

    @Test
    void with_a_pace_a_visit_lasts_as_long_as_the_profile_says_in_each_pass_of_each_iteration() {
        try (Device paced = EmulatedDevice.builder(BUDGET).pace(profile(20 * MILLI, 30 * MILLI)).build()) {
            for (int iteration = 0; iteration < 2; iteration++) {
                assertThat(visit(paced, false)).isEqualTo(20 * MILLI);
                assertThat(visit(paced, true)).isEqualTo(30 * MILLI);
                // The layer is read again in the same pass, as an output layer is for the score.
                assertThat(visit(paced, true)).isLessThan(30 * MILLI);
            }
        }
    }

    @Test
    void with_a_pace_a_visit_that_takes_longer_is_left_as_it_is() {
        try (Device paced = EmulatedDevice.builder(BUDGET).pace(profile(MILLI, MILLI)).build()) {
            paced.visitStarted(0, false, 0, 0);
            compute(20 * MILLI);
            assertThat(paced.visitEnded()).isGreaterThanOrEqualTo(20 * MILLI);
        }
    }

    @Test
    void a_pace_of_another_network_is_refused_in_its_first_layer_too_many() {
        try (Device paced = EmulatedDevice.builder(BUDGET).pace(profile(MILLI, MILLI)).build()) {
            paced.visitStarted(1, false, 0, 0);
            assertThatThrownBy(paced::visitEnded).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("a profile of 1 layers, and layer 1 computes");
        }
    }

    private static Profile profile(long forwardNanos, long backwardNanos) {
        return Profile.builder("key", List.of(LayerProfile.builder(forwardNanos, backwardNanos).build())).build();
    }

    private static long visit(Device device, boolean backward) {
        device.visitStarted(0, backward, 0, 0);
        return device.visitEnded();
    }

    @Test
    void compute_dilation_does_not_stretch_the_wait_for_a_copy() {
        try (Device slow = EmulatedDevice.builder(BUDGET).computeDilation(20).linkRates(LinkRates.of(MB_PER_SECOND, MB_PER_SECOND)).build();
                Region host = slow.allocateHost(1 << 18, "host"); Region slab = slow.allocateSlab(1 << 18, "slab")) {
            Ticket done = slow.newTicket();
            long start = System.nanoTime();
            slow.visitStarted(0, false, 0, 0);
            slow.copyToDevice(host, 0, slab, 0, 1 << 18, NONE, done);
            slow.computeWaits(done);
            slow.visitEnded();
            // 250 ms of waiting; 5 s if they were stretched.
            assertThat(System.nanoTime() - start).isBetween(250 * MILLI, 20 * 250 * MILLI);
        }
    }

    @Test
    void with_poison_a_fresh_slab_and_a_released_part_read_as_nan_and_the_rest_stays() {
        try (Device poisoned = EmulatedDevice.builder(BUDGET).poison().build(); Region slab = poisoned.allocateSlab(64, "slab")) {
            assertThat(RegionBytes.of(slab).getFloat(0)).isNaN();
            assertThat(RegionBytes.of(slab).getDouble(56)).isNaN();
            RegionBytes.fill(slab, 1);
            poisoned.released(slab, 16, 8);
            byte[] expected = new byte[64];
            Arrays.fill(expected, (byte) 1);
            Arrays.fill(expected, 16, 24, (byte) 0xFF);
            assertThat(RegionBytes.read(slab)).isEqualTo(expected);
            assertThat(RegionBytes.of(slab).getDouble(16)).isNaN();
        }
    }

    @Test
    void without_poison_a_released_part_stays_as_it_is() {
        try (Region slab = device.allocateSlab(64, "slab")) {
            RegionBytes.fill(slab, 1);
            device.released(slab, 16, 8);
            assertThat(RegionBytes.read(slab)).containsOnly(1);
        }
    }

    @Test
    void random_delays_do_not_change_what_500_chained_copies_move() {
        int steps = 500;
        Random random = new Random(11);
        try (Device delayed = EmulatedDevice.builder(BUDGET).randomDelays(7, 200).poison().build();
                Region from = delayed.allocateHost(steps, "from"); Region to = delayed.allocateHost(steps, "to");
                Region slab = delayed.allocateSlab(2, "two slots")) {
            byte[] data = new byte[steps];
            random.nextBytes(data);
            RegionBytes.of(from).put(data);
            Ticket[] there = {delayed.newTicket(), delayed.newTicket()};
            Ticket[] back = {delayed.newTicket(), delayed.newTicket()};
            for (int i = 0; i < steps; i++) {
                int slot = i % 2;
                delayed.copyToDevice(from, i, slab, slot, 1, new Ticket[] {back[slot]}, there[slot]);
                delayed.copyToHost(slab, slot, to, i, 1, new Ticket[] {there[slot]}, back[slot]);
            }
            delayed.hostWaits(back[0]);
            delayed.hostWaits(back[1]);
            assertThat(RegionBytes.read(to)).isEqualTo(data);
        }
    }

    @Test
    void random_delays_hold_copies_back_that_would_otherwise_be_instant() {
        try (Device delayed = EmulatedDevice.builder(BUDGET).randomDelays(7, 2000).build();
                Region host = delayed.allocateHost(1, "host"); Region slab = delayed.allocateSlab(1, "slab")) {
            Ticket done = delayed.newTicket();
            long start = System.nanoTime();
            for (int i = 0; i < 50; i++) {
                delayed.copyToDevice(host, 0, slab, 0, 1, NONE, done);
            }
            delayed.hostWaits(done);
            // 50 delays of 1 ms in the mean.
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(25 * MILLI);
        }
    }

    @Test
    void a_failed_copy_is_thrown_by_every_wait_with_the_first_cause_and_later_copies_are_dropped() {
        AtomicInteger copies = new AtomicInteger();
        try (Device failing = EmulatedDevice.builder(BUDGET).copiers(direction -> failingAtThird(copies)).build();
                Region host = failing.allocateHost(100, "host"); Region slab = failing.allocateSlab(100, "slab")) {
            Ticket[] done = {failing.newTicket(), failing.newTicket(), failing.newTicket(), failing.newTicket()};
            for (Ticket ticket : done) {
                failing.copyToDevice(host, 0, slab, 0, 100, NONE, ticket);
            }
            Ticket back = failing.newTicket();
            failing.copyToHost(slab, 0, host, 0, 100, new Ticket[] {done[3]}, back);
            assertThatThrownBy(() -> failing.hostWaits(back)).isInstanceOf(MemFerryException.class)
                    .hasMessageContaining("a copy failed").hasMessageContaining("copy 3 broke").hasRootCauseMessage("copy 3 broke");
            assertThatThrownBy(() -> failing.computeWaits(done[3])).isInstanceOf(MemFerryException.class)
                    .hasRootCauseMessage("copy 3 broke");
            assertThat(copies).hasValue(3);
        }
    }

    @Test
    void a_failure_that_nobody_waited_for_is_logged_at_close_and_one_that_was_thrown_is_not() {
        Logger logger = (Logger) LoggerFactory.getLogger(Failure.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        copyAndClose(true);
        assertThat(log.list).isEmpty();
        copyAndClose(false);
        logger.detachAppender(log);
        assertThat(log.list).hasSize(1);
        assertThat(log.list.get(0).getFormattedMessage()).contains("emulated 977 KB", "a copy failed that nobody waited for");
        assertThat(log.list.get(0).getThrowableProxy().getMessage()).isEqualTo("copy 3 broke");
    }

    private static void copyAndClose(boolean wait) {
        AtomicInteger copies = new AtomicInteger(2);
        try (Device failing = EmulatedDevice.builder(BUDGET).copiers(direction -> failingAtThird(copies)).build();
                Region host = failing.allocateHost(100, "host"); Region slab = failing.allocateSlab(100, "slab")) {
            Ticket done = failing.newTicket();
            failing.copyToDevice(host, 0, slab, 0, 100, NONE, done);
            if (wait) {
                assertThatThrownBy(() -> failing.hostWaits(done)).isInstanceOf(MemFerryException.class);
            }
        }
    }

    private static Copier failingAtThird(AtomicInteger copies) {
        return (from, to, bytes) -> {
            int copy = copies.incrementAndGet();
            if (copy >= 3) {
                throw new IllegalStateException("copy " + copy + " broke");
            }
        };
    }

    @Test
    void closing_a_region_waits_for_the_copies_under_way() throws InterruptedException {
        try (Device slow = openHeld(); Region slab = slow.allocateSlab(100, "slab")) {
            Region host = slow.allocateHost(100, "host");
            Ticket done = slow.newTicket();
            slow.copyToDevice(host, 0, slab, 0, 100, NONE, done);
            Thread closer = new Thread(host::close);
            closer.start();
            closer.join(30);
            assertThat(closer.isAlive()).isTrue();
            letCopiesRun();
            closer.join();
            assertThat(done.isDone()).isTrue();
            assertThat(slow.metrics().hostBytes()).isZero();
        }
    }

    @Test
    void close_waits_for_all_copies_and_ends_both_threads() {
        AtomicInteger copies = new AtomicInteger();
        Device counted = EmulatedDevice.builder(BUDGET).randomDelays(1, 2000)
                .copiers(direction -> (from, to, bytes) -> copies.incrementAndGet()).build();
        Region host = counted.allocateHost(100, "host");
        Region slab = counted.allocateSlab(100, "slab");
        for (int i = 0; i < 20; i++) {
            counted.copyToDevice(host, 0, slab, 0, 100, NONE, counted.newTicket());
            counted.copyToHost(slab, 0, host, 0, 100, NONE, counted.newTicket());
        }
        long threads = copyThreads();
        counted.close();
        assertThat(copies).hasValue(40);
        assertThat(copyThreads()).isEqualTo(threads - 2);
        assertThat(counted.metrics().leakedRegions()).isEqualTo(2);
    }

    private static long copyThreads() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("memferry copies")).count();
    }

    @Test
    void an_interrupt_while_waiting_neither_cuts_the_wait_short_nor_gets_lost() {
        try (Device slow = withRates(10, 10);
                Region host = slow.allocateHost(1 << 18, "host"); Region slab = slow.allocateSlab(1 << 18, "slab")) {
            Ticket done = slow.newTicket();
            slow.copyToDevice(host, 0, slab, 0, 1 << 18, NONE, done);
            Thread.currentThread().interrupt();
            slow.hostWaits(done);
            boolean interrupted = Thread.interrupted();
            assertThat(done.isDone()).isTrue();
            assertThat(interrupted).isTrue();
        }
    }

    @Test
    void an_interrupt_within_a_visit_neither_cuts_it_short_nor_gets_lost() {
        try (Device slow = withRates(10, 10)) {
            long start = System.nanoTime();
            slow.visitStarted(0, false, 1 << 18, 0);
            Thread.currentThread().interrupt();
            slow.visitEnded();
            boolean interrupted = Thread.interrupted();
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(25 * MILLI);
            assertThat(interrupted).isTrue();
        }
    }

    @Test
    void a_region_forgotten_after_its_copy_is_given_back_while_the_device_is_open() throws InterruptedException {
        try (Region slab = device.allocateSlab(100, "slab")) {
            copyFromForgottenRegion(slab);
            for (int i = 0; i < 200 && device.metrics().hostBytes() > 0; i++) {
                System.gc();
                Thread.sleep(10);
            }
            assertThat(device.metrics().hostBytes()).isZero();
            assertThat(device.metrics().openRegions()).isEqualTo(1);
        }
    }

    private void copyFromForgottenRegion(Region slab) {
        Ticket done = device.newTicket();
        device.copyToDevice(device.allocateHost(100, "forgotten on purpose"), 0, slab, 0, 100, NONE, done);
        device.hostWaits(done);
    }

    @Test
    void settings_out_of_range_are_refused_by_name() {
        assertThatThrownBy(() -> EmulatedDevice.builder(0).build()).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("emulated device memory: 0 (expected: more than 0 bytes,");
        assertThatThrownBy(() -> EmulatedDevice.builder(1).computeDilation(0.5).build()).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("compute dilation: 0.5 (expected: a number of at least 1");
        assertThatThrownBy(() -> EmulatedDevice.builder(BUDGET).computeDilation(2).pace(profile(1, 1)).build())
                .isInstanceOf(RefusedException.class).hasMessageStartingWith("compute dilation 2.0 with a pace (expected: one of them");
        assertThatThrownBy(() -> EmulatedDevice.builder(1).computeDilation(Double.NaN).build()).isInstanceOf(RefusedException.class);
        assertThatThrownBy(() -> EmulatedDevice.builder(1).randomDelays(1, 0)).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("longest random delay: 0 (expected: at least 1 microsecond");
        assertThatThrownBy(() -> LinkRates.of(0, 1)).isInstanceOf(RefusedException.class)
                .hasMessageStartingWith("link rate to the device: 0.0 (expected: bytes per second, more than 0");
        assertThatThrownBy(() -> LinkRates.of(1, Double.NaN)).isInstanceOf(RefusedException.class).hasMessageContaining("to the host");
    }

    @Test
    void its_name_says_what_it_is() {
        try (Device named = EmulatedDevice.builder(512L << 20).build()) {
            assertThat(named.name()).isEqualTo("emulated 512 MB");
        }
    }
}
