package org.memferry.nd4j;

/**
 * The workspaces of one thread: what they hold of which device, and who is told when the thread enters and leaves one. A thread's blocks
 * are taken from the device of the network that it trained last.
 */
public final class ThreadWorkspaces {

    private static final ThreadLocal<ThreadWorkspaces> CURRENT = ThreadLocal.withInitial(ThreadWorkspaces::new);

    private DeviceUse device;
    private boolean spill;
    private long bytes;
    private volatile LayerScopes scopes = LayerScopes.NONE;

    private ThreadWorkspaces() {
    }

    /** The workspaces of the calling thread. */
    public static ThreadWorkspaces ofCurrentThread() {
        return CURRENT.get();
    }

    /**
     * The thread trains a network: its blocks are of this device from now on, those it holds already included.
     *
     * @param use       the device; null for none
     * @param mayspill  whether blocks that do not fit are placed in host memory
     * @param listening told when the thread leaves a layer's workspace
     */
    public synchronized void train(DeviceUse use, boolean mayspill, LayerScopes listening) {
        scopes = listening;
        spill = mayspill;
        if (use != device) {
            if (device != null) {
                device.changed(-bytes);
            }
            device = use;
            if (device != null) {
                device.changed(bytes);
            }
        }
    }

    /** Ends what {@link #train} began, if it was for this listener. Called by any thread. */
    public synchronized void forget(LayerScopes listening) {
        if (scopes == listening) {
            train(null, false, LayerScopes.NONE);
        }
    }

    LayerScopes scopes() {
        return scopes;
    }

    /** Admits a block; see {@link DeviceUse#admit}. */
    Block admit(long size, String workspace) {
        DeviceUse use;
        boolean mayspill;
        synchronized (this) {
            use = device;
            mayspill = spill;
            if (use == null) {
                bytes += size;
                return new Block(size, null);
            }
        }
        // Without the monitor: it may wait for a collection, in which other blocks of the thread are given back.
        if (!use.admit(size, workspace, mayspill)) {
            return new Block(size, use);
        }
        synchronized (this) {
            bytes += size;
        }
        return new Block(size, null);
    }

    /** Takes a block back. Called by any thread. */
    void release(Block block) {
        if (block.spilledFrom != null) {
            block.spilledFrom.spilledBack(block.bytes);
            return;
        }
        synchronized (this) {
            bytes -= block.bytes;
            if (device != null) {
                device.changed(-block.bytes);
            }
        }
    }

    /** One block of memory of a workspace. */
    static final class Block {

        private final long bytes;
        /** The device that had no room; null if the block is on the device. */
        private final DeviceUse spilledFrom;

        private Block(long bytes, DeviceUse spilledFrom) {
            this.bytes = bytes;
            this.spilledFrom = spilledFrom;
        }

        boolean isSpilled() {
            return spilledFrom != null;
        }

        long deviceBytes() {
            return spilledFrom == null ? bytes : 0;
        }
    }
}
