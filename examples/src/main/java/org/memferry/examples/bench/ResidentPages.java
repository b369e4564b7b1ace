package org.memferry.examples.bench;

import org.nd4j.linalg.api.ndarray.INDArray;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Which pages of memory the kernel says are there, from {@code /proc/self/pagemap}: what was asked for takes nothing before it is touched. */
final class ResidentPages {

    private static final String MAP = "/proc/self/pagemap";
    private static final int PAGE = 4096;
    private static final int ENTRY = Long.BYTES;
    private static final int ENTRIES_AT_ONCE = 1 << 16;

    private ResidentPages() {
    }

    /** Bytes of the pages under an array that are resident; 0 for null. */
    static long bytes(INDArray array) throws IOException {
        return array == null ? 0 : bytes(array.data().address(), array.length() * array.data().getElementSize());
    }

    private static long bytes(long address, long length) throws IOException {
        long first = address / PAGE;
        long end = (address + length + PAGE - 1) / PAGE;
        long resident = 0;
        try (RandomAccessFile map = new RandomAccessFile(MAP, "r")) {
            map.seek(first * ENTRY);
            byte[] chunk = new byte[ENTRIES_AT_ONCE * ENTRY];
            for (long page = first; page < end; ) {
                int entries = (int) Math.min(ENTRIES_AT_ONCE, end - page);
                map.readFully(chunk, 0, entries * ENTRY);
                ByteBuffer present = ByteBuffer.wrap(chunk, 0, entries * ENTRY).order(ByteOrder.nativeOrder());
                for (int i = 0; i < entries; i++) {
                    // The highest bit: the page is in memory.
                    resident += present.getLong() < 0 ? PAGE : 0;
                }
                page += entries;
            }
        }
        return resident;
    }
}
