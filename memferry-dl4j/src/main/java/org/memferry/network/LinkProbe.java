package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.plan.Profile;

import java.util.Arrays;

/** Measures the rates of a device's link by timed copies, before anything of value lies in the regions' device memory. */
final class LinkProbe {

    private static final long BYTES = 8 << 20;
    private static final int COPIES = 5;
    /** Copies of less say more of how long a copy takes to begin than of the link's rate. */
    private static final long TELLING_BYTES = 1 << 20;
    /** Rates that differ by no more are those of one link. */
    private static final double NEAR = 1.5;

    private final long bytes;
    private final double bytesPerSecondToDevice;
    private final double bytesPerSecondToHost;

    private LinkProbe(long bytes, double toDevice, double toHost) {
        this.bytes = bytes;
        this.bytesPerSecondToDevice = toDevice;
        this.bytesPerSecondToHost = toHost;
    }

    /**
     * Copies a part of the parameters to the device and back, some times; the median counts.
     *
     * @param master parameters, which are not changed
     * @param slab   device memory, whose content is lost
     */
    static LinkProbe measure(Device device, Region master, Region slab) {
        long bytes = Math.min(BYTES, Math.min(master.bytes(), slab.bytes()));
        Ticket done = device.newTicket();
        Ticket[] nothing = {};
        double[] toDevice = new double[COPIES];
        double[] toHost = new double[COPIES];
        try (Region scratch = device.allocateHost(bytes, "link probe")) {
            for (int i = 0; i < COPIES; i++) {
                long start = System.nanoTime();
                device.copyToDevice(master, 0, slab, 0, bytes, nothing, done);
                device.hostWaits(done);
                long half = System.nanoTime();
                device.copyToHost(slab, 0, scratch, 0, bytes, nothing, done);
                device.hostWaits(done);
                toDevice[i] = bytes / ((half - start) / 1e9);
                toHost[i] = bytes / ((System.nanoTime() - half) / 1e9);
            }
        }
        return new LinkProbe(bytes, median(toDevice), median(toHost));
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    /** Whether a profile with these rates can be of this link; where too little could be copied to tell, it can. */
    boolean isLinkOf(Profile profile) {
        return bytes < TELLING_BYTES || isNear(profile.bytesPerSecondToDevice(), bytesPerSecondToDevice)
                && isNear(profile.bytesPerSecondToHost(), bytesPerSecondToHost);
    }

    private static boolean isNear(double a, double b) {
        return a < NEAR * b && b < NEAR * a;
    }

    double bytesPerSecondToDevice() {
        return bytesPerSecondToDevice;
    }

    double bytesPerSecondToHost() {
        return bytesPerSecondToHost;
    }
}
