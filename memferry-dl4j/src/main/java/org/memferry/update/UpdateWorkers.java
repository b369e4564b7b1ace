package org.memferry.update;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A fixed pool of daemon threads that share out the pieces of one job at a time; the caller works too. Nothing is allocated per job.
 * Who computes which piece is left to chance, so a job's pieces must not depend on each other.
 */
public final class UpdateWorkers implements AutoCloseable {

    /**
     * Threads of the pool, the caller included: a number from 1. When not set, as many as CPUs (affinity and cgroup counted), or fewer if
     * {@code OMP_NUM_THREADS} says so, which ND4J heeds too.
     */
    public static final String PROPERTY = "org.memferry.update.threads";

    private static final Logger LOG = LoggerFactory.getLogger(UpdateWorkers.class);
    private static final String OPEN_MP = "OMP_NUM_THREADS";
    private static final int CLOSED_JOB = Integer.MIN_VALUE;

    /** A job in pieces. */
    public interface Job {

        /** Does one piece; called once for each from 0, from any thread of the pool. */
        void run(int piece);
    }

    private final Thread[] threads;
    private final ReentrantLock oneJob = new ReentrantLock();

    // The job: written before 'inside' opens it, read by threads that have got inside.
    private Job job;
    private int pieces;
    private Thread caller;
    private final AtomicInteger next = new AtomicInteger();
    /** Pool threads inside the job; CLOSED_JOB is added when no more may come in. */
    private final AtomicInteger inside = new AtomicInteger(CLOSED_JOB);
    private volatile int generation;
    private volatile Throwable failure;
    private volatile boolean closed;

    /**
     * Starts the pool.
     *
     * @param threads threads that work on a job, the caller included
     * @throws IllegalArgumentException if that is less than 1
     */
    public UpdateWorkers(int threads) {
        if (threads < 1) {
            throw new IllegalArgumentException("threads: " + threads + " (expected: >= 1)");
        }
        this.threads = new Thread[threads - 1];
        for (int i = 0; i < this.threads.length; i++) {
            Thread thread = new Thread(this::serve, "memferry-update-" + (i + 1));
            thread.setDaemon(true);
            this.threads[i] = thread;
            thread.start();
        }
    }

    /** Threads to use: the property, or {@code OMP_NUM_THREADS}, or the CPUs this process may use. */
    public static int defaultThreads() {
        return defaultThreads(System.getProperty(PROPERTY), System.getenv(OPEN_MP), Runtime.getRuntime().availableProcessors(), LOG);
    }

    /**
     * Decides.
     *
     * @param property value of the property, or null
     * @param openMp   value of {@code OMP_NUM_THREADS}, or null: a number, or one for each level of nesting
     * @param cpus     CPUs this process may use
     * @param log      hears what is odd about the two values
     */
    static int defaultThreads(String property, String openMp, int cpus, Logger log) {
        int asked = number(property);
        if (asked > 0) {
            return asked;
        }
        int heeded = openMp == null ? 0 : number(openMp.split(",", 2)[0]);
        int threads = heeded > 0 ? Math.min(heeded, cpus) : cpus;
        if (property != null) {
            log.warn("{}: '{}' (expected: a number from 1); {} is used, the CPUs of this process", PROPERTY, property, threads);
        } else if (threads == 1 && cpus > 1) {
            log.warn("{}={} in the environment: the optimizer step runs on 1 thread of {} CPUs. Launchers of many processes leave it"
                    + " behind; unset it, or set -D{}={} or MemFerryConfig's updateThreads", OPEN_MP, openMp, cpus, PROPERTY, cpus);
        }
        return threads;
    }

    /** 0 for what is no number from 1. */
    private static int number(String text) {
        try {
            return text == null ? 0 : Math.max(0, Integer.parseInt(text.trim()));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    /** Threads that work on a job, the caller included. */
    public int threads() {
        return threads.length + 1;
    }

    /** Whether a thread is one of the pool's. */
    boolean owns(Thread thread) {
        return Arrays.asList(threads).contains(thread);
    }

    /**
     * Runs a job and returns when all of it is done. While another caller's job has the pool, this one's caller does its job alone.
     * If a piece fails, the pieces not yet begun are dropped and the first failure is thrown here.
     */
    public void run(Job job, int pieces) {
        if (pieces <= 1 || threads.length == 0 || closed || oneJob.isHeldByCurrentThread() || !oneJob.tryLock()) {
            for (int i = 0; i < pieces; i++) {
                job.run(i);
            }
            return;
        }
        try {
            share(job, pieces);
        } finally {
            oneJob.unlock();
        }
    }

    private void share(Job job, int pieces) {
        this.job = job;
        this.pieces = pieces;
        caller = Thread.currentThread();
        failure = null;
        next.set(0);
        inside.set(0);
        generation++;
        for (int i = 0; i < Math.min(threads.length, pieces - 1); i++) {
            LockSupport.unpark(threads[i]);
        }
        work();
        inside.addAndGet(CLOSED_JOB);
        boolean interrupted = false;
        while (inside.get() != CLOSED_JOB) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        this.job = null;
        caller = null;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        rethrow(failure);
    }

    private void work() {
        try {
            for (int i = next.getAndIncrement(); i < pieces && failure == null; i = next.getAndIncrement()) {
                job.run(i);
            }
        } catch (Throwable e) {
            // Kept for the caller, who throws it once nobody works on the job any more.
            if (failure == null) {
                failure = e;
            }
        }
    }

    private static void rethrow(Throwable failure) {
        if (failure instanceof RuntimeException) {
            throw (RuntimeException) failure;
        }
        if (failure instanceof Error) {
            throw (Error) failure;
        }
    }

    private void serve() {
        int seen = 0;
        while (!closed) {
            int now = generation;
            if (now == seen) {
                LockSupport.park(this);
                Thread.interrupted();
                continue;
            }
            seen = now;
            if (enter()) {
                work();
                Thread waiting = caller;
                if (inside.decrementAndGet() == CLOSED_JOB) {
                    LockSupport.unpark(waiting);
                }
            }
        }
    }

    /** Gets into the job unless it is closed: a thread that wakes late finds no job, and nobody waits for it. */
    private boolean enter() {
        while (true) {
            int count = inside.get();
            if (count < 0) {
                return false;
            }
            if (inside.compareAndSet(count, count + 1)) {
                return true;
            }
        }
    }

    /** Ends the threads; a job that is running is finished by those that are in it. A second call does nothing. */
    @Override
    public void close() {
        closed = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
        }
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive() && thread != Thread.currentThread()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
