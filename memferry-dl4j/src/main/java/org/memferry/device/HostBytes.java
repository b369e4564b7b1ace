package org.memferry.device;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * Copies and compares host memory byte by byte, so that equal means the same bits: NaN is equal to itself, and 0 is not equal to -0. For one
 * thread.
 */
public final class HostBytes {

    /** Bytes that are compared at once. */
    private static final long CHUNK = 1 << 20;

    private final Address target = new Address();
    private final Address source = new Address();
    private final Values values = new Values();

    /** Reads memory at any address. */
    private static final class Values extends BytePointer {

        Values() {
            super((Pointer) null);
        }

        Values at(long address) {
            this.address = address;
            return this;
        }
    }

    /** Copies bytes from one address to another; the two do not overlap. */
    public void copy(long from, long to, long bytes) {
        Pointer.memcpy(target.at(to), source.at(from), bytes);
    }

    /** Index of the first byte that differs; -1 if none does. */
    public long firstDifference(long a, long b, long bytes) {
        for (long start = 0; start < bytes; start += CHUNK) {
            long length = Math.min(CHUNK, bytes - start);
            if (!same(a + start, b + start, length)) {
                return start + narrow(a + start, b + start, length);
            }
        }
        return -1;
    }

    private long narrow(long a, long b, long bytes) {
        long from = 0;
        long length = bytes;
        while (length > 1) {
            long half = length / 2;
            boolean later = same(a + from, b + from, half);
            from += later ? half : 0;
            length = later ? length - half : half;
        }
        return from;
    }

    private boolean same(long a, long b, long bytes) {
        return Pointer.memcmp(target.at(a), source.at(b), bytes) == 0;
    }

    /** The four or eight bytes at an address, as a number of this width. */
    public long bits(long address, int width) {
        return width == Integer.BYTES ? values.at(address).getInt() & 0xffffffffL : values.at(address).getLong();
    }

    /** A number that is very likely another one where the bytes are others. */
    public long hash(long address, long bytes) {
        long hash = bytes;
        values.at(address);
        long words = bytes / Long.BYTES;
        for (long i = 0; i < words; i++) {
            hash = 31 * hash + values.getLong(i * Long.BYTES);
        }
        for (long i = words * Long.BYTES; i < bytes; i++) {
            hash = 31 * hash + values.get(i);
        }
        return hash;
    }
}
