package org.memferry.device;

/**
 * Asks the system to back a block with huge pages: a pass over several gigabyte-sized arrays then waits less for address translation.
 * Linux takes the wish where {@code /sys/kernel/mm/transparent_hugepage/enabled} says {@code madvise} and ignores it at {@code never};
 * other systems, and a process without the native library, go on with the pages they have.
 */
final class HugePages {

    /** Bytes of a huge page on x86-64; only whole ones within a block are asked for. */
    static final long BYTES = 2 << 20;

    private HugePages() {
    }

    /**
     * Asks for huge pages in all of a block that consists of whole ones. The block must not have been written to yet: what has its pages
     * keeps them.
     *
     * @param address first byte
     * @param bytes   length
     */
    static void ask(long address, long bytes) {
        long from = (address + BYTES - 1) & -BYTES;
        long to = (address + bytes) & -BYTES;
        if (to > from && NativeLibrary.isLoaded()) {
            // A system that does not know the wish says so; nothing is lost.
            advise(from, to - from);
        }
    }

    /** madvise(MADV_HUGEPAGE): 0, or the system's error number. Both arguments are multiples of a page. */
    static native int advise(long address, long bytes);
}
