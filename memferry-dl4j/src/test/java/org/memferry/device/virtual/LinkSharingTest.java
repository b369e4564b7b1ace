package org.memferry.device.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;

import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.memferry.device.Direction;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;

/** What copies lose to reads and writes in place beside them. A byte takes 1 ns to the device and 2 ns to the host. */
class LinkSharingTest {

    private static final long MANY = 1L << 40;
    private static final Ticket[] NONE = {};

    private static VirtualDevice device(double reads, double writes) {
        return new VirtualDevice(MANY, LinkRates.of(1e9, 5e8).shares(reads, writes), (layer, backward) -> 0);
    }

    private static double share(Random random) {
        return random.nextInt(3) == 0 ? random.nextInt(4) / 2.0 : 2.5 * random.nextDouble() * random.nextDouble();
    }

    @Property(tries = 2000, shrinking = ShrinkingMode.OFF)
    @Label("a copy beside a read in place ends later by the share of what the read takes of the link, to the nanosecond, whatever else happens")
    void a_copy_loses_the_share_of_every_read_beside_it(@ForAll long seed) {
        Random random = new Random(seed);
        double share = share(random);
        try (VirtualDevice device = device(share, share(random)); Region host = device.allocateHost(MANY, "host");
                Region slab = device.allocateSlab(MANY, "slab")) {
            int reads = 1 + random.nextInt(3);
            long[] read = new long[reads];
            long[] before = new long[reads];
            long lost = 0;
            long around = 0;
            for (int i = 0; i < reads; i++) {
                read[i] = random.nextInt(5) == 0 ? random.nextInt(4) : random.nextInt(1_000_000);
                before[i] = random.nextInt(1000);
                lost += Math.round(share * read[i]);
                around += read[i] + before[i];
            }
            // Long enough to be under way beside all reads.
            long copy = around + 1 + random.nextInt(1_000_000);
            Ticket done = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, copy, NONE, done);
            for (int i = 0; i < reads; i++) {
                device.hostBusy(before[i]);
                device.visitStarted(0, false, read[i], 0);
                // What happens on the way cuts the time into pieces, which must not be rounded one by one.
                for (int j = random.nextInt(4); j > 0; j--) {
                    device.copyToHost(slab, 0, host, 0, random.nextInt(300_000), NONE, device.newTicket());
                    device.update(0, random.nextInt(300_000), device.newTicket(), layer -> { });
                }
                device.visitEnded();
            }
            assertThat(device.nowNanos()).as("reads last as long as ever, seed %d", seed).isEqualTo(around);
            device.hostWaits(done);
            assertThat(device.nowNanos()).as("share %s, seed %d", share, seed).isEqualTo(copy + lost);
        }
    }

    @Property(tries = 1000, shrinking = ShrinkingMode.OFF)
    @Label("a write in place does the same to copies to the host, and nothing to those to the device")
    void writes_are_the_other_direction(@ForAll long seed) {
        Random random = new Random(seed);
        double share = share(random);
        long written = random.nextInt(1_000_000);
        try (VirtualDevice device = device(share(random), share); Region host = device.allocateHost(MANY, "host");
                Region slab = device.allocateSlab(MANY, "slab")) {
            Ticket there = device.newTicket();
            Ticket back = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 3 * written, NONE, there);
            device.copyToHost(slab, 0, host, 0, 2 * written, NONE, back);
            device.visitStarted(0, true, 0, written);
            device.visitEnded();
            device.hostWaits(there);
            assertThat(device.nowNanos()).isEqualTo(3 * written);
            device.hostWaits(back);
            assertThat(device.nowNanos()).as("share %s, seed %d", share, seed).isEqualTo(Math.max(3 * written, 4 * written + Math.round(share * 2 * written)));
        }
    }

    @Property(tries = 1000, shrinking = ShrinkingMode.OFF)
    @Label("a copy that ends beside a read has moved by all but the share of the time, and not a nanosecond more")
    void a_copy_may_end_beside_the_read(@ForAll long seed) {
        Random random = new Random(seed);
        double share = 0.99 * random.nextDouble();
        long from = random.nextInt(100);
        long copy = 1 + random.nextInt(2000);
        try (VirtualDevice device = device(share, 1); Region host = device.allocateHost(MANY, "host"); Region slab = device.allocateSlab(MANY, "slab")) {
            Ticket done = device.newTicket();
            device.visitStarted(0, false, 1_000_000, 0);
            device.hostBusy(from);
            device.copyToDevice(host, 0, slab, 0, copy, NONE, done);
            if (random.nextBoolean()) {
                // Cuts the way in two.
                device.hostBusy(random.nextInt(2000));
            }
            long cut = device.nowNanos();
            device.hostWaits(done);
            long end = from;
            while (end - from - (Math.round(share * end) - Math.round(share * from)) < copy) {
                end++;
            }
            assertThat(device.nowNanos()).as("share %s from %d, seed %d", share, from, seed).isEqualTo(Math.max(cut, end));
        }
    }

    @Test
    void a_copy_that_moves_beside_a_read_slows_the_computation_by_the_part_of_its_pace() {
        VisitCosts costs = new VisitCosts() {
            @Override
            public long nanos(int layer, boolean backward) {
                return 100;
            }

            @Override
            public double copySlowdown() {
                return 0.5;
            }
        };
        try (VirtualDevice device = new VirtualDevice(MANY, LinkRates.of(1e9, 1e9).shares(0.6, 1), costs); Region host = device.allocateHost(MANY, "host");
                Region slab = device.allocateSlab(MANY, "slab")) {
            device.copyToDevice(host, 0, slab, 0, 1000, NONE, device.newTicket());
            device.visitStarted(0, false, 60, 0);
            device.visitEnded();
            // 60 ns beside a copy at 0.4 of its pace do the work of 50; the other 50 take 75 beside one at its pace.
            assertThat(device.nowNanos()).isEqualTo(135);
            assertThat(device.pending(Direction.TO_DEVICE)).as("of 1000: 24 beside the read, 75 behind it").containsExactly(0, 901);
        }
    }

    /** There was nothing to lose. */
    @Test
    void a_copy_submitted_behind_a_read_loses_nothing_to_it_even_where_reads_cost_more_than_they_take() {
        try (VirtualDevice device = device(2, 2); Region host = device.allocateHost(MANY, "host"); Region slab = device.allocateSlab(MANY, "slab")) {
            device.visitStarted(0, false, 500, 0);
            device.visitEnded();
            Ticket done = device.newTicket();
            device.copyToDevice(host, 0, slab, 0, 100, NONE, done);
            device.hostWaits(done);
            assertThat(device.nowNanos()).isEqualTo(600);
        }
    }
}
