package org.memferry.nd4j;

import java.lang.ref.WeakReference;

/**
 * The workspaces of one thread: what they hold of which device, and who is told when the thread enters and leaves one. A thread's blocks
 * are taken from the device of the network that it trained last.
 *
 * <p>Data sets that DL4J fetches ahead lie in a workspace of a thread that trains nothing. Its blocks are of the device of the thread that
 * started it, as {@code fit} does; where that one trains nothing either (somebody made the iterator elsewhere), of the one device that the
 * program trains on. Where it trains on several, nobody knows, and such blocks count for none.
 */
public final class ThreadWorkspaces {

    /** What the names of the workspaces have in common that DL4J's asynchronous iterators open in their threads. */
    private static final String PREFETCHING = "DSI_ITER-";

    private static final ThreadLocal<ThreadWorkspaces> CURRENT = new InheritableThreadLocal<>() {

        @Override
        protected ThreadWorkspaces initialValue() {
            return new ThreadWorkspaces(null);
        }

        /** On the thread that starts another. */
        @Override
        protected ThreadWorkspaces childValue(ThreadWorkspaces parent) {
            return new ThreadWorkspaces(parent);
        }
    };

    /** Those of the thread that started this one; weak, lest threads that start each other keep all before them. */
    private final WeakReference<ThreadWorkspaces> starter;
    private DeviceUse device;
    private boolean spill;
    private long bytes;
    /** Of these, in workspaces of threads that fetch data sets. */
    private long prefetched;
    private volatile LayerScopes scopes = LayerScopes.NONE;
    /** Openings of the workspace of a layer's computation that are not closed; of the thread itself alone. */
    private int layersOpen;

    private ThreadWorkspaces(ThreadWorkspaces starter) {
        this.starter = new WeakReference<>(starter);
    }

    /** The workspaces of the calling thread. */
    public static ThreadWorkspaces ofCurrentThread() {
        return CURRENT.get();
    }

    /**
     * The calling thread, whose workspaces these are, trains a network: its blocks are of this device from now on, those it holds already
     * included, and those of the threads that it started to fetch data sets. Called outside of every layer's workspace.
     *
     * @param use       the device; null for none
     * @param mayspill  whether blocks that do not fit are placed in host memory
     * @param listening told when the thread enters and leaves a layer's workspace
     */
    public void train(DeviceUse use, boolean mayspill, LayerScopes listening) {
        layersOpen = 0;
        bind(use, mayspill, listening);
    }

    private synchronized void bind(DeviceUse use, boolean mayspill, LayerScopes listening) {
        spill = mayspill;
        if (use != device) {
            count(-bytes, -prefetched);
            device = use;
            count(bytes, prefetched);
            TrainingThreads.trains(this, use);
        }
        if (scopes != listening) {
            scopes = listening;
            TrainingThreads.listens(this, listening);
        }
    }

    /** Ends what {@link #train} began on any thread for this listener. Called by any thread. */
    public static void forget(LayerScopes listening) {
        for (ThreadWorkspaces thread : TrainingThreads.of(listening)) {
            thread.stop(listening);
        }
    }

    private synchronized void stop(LayerScopes listening) {
        if (scopes == listening) {
            bind(null, false, LayerScopes.NONE);
        }
    }

    /** The thread has opened the workspace of a layer's computation. */
    void layerEntered() {
        if (layersOpen++ == 0) {
            scopes.entered();
        }
    }

    /** The thread has closed it. */
    void layerLeft() {
        if (layersOpen > 0 && --layersOpen == 0) {
            scopes.left();
        }
    }

    /**
     * Admits a block; see {@link DeviceUse#admit}. One of data sets that are fetched ahead is counted and never refused, since the iterator
     * would wait for its thread for ever: {@link DeviceUse#checkPrefetched()} refuses it on the thread that trains.
     */
    Block admit(long size, String workspace) {
        if (!workspace.contains(PREFETCHING)) {
            return admit(size, workspace, false);
        }
        ThreadWorkspaces started = starter.get();
        return (started == null || trains() ? this : started).admit(size, workspace, true);
    }

    private synchronized boolean trains() {
        return device != null;
    }

    private Block admit(long size, String workspace, boolean fetched) {
        DeviceUse use;
        boolean mayspill;
        synchronized (this) {
            use = device;
            mayspill = spill;
            if (use == null) {
                Block block = new Block(this, size, fetched, null);
                block.hold(size);
                return block;
            }
        }
        // Without the monitor: it may wait for a collection, in which other blocks of the thread are given back.
        boolean placed = fetched ? use.admitPrefetched(size, workspace, mayspill) : use.admit(size, workspace, mayspill);
        Block block = new Block(this, size, fetched, placed ? null : use);
        if (placed) {
            synchronized (this) {
                // Counted already; the thread may have begun to train elsewhere since.
                use.changed(-size, fetched ? -size : 0);
                block.hold(size);
            }
        }
        return block;
    }

    private synchronized void hold(long size, long fetched) {
        bytes += size;
        prefetched += fetched;
        count(size, fetched);
    }

    private void count(long size, long fetched) {
        if (device != null) {
            device.changed(size, fetched);
        } else {
            TrainingThreads.prefetchedElsewhere(fetched);
        }
    }

    /** One block of memory of a workspace. */
    static final class Block {

        private final ThreadWorkspaces owner;
        private final long bytes;
        private final boolean fetched;
        /** The device that had no room; null if the block is on the device. */
        private final DeviceUse spilledFrom;

        private Block(ThreadWorkspaces owner, long bytes, boolean fetched, DeviceUse spilledFrom) {
            this.owner = owner;
            this.bytes = bytes;
            this.fetched = fetched;
            this.spilledFrom = spilledFrom;
        }

        /** It is given back. Called by any thread. */
        void release() {
            if (spilledFrom != null) {
                spilledFrom.spilledBack(bytes);
            } else {
                hold(-bytes);
            }
        }

        private void hold(long more) {
            owner.hold(more, fetched ? more : 0);
        }

        boolean isSpilled() {
            return spilledFrom != null;
        }

        long deviceBytes() {
            return spilledFrom == null ? bytes : 0;
        }
    }
}
