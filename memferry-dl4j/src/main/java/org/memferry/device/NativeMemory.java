package org.memferry.device;

import org.bytedeco.javacpp.Pointer;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.Sizes;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * One zeroed block of memory straight from the operating system: not on the Java heap and not counted by JavaCPP's
 * {@code maxbytes}. Large blocks cost physical memory only where they are written to, in huge pages where the system gives some.
 */
public final class NativeMemory implements Regions.Memory {

    /** Every block starts at a multiple of this many bytes. */
    public static final long ALIGNMENT = 256;
    /**
     * Large blocks that are used side by side (parameters, gradients, moments) must not lie at equal distances modulo a large power of
     * two: some processors then take several times as long for a pass over all of them. Each starts a little further into its pages.
     */
    private static final long STAGGER = (16 << 10) + 5 * ALIGNMENT;
    private static final int STAGGERS = 8;
    private static final long LARGE = 16 << 20;
    private static final AtomicInteger LARGE_BLOCKS = new AtomicInteger();

    private final Pointer block;
    private final long address;
    private final long extra;

    private NativeMemory(Pointer block, long stagger) {
        this.block = block;
        this.extra = ALIGNMENT + stagger;
        this.address = Sizes.align(block.address(), ALIGNMENT) + stagger;
    }

    /**
     * Takes a block. A block that the system refuses is refused here at once: no collection is forced, no second try is made.
     *
     * @param bytes   at least 0
     * @param purpose what it is for, named in the error
     * @throws OutOfMemoryException if the system does not have it; nothing was taken then
     */
    public static NativeMemory zeroed(long bytes, String purpose) {
        long stagger = bytes < LARGE ? 0 : Math.floorMod(LARGE_BLOCKS.getAndIncrement(), STAGGERS) * STAGGER;
        // calloc's own alignment is 16 bytes: the start is moved up inside a block that is larger by one alignment.
        long extra = ALIGNMENT + stagger;
        Pointer block = bytes > Long.MAX_VALUE - extra ? null : Pointer.calloc(1, bytes + extra);
        if (block == null || block.isNull()) {
            long available = Pointer.availablePhysicalBytes();
            throw new OutOfMemoryException("host memory for " + purpose + ": the system refused " + Sizes.exact(bytes) + "; "
                    + Sizes.format(available) + " of " + Sizes.format(Pointer.totalPhysicalBytes())
                    + " are available (raise the limit of the process or container, or train a smaller network)", bytes, available);
        }
        if (bytes >= LARGE) {
            HugePages.ask(block.address(), bytes + extra);
        }
        return new NativeMemory(block, stagger);
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public long allocatedBytes(long asked) {
        return asked + extra;
    }

    @Override
    public void free() {
        Pointer.free(block);
    }
}
