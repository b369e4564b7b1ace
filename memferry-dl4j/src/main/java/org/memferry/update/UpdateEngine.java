package org.memferry.update;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Who computes updates: a kernel and the threads it runs on. */
public final class UpdateEngine implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(UpdateEngine.class);

    private final UpdateKernel kernel;
    private final UpdateWorkers workers;

    UpdateEngine(UpdateKernel kernel, UpdateWorkers workers) {
        this.kernel = kernel;
        this.workers = workers;
    }

    /**
     * Starts an engine as the properties {@code org.memferry.update.kernel} and {@code org.memferry.update.threads} say, and logs one
     * line that names it.
     */
    public static UpdateEngine start() {
        return start(UpdateWorkers.defaultThreads());
    }

    /**
     * Starts an engine on so many threads, the caller included.
     *
     * @throws IllegalArgumentException if threads is less than 1
     */
    public static UpdateEngine start(int threads) {
        UpdateEngine engine = new UpdateEngine(UpdateKernels.choose(), new UpdateWorkers(threads));
        LOG.info("update kernel: {}", engine);
        return engine;
    }

    UpdateKernel kernel() {
        return kernel;
    }

    /** The threads, for work of the same kind that is not an update. */
    public UpdateWorkers workers() {
        return workers;
    }

    /** Ends the threads. */
    @Override
    public void close() {
        workers.close();
    }

    /** For example {@code native AVX2, 2 threads}. */
    @Override
    public String toString() {
        return kernel.name() + ", " + workers.threads() + (workers.threads() == 1 ? " thread" : " threads");
    }
}
