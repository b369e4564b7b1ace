package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cudart.CUstream_st;

import java.util.Random;

/** What it costs to compute with weights, or to write gradients, in pinned host memory, beside copying them; and what a copy beside that costs. */
final class DirectReads {

    private static final int[] COLUMNS = {1, 16, 64, 256, 1024};
    private static final int TABLE_WIDTH = 1024;

    private final Runtime runtime;
    private final Pace pace;
    private final Kernels kernels;
    private final Extent extent;
    private final long pinned;
    private final long device;
    private final CUstream_st copies;
    private double flopsPerSecond;
    private double flopsOfBatch;

    DirectReads(Runtime runtime, Pace pace, Kernels kernels, Extent extent) {
        this.runtime = runtime;
        this.pace = pace;
        this.kernels = kernels;
        this.extent = extent;
        pinned = runtime.pinnedMemory(extent.largestArrayBytes());
        device = runtime.deviceMemory(extent.largestArrayBytes());
        runtime.fill(pinned, extent.largestArrayBytes());
        runtime.fill(device, extent.largestArrayBytes());
        copies = runtime.stream();
    }

    void run(Report report) {
        layers(report);
        gathers(report);
        contention(report);
        peak(report);
    }

    private double micros(Runnable work) {
        return pace.nanos(work, kernels::synchronize) / 1e3;
    }

    private void layers(Report report) {
        Report.Table table = report.table("Weights and gradients in place", "Microseconds of one product (" + kernels.name()
                + "). Copy and product: one after the other. Direct: the product reads the weights, or writes their gradient, in pinned host memory.",
                "outputs x inputs", "batch", "on device", "copy and product", "direct", "gradient on device", "gradient and copy",
                "gradient direct");
        for (int width = extent.width / 8; width <= extent.width; width *= 2) {
            for (int columns : COLUMNS) {
                if (columns <= width) {
                    layer(table, new Kernels.Shape(width, width, columns));
                }
            }
        }
    }

    private void layer(Report.Table table, Kernels.Shape s) {
        double onDevice = micros(() -> kernels.forward(device, s));
        double copied = pace.nanos(() -> {
            Runtime.copy(pinned, device, s.weightBytes(), copies);
            Runtime.synchronize(copies);
            kernels.forward(device, s);
            kernels.synchronize();
        }, kernels::synchronize) / 1e3;
        double direct = micros(() -> kernels.forward(pinned, s));
        double gradient = micros(() -> kernels.weightGradient(device, s));
        double gradientCopied = pace.nanos(() -> {
            kernels.weightGradient(device, s);
            kernels.synchronize();
            Runtime.copy(device, pinned, s.weightBytes(), copies);
            Runtime.synchronize(copies);
        }, kernels::synchronize) / 1e3;
        double gradientDirect = micros(() -> kernels.weightGradient(pinned, s));
        table.row(s.outputs + "x" + s.inputs, s.columns, onDevice, copied, direct, gradient, gradientCopied, gradientDirect);
        flopsPerSecond = Math.max(flopsPerSecond, s.flops() / (onDevice / 1e6));
        if (s.columns == COLUMNS[3]) {
            flopsOfBatch = s.flops() / (onDevice / 1e6);
        }
    }

    private void gathers(Report report) {
        Report.Table table = report.table("Rows of a table in place", "Microseconds to collect random rows of " + TABLE_WIDTH + " floats, as an embedding"
                + " does. Whole table: the copy that a prefetch would make.", "rows", "on device", "direct", "whole table");
        int rows = Math.toIntExact(extent.largestArrayBytes() / Float.BYTES / TABLE_WIDTH);
        double whole = pace.nanos(() -> Runtime.copy(pinned, device, (long) rows * TABLE_WIDTH * Float.BYTES, copies),
                () -> Runtime.synchronize(copies)) / 1e3;
        for (int wanted = extent.rows / 16; wanted <= extent.rows; wanted *= 4) {
            int[] indices = new Random(wanted).ints(wanted, 0, rows).toArray();
            table.row(wanted, micros(() -> kernels.gather(device, indices, TABLE_WIDTH)), micros(() -> kernels.gather(pinned, indices, TABLE_WIDTH)),
                    whole);
        }
    }

    /** Direct reads and copies share the link's one direction. */
    private void contention(Report report) {
        Kernels.Shape s = new Kernels.Shape(extent.width, extent.width, COLUMNS[1]);
        long bytes = s.weightBytes();
        long target = runtime.deviceMemory(bytes);
        double alone = micros(() -> kernels.forward(pinned, s));
        double copyAlone = pace.nanos(() -> Runtime.copy(pinned, target, bytes, copies), () -> Runtime.synchronize(copies)) / 1e3;
        double together = pace.nanos(() -> {
            Runtime.copy(pinned, target, bytes, copies);
            kernels.forward(pinned, s);
        }, () -> {
            Runtime.synchronize(copies);
            kernels.synchronize();
        }) / 1e3;
        double onDevice = pace.nanos(() -> {
            Runtime.copy(pinned, target, bytes, copies);
            kernels.forward(device, s);
        }, () -> {
            Runtime.synchronize(copies);
            kernels.synchronize();
        }) / 1e3;
        report.table("Direct reads beside a copy", "Microseconds for a product of " + s + " and a copy to the device of as many bytes. If the link were"
                + " shared without loss, both together would take the sum of both alone.", "direct alone", "copy alone", "sum", "direct and copy",
                "product on device and copy").row(alone, copyAlone, alone + copyAlone, together, onDevice);
    }

    private void peak(Report report) {
        if (kernels.compute()) {
            report.table("Arithmetic", "10^9 floating point operations per second in single precision, the best of the products on the device above;"
                    + " and that of the largest layer with " + COLUMNS[3] + " examples.", "best", "with " + COLUMNS[3] + " examples")
                    .row(flopsPerSecond / 1e9, flopsOfBatch / 1e9);
        }
    }

    double flopsPerSecond() {
        return flopsPerSecond;
    }

    /** Of the largest layer with a batch as networks have it. */
    double flopsOfBatch() {
        return flopsOfBatch;
    }
}
