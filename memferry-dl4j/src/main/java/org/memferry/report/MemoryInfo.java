package org.memferry.report;

import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.DeviceMetrics;
import org.memferry.plan.Budget;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;

/**
 * What an attachment holds where, in the form of DL4J's own memory information ({@code net.memoryInfo}, crash dumps), which counts neither
 * device memory that is not ND4J's nor host memory that JavaCPP did not take.
 */
public final class MemoryInfo {

    private MemoryInfo() {
    }

    /**
     * Renders the block, with a heading; names in 40 columns, sizes readable and exact.
     *
     * @param bySizes           true if the plan was made from sizes alone, by no strategy
     * @param freeAtConvolution device bytes that were free when the first convolution began; below 0 if none did
     */
    public static String render(Plan plan, Device device, boolean bySizes, long freeAtConvolution) {
        StringBuilder text = new StringBuilder("----- MemFerry Memory Information -----\n");
        line(text, "Device", device.name());
        line(text, "Strategy", bySizes ? "<none: planned by sizes>" : plan.strategy());
        appendHost(text, plan, device.metrics());
        if (device.hasOwnMemory()) {
            appendDevice(text, plan, device.metrics());
            if (freeAtConvolution >= 0) {
                line(text, "Device Memory: Free at Convolution", freeAtConvolution);
            }
        } else {
            line(text, "Device Memory", "<none: computes in host memory>");
        }
        return text.toString();
    }

    private static void appendHost(StringBuilder text, Plan plan, DeviceMetrics metrics) {
        NetworkDescription network = plan.network();
        line(text, "Host Memory: Parameters", network.parameterBytes());
        line(text, "Host Memory: Gradients", network.parameterBytes());
        line(text, "Host Memory: Updater State", network.updaterStateBytes());
        line(text, "Host Memory: Held Now", metrics.hostBytes());
        line(text, "Host Memory: Peak", metrics.peakHostBytes());
    }

    private static void appendDevice(StringBuilder text, Plan plan, DeviceMetrics metrics) {
        Budget budget = plan.budget();
        line(text, "Device Memory: Budget", budget.deviceBytes());
        line(text, "Device Memory: Resident Layers", plan.residentBytes());
        line(text, "Device Memory: Parameter Slots", plan.parameterSlotBytes());
        line(text, "Device Memory: Gradient Slots", plan.gradientSlotBytes());
        line(text, "Device Memory: Slots and Residents Now", metrics.slabBytes());
        line(text, "Device Memory: Kept Free", budget.headroomBytes());
        if (budget.activationsKnown()) {
            line(text, "Device Memory: Activations (estimated)", budget.activationBytes());
        } else {
            line(text, "Device Memory: Activations (estimated)", "<unknown>");
        }
    }

    private static void line(StringBuilder text, String name, long bytes) {
        line(text, name, String.format("%10s (%d)", Sizes.format(bytes), bytes));
    }

    private static void line(StringBuilder text, String name, Object value) {
        text.append(String.format("%-40s%s%n", name, value).replace(System.lineSeparator(), "\n"));
    }
}
