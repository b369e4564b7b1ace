package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.device.Region;
import org.memferry.plan.Profile;
import org.nd4j.linalg.api.buffer.DataType;

import java.util.Arrays;

/**
 * Measures a device's link before anything of value lies in the regions' device memory: the rates of copies with nothing beside them, and what
 * a copy loses to the computation that uses host memory in place beside it, over the time that as many bytes take as a copy: the simulator's
 * measure of what reads and writes in place take of the link.
 *
 * <p>Every direction is measured by itself, in some rounds, with as many bytes as a copy needs to last for {@value #COPY_NANOS} ns, within what
 * there is of parameters and slab, and no more than {@value #MOST_BYTES}. The shortest copies count, alone and beside: what other programs take
 * would pass for the link's. What was copied and used counts nowhere in the device's metrics.
 */
final class LinkProbe {

    private static final long MOST_BYTES = 8 << 20;
    private static final long FIRST_BYTES = 16 << 10;
    /** A copy that is long enough: most of it is not its beginning. */
    private static final long COPY_NANOS = 4_000_000;
    private static final int ROUNDS = 5;
    private static final int GROWTH = 4;
    /** What more bytes must take of the time that they would take in proportion, for a copy to be long by its bytes and not by its beginning. */
    private static final double SCALING = 0.6;
    /** Copies of less, if they are not long by their bytes, say more of how long a copy takes to begin than of the link's rate. */
    private static final long TELLING_BYTES = 1 << 20;
    /** What is used in place is this part of a copy's bytes, so that the copy outlasts it. */
    private static final int USED_PART = 2;
    /** What is used in place must be this part at least: less is lost in what it takes to begin. */
    private static final int LEAST_PART = 16;
    /** Rates that differ by no more are those of one link. */
    private static final double NEAR = 1.5;
    /** One link for both, where nothing was measured. */
    private static final double ONE_LINK = 1;
    /** Who shares a link with a copy cannot take much more of it than its own time: the rest is what other programs took. */
    private static final double MOST_SHARE = 2;

    private final Way toDevice;
    private final Way toHost;

    private LinkProbe(Way toDevice, Way toHost) {
        this.toDevice = toDevice;
        this.toHost = toHost;
    }

    /**
     * Copies a part of the parameters to the device and back, alone and beside a computation.
     *
     * @param master  parameters, which are not changed
     * @param slab    device memory, whose content is lost
     * @param type    of the parameters
     * @param inPlace whether host memory can be used in place; if not, or where a network is too small to tell, copies are said to share one
     *                link with what is
     */
    static LinkProbe measure(Device device, Region master, Region slab, DataType type, boolean inPlace) {
        return measure(device, master, slab, type, inPlace, COPY_NANOS, ROUNDS);
    }

    /** As above; for a test that needs to be surer. */
    static LinkProbe measure(Device device, Region master, Region slab, DataType type, boolean inPlace, long copyNanos, int rounds) {
        long most = Math.min(MOST_BYTES, Math.min(master.bytes(), slab.bytes()));
        DeviceMetrics.Traffic before = device.metrics().traffic();
        // A copy to the host and a write in place beside it do not meet.
        try (Region scratch = device.allocateHost(most + most / USED_PART, "link probe")) {
            boolean canWrite = inPlace && device.canUseInPlace(scratch);
            return new LinkProbe(
                    Way.measure(new LinkTraffic(device, Direction.TO_DEVICE, master, slab, type), most, inPlace, copyNanos, rounds),
                    Way.measure(new LinkTraffic(device, Direction.TO_HOST, scratch, slab, type), most, canWrite, copyNanos, rounds));
        } finally {
            device.metrics().forgetSince(before);
        }
    }

    /** Whether a profile with these rates can be of this link; where too little could be copied to tell, it can. */
    boolean isLinkOf(Profile profile) {
        return toDevice.canBe(profile.bytesPerSecondToDevice()) && toHost.canBe(profile.bytesPerSecondToHost());
    }

    double bytesPerSecondToDevice() {
        return toDevice.bytesPerSecond;
    }

    double bytesPerSecondToHost() {
        return toHost.bytesPerSecond;
    }

    /** See {@link Profile#readShare()}. */
    double readShare() {
        return toDevice.share;
    }

    /** See {@link Profile#writeShare()}. */
    double writeShare() {
        return toHost.share;
    }

    /** What was measured in one direction. */
    private static final class Way {

        private final boolean telling;
        private final double bytesPerSecond;
        private final double share;

        private Way(boolean telling, double bytesPerSecond, double share) {
            this.telling = telling;
            this.bytesPerSecond = bytesPerSecond;
            this.share = share;
        }

        static Way measure(LinkTraffic traffic, long most, boolean inPlace, long copyNanos, int rounds) {
            long bytes = Math.min(FIRST_BYTES, most);
            long nanos = shortestCopy(traffic, bytes);
            boolean scales = false;
            while (bytes < most && !scales) {
                long more = Math.min(most, GROWTH * bytes);
                long longer = shortestCopy(traffic, more);
                scales = longer >= copyNanos && longer >= nanos * (1 + SCALING * ((double) more / bytes - 1));
                // Either is long enough: as many bytes as take the time, if they take it in proportion.
                bytes = scales ? Math.max(bytes, (long) (more * Math.min(1, (double) copyNanos / longer))) : more;
                nanos = longer;
            }
            boolean telling = scales || bytes >= TELLING_BYTES;
            long used = telling && inPlace ? usedBeside(traffic, bytes) : 0;
            long alone = Long.MAX_VALUE;
            long beside = Long.MAX_VALUE;
            int told = 0;
            for (int i = 0; i < rounds; i++) {
                alone = Math.min(alone, traffic.copy(bytes));
                long copied = used == 0 ? LinkTraffic.NOT_TELLING : traffic.copyBesideUse(bytes, used);
                if (copied != LinkTraffic.NOT_TELLING) {
                    beside = Math.min(beside, copied);
                    told++;
                }
            }
            alone = Math.max(1, alone);
            return new Way(telling, bytes / (alone / 1e9), told > rounds / 2 ? share(beside - alone, alone * ((double) used / bytes)) : ONE_LINK);
        }

        private static long shortestCopy(LinkTraffic traffic, long bytes) {
            return Math.min(traffic.copy(bytes), Math.min(traffic.copy(bytes), traffic.copy(bytes)));
        }

        /** How many bytes are used in place while a copy of some bytes and time goes on; 0 if so few that they would not tell. */
        private static long usedBeside(LinkTraffic traffic, long bytes) {
            long copyNanos = shortestCopy(traffic, bytes);
            long used = traffic.aligned(bytes / USED_PART);
            long alone = Math.min(traffic.use(used), Math.min(traffic.use(used), traffic.use(used)));
            double fits = (double) copyNanos / USED_PART / Math.max(1, alone);
            long fitting = fits < 1 ? traffic.aligned((long) (used * fits)) : used;
            return fitting < bytes / LEAST_PART ? 0 : fitting;
        }

        private static double share(long lost, double linkNanos) {
            return Math.min(MOST_SHARE, Math.max(0, lost / linkNanos));
        }

        boolean canBe(double other) {
            return !telling || other < NEAR * bytesPerSecond && bytesPerSecond < NEAR * other;
        }
    }
}
