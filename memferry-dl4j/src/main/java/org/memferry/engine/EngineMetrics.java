package org.memferry.engine;

/** Counters of an {@link IterationEngine}. Written by the training thread; other threads may see a slightly older value. */
public final class EngineMetrics {

    volatile long iterations;
    volatile long inferencePasses;
    volatile long parameterCopies;
    volatile long repeatedCopies;
    volatile long unplannedReads;
    volatile long endsTold;
    volatile long abortedPasses;
    volatile long computeNanos;
    volatile long copiesLeftOut;

    /** Training iterations closed. */
    public long iterations() {
        return iterations;
    }

    /** Inference passes begun. */
    public long inferencePasses() {
        return inferencePasses;
    }

    /** Copies of parameters to a slot. */
    public long parameterCopies() {
        return parameterCopies;
    }

    /** Of these, copies made on demand since somebody wrote the master after the planned copy, or read a layer behind its end. */
    public long repeatedCopies() {
        return repeatedCopies;
    }

    /** Reads in an order that the program does not know, served from the master. */
    public long unplannedReads() {
        return unplannedReads;
    }

    /** Visits whose end was told by {@link IterationEngine#computed()} before another layer was read. */
    public long endsTold() {
        return endsTold;
    }

    /** Time that the visits of training iterations computed, in nanoseconds, without what they stood still for copies. */
    public long computeNanos() {
        return computeNanos;
    }

    /** Copies ahead of the next iteration that the device refused, so that the iteration made them itself. */
    public long copiesLeftOut() {
        return copiesLeftOut;
    }

    /** Iterations or inference passes that began and never ended (an exception in between). */
    public long abortedPasses() {
        return abortedPasses;
    }
}
