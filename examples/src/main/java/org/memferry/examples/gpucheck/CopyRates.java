package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cudart.CUstream_st;

/** How fast copies are: pinned and pageable, each way and both ways at once, from 1 MB up; and within the card. */
final class CopyRates {

    private static final double GB = 1e9;

    private final Runtime runtime;
    private final Pace pace;
    private final long largest;
    private final CUstream_st up;
    private final CUstream_st down;
    private final long device;
    private final long device2;
    private double toDevice;
    private double toHost;
    private double onCard;

    CopyRates(Runtime runtime, Pace pace, long largest) {
        this.runtime = runtime;
        this.pace = pace;
        this.largest = largest;
        up = runtime.stream();
        down = runtime.stream();
        device = runtime.deviceMemory(largest);
        device2 = runtime.deviceMemory(largest);
    }

    void run(Report report) {
        Report.Table table = report.table("Copies", "10^9 bytes per second. At once: both directions at a time, each one's rate.", "host memory",
                "bytes", "to device", "to host", "at once, to device and to host each");
        rates(table, "pinned", runtime.pinnedMemory(largest), runtime.pinnedMemory(largest), true);
        rates(table, "pageable", runtime.ordinaryMemory(largest), runtime.ordinaryMemory(largest), false);
        onCard = rate(2 * largest, () -> Runtime.copy(device, device2, largest, up), () -> Runtime.synchronize(up));
        report.table("Memory of the card", "10^9 bytes per second, read and write counted each.", "bytes", "rate").row(largest, onCard / GB);
    }

    private void rates(Report.Table table, String kind, long host, long host2, boolean keep) {
        for (long bytes = largest; bytes >= Math.min(largest, 1 << 20); bytes /= 16) {
            long n = bytes;
            double h2d = rate(n, () -> Runtime.copy(host, device, n, up), () -> Runtime.synchronize(up));
            double d2h = rate(n, () -> Runtime.copy(device2, host2, n, down), () -> Runtime.synchronize(down));
            double both = rate(n, () -> {
                Runtime.copy(host, device, n, up);
                Runtime.copy(device2, host2, n, down);
            }, this::awaitBoth);
            table.row(kind, n, h2d / GB, d2h / GB, both / GB);
            if (keep && n == largest) {
                toDevice = h2d;
                toHost = d2h;
            }
        }
    }

    private void awaitBoth() {
        Runtime.synchronize(up);
        Runtime.synchronize(down);
    }

    private double rate(long bytes, Runnable submit, Runnable await) {
        return bytes / (pace.nanos(submit, await) / 1e9);
    }

    /** Bytes per second of large pinned copies. */
    double toDevice() {
        return toDevice;
    }

    /** Bytes per second of large pinned copies. */
    double toHost() {
        return toHost;
    }

    /** Bytes per second that the card's memory is read and written at. */
    double onCard() {
        return onCard;
    }
}
