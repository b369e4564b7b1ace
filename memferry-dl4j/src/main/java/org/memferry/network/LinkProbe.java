package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.Ticket;

import java.util.Arrays;

/** Measures the rates of a device's link by timed copies, before anything of value lies in the regions' device memory. */
final class LinkProbe {

    private static final long BYTES = 8 << 20;
    private static final int COPIES = 5;

    private final double bytesPerSecondToDevice;
    private final double bytesPerSecondToHost;

    private LinkProbe(double toDevice, double toHost) {
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
        return new LinkProbe(median(toDevice), median(toHost));
    }

    private static double median(double[] values) {
        Arrays.sort(values);
        return values[values.length / 2];
    }

    double bytesPerSecondToDevice() {
        return bytesPerSecondToDevice;
    }

    double bytesPerSecondToHost() {
        return bytesPerSecondToHost;
    }
}
