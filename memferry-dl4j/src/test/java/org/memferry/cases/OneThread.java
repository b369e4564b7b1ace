package org.memferry.cases;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A second thread that does what it is told, while the caller waits. */
final class OneThread implements AutoCloseable {

    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    /** Runs something on the thread, to its end. */
    void run(Runnable action) {
        try {
            thread.submit(action).get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        } catch (ExecutionException e) {
            throw new CompletionException(e.getCause());
        }
    }

    @Override
    public void close() {
        thread.shutdown();
    }
}
