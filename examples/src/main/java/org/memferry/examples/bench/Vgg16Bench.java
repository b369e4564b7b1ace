package org.memferry.examples.bench;

import org.memferry.base.Sizes;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Trains VGG16, 138 million parameters, within an emulated device in which plain DL4J is refused, by the rules that its zoo uses and by
 * Adam. Host memory is what the kernel says of the process beyond what it took before, less what the emulated device holds of it.
 */
final class Vgg16Bench {

    /** A heap that is all there from the start cannot grow into the measurement. */
    private static final List<String> JVM = List.of("-Xms384m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:+AlwaysPreTouch",
            "-Dorg.bytedeco.javacpp.maxbytes=4g", "-D" + JavaCppLimit.PROPERTY + "=0");

    /** The C library would keep blocks of up to 32 MB that the emulated device has freed: they are no host memory of MemFerry's. */
    private static final Map<String, String> MALLOC = Map.of("MALLOC_ARENA_MAX", "1", "MALLOC_MMAP_THRESHOLD_", "131072");

    private final long budget;
    private final List<String> updaters;
    private final Screen screen;
    private long peakDevice;
    private double hostOverPlan;
    private boolean refused = true;
    private boolean trained = true;

    Vgg16Bench(long budget, List<String> updaters, Screen screen) {
        this.budget = budget;
        this.updaters = List.copyOf(updaters);
        this.screen = screen;
    }

    void run() {
        for (String updater : updaters) {
            screen.status("plain DL4J, " + updater);
            Map<String, String> stock = child("stock", updater);
            refused &= Boolean.parseBoolean(stock.get("refused"));
            screen.status("MemFerry, " + updater);
            Map<String, String> ferry = child("ferry", updater);
            long device = Long.parseLong(ferry.get("peak_device"));
            long plan = Long.parseLong(ferry.get("plan_host"));
            double attach = (double) Long.parseLong(ferry.get("attach_rss")) / plan;
            double host = (double) (Long.parseLong(ferry.get("peak_rss")) - device) / plan;
            screen.line("%s: plain DL4J is %s (%s)", updater, stock.get("refused").equals("true") ? "refused" : "not refused",
                    stock.get("text"));
            screen.line("%s: %s iterations in %s s, score %s; device %s of %s, emulated; host plan %s, attach %.2f of it, training %.2f of it",
                    updater, ferry.get("iterations"), ferry.get("seconds"), ferry.get("score"), Sizes.format(device), Sizes.format(budget),
                    Sizes.format(plan), attach, host);
            peakDevice = Math.max(peakDevice, device);
            hostOverPlan = Math.max(hostOverPlan, Math.max(attach, host));
            trained &= ferry.get("iterations").equals("3");
        }
    }

    private Map<String, String> child(String mode, String updater) {
        List<Map<String, String>> results = ChildProcess.run(JVM, MALLOC, Vgg16Run.class, mode, updater, String.valueOf(budget));
        return results.get(results.size() - 1);
    }

    /** Whether plain DL4J was refused, MemFerry trained, and within the device. */
    boolean holds() {
        return refused && trained && peakDevice <= budget;
    }

    /** The machine-readable line. */
    ResultLine result() {
        return new ResultLine("bench-vgg16").add("emulated", true).add("updaters", String.join(",", updaters)).add("budget_bytes", budget)
                .add("peak_device_bytes", peakDevice).add("host_peak_over_plan", String.format(Locale.ROOT, "%.3f", hostOverPlan))
                .add("stock_refused", refused);
    }
}
