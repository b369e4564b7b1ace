package org.memferry;

import org.memferry.base.Sizes;
import org.memferry.device.DeviceMetrics;
import org.memferry.engine.EngineMetrics;
import org.memferry.engine.IterationEngine;
import org.memferry.nd4j.DeviceUse;
import org.memferry.nd4j.RegionArrays;
import org.memferry.network.Ferry;

import java.util.concurrent.TimeUnit;

/** What an attachment holds and did. Live numbers, read-only. */
public final class MemFerryMetrics {

    private final Ferry ferry;

    MemFerryMetrics(Ferry ferry) {
        this.ferry = ferry;
    }

    private EngineMetrics engine() {
        IterationEngine engine = ferry.engine();
        return engine == null ? new EngineMetrics() : engine.metrics();
    }

    /** Counters of the device: bytes held, bytes copied, time waited. */
    public DeviceMetrics device() {
        return ferry.device().metrics();
    }

    /**
     * What is in use of the device's memory: slab, DL4J's workspaces, ordinary arrays. Workspaces are counted where MemFerry's ND4J managers
     * are installed ({@link MemFerryRuntime}), and are 0 here where they are not.
     */
    public DeviceUse use() {
        return DeviceUse.of(ferry.device());
    }

    /** Training iterations completed since the plan became final. */
    public long iterations() {
        return engine().iterations();
    }

    /** Inference passes begun since the plan became final. */
    public long inferencePasses() {
        return engine().inferencePasses();
    }

    /** Copies of a layer's parameters to the device. */
    public long parameterCopies() {
        return engine().parameterCopies();
    }

    /** Of these, copies that had to be made again since somebody wrote the parameters in between. */
    public long repeatedCopies() {
        return engine().repeatedCopies();
    }

    /** Reads in an order that the plan does not know; they were served from the host. */
    public long unplannedReads() {
        return engine().unplannedReads();
    }

    /**
     * Layers, each time they computed, whose end DL4J's workspaces told before another layer was read, so that what waits for their slot or
     * gradient started at once; 0 where MemFerry's ND4J managers are not installed ({@link MemFerryRuntime}).
     */
    public long layerEndsTold() {
        return engine().endsTold();
    }

    /** Iterations that began and never ended. */
    public long abortedPasses() {
        return engine().abortedPasses();
    }

    /** Time that the visits of training iterations computed since the plan became final, in nanoseconds, without waiting for copies. */
    public long computeNanos() {
        return engine().computeNanos();
    }

    /** Time that optimizer steps took on the CPU, in nanoseconds, whether the training thread stood still for them or not. */
    public long updateNanos() {
        return ferry.updateNanos();
    }

    /**
     * Time that the training thread was in optimizer steps or waited for them, in nanoseconds. May be more than {@link #updateNanos()}: who
     * waits for a step waits for the copy of its gradient before it, too.
     */
    public long updateWaitNanos() {
        return ferry.updateWaitNanos();
    }

    /** What did not go as planned: repeated copies, unplanned reads and iterations that never ended. */
    public long planDeviations() {
        return repeatedCopies() + unplannedReads() + abortedPasses();
    }

    /** ND4J arrays that MemFerry has made over its memory in this program, of all attachments. */
    public long arraysCreated() {
        return RegionArrays.created();
    }

    /** The figures of one line, for a log. */
    @Override
    public String toString() {
        return iterations() + " iterations; " + (ferry.device().hasOwnMemory() ? use() : "all in host memory") + "; copied " + Sizes.format(device().bytesToDevice()) + " to the device and "
                + Sizes.format(device().bytesToHost()) + " to the host; computed " + millis(computeNanos()) + " ms, waited for copies "
                + millis(device().waitNanos()) + " ms, for steps " + millis(updateWaitNanos()) + " ms; " + planDeviations() + " deviations from the plan";
    }

    private static long millis(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos);
    }
}
