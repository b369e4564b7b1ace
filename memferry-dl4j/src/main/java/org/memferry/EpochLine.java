package org.memferry;

import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.Direction;
import org.memferry.network.Ferry;

import java.util.Locale;

/**
 * Where the time of some iterations went, in one line. The times of copies and of steps on the CPU lie beside computation, except for what
 * was waited for. Waiting for steps is no part of the time that these took: who waits for a step waits for the gradient before it, too.
 */
final class EpochLine {

    private static final double MILLIS = 1e6;
    private static final double GB = 1L << 30;

    private final Ferry ferry;
    private final MemFerryMetrics metrics;
    private Counts before;

    /** Counts from now on. */
    EpochLine(Ferry ferry) {
        this.ferry = ferry;
        this.metrics = new MemFerryMetrics(ferry);
        this.before = new Counts(metrics);
    }

    /** What happened since the last call. */
    String next() {
        Counts now = new Counts(metrics);
        Counts last = before;
        before = now;
        StringBuilder line = new StringBuilder();
        add(line, "%d iterations in %s ms", now.iterations - last.iterations, millis(now.nanos - last.nanos));
        add(line, "compute: %s ms", millis(now.compute - last.compute));
        Device device = ferry.device();
        if (device.hasOwnMemory()) {
            add(line, "waiting for copies: %s ms", millis(now.copyWait - last.copyWait));
        }
        add(line, "CPU update: %s ms", millis(now.update - last.update));
        add(line, "waiting for steps: %s ms", millis(now.updateWait - last.updateWait));
        if (device.hasOwnMemory()) {
            add(line, "to device: %s", rate(now.toDevice - last.toDevice, now.toDeviceNanos - last.toDeviceNanos));
            add(line, "to host: %s", rate(now.toHost - last.toHost, now.toHostNanos - last.toHostNanos));
            add(line, "in place: %s", Sizes.format(now.direct - last.direct));
            add(line, "device: %s of %s", Sizes.format(device.metrics().slabBytes()), Sizes.format(device.totalBytes()));
        }
        add(line, "pinned host: %s", Sizes.format(device.metrics().hostBytes()));
        add(line, "plan deviations: %d", now.deviations - last.deviations);
        if (ferry.verification().asked() > 0) {
            add(line, "%s", ferry.verification());
        }
        return line.toString();
    }

    private static void add(StringBuilder line, String format, Object... arguments) {
        line.append(line.length() == 0 ? "" : "; ").append(String.format(Locale.ROOT, format, arguments));
    }

    private static String millis(long nanos) {
        return String.format(Locale.ROOT, "%.1f", nanos / MILLIS);
    }

    private static String rate(long bytes, long nanos) {
        return nanos == 0 ? Sizes.format(bytes) : String.format(Locale.ROOT, "%s at %.2f GB/s", Sizes.format(bytes), bytes / GB / (nanos / 1e9));
    }

    /** The counters at one time. */
    private static final class Counts {

        private final long nanos = System.nanoTime();
        private final long iterations;
        private final long compute;
        private final long copyWait;
        private final long update;
        private final long updateWait;
        private final long toDevice;
        private final long toHost;
        private final long toDeviceNanos;
        private final long toHostNanos;
        private final long direct;
        private final long deviations;

        private Counts(MemFerryMetrics metrics) {
            DeviceMetrics device = metrics.device();
            iterations = metrics.iterations();
            compute = metrics.computeNanos();
            copyWait = device.waitNanos();
            update = metrics.updateNanos();
            updateWait = metrics.updateWaitNanos();
            toDevice = device.bytesToDevice();
            toHost = device.bytesToHost();
            toDeviceNanos = device.copyNanos(Direction.TO_DEVICE);
            toHostNanos = device.copyNanos(Direction.TO_HOST);
            direct = device.directBytes();
            deviations = metrics.planDeviations();
        }
    }
}
