package org.memferry.network;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/**
 * Values of ND4J's array format, streamed between a file and host memory through one chunk of heap. The file is big-endian, memory
 * is in the machine's order. Bits are moved, not numbers: a NaN keeps its payload, which {@code Nd4j.write} does not grant.
 */
final class ArrayStream {

    /** Bytes of heap that a transfer takes, whatever its length. */
    static final int CHUNK_BYTES = 1 << 20;

    private ArrayStream() {
    }

    /**
     * Fills host memory from a stream that stands at the first value.
     *
     * @param address first byte of a host range of {@code count * width} bytes; the caller keeps it alive
     * @param count   number of values, of any size
     * @param width   bytes per value, 4 or 8
     * @throws EOFException if the stream ends early; the values before that are in memory
     */
    static void read(InputStream in, long address, long count, int width) throws IOException {
        int perChunk = chunkLength(count, width);
        byte[] chunk = new byte[perChunk * width];
        for (long done = 0; done < count; ) {
            int n = (int) Math.min(perChunk, count - done);
            int got = in.readNBytes(chunk, 0, n * width);
            if (got < n * width) {
                throw new EOFException("the values end after " + (done + got / width) + " of " + count);
            }
            copy(ByteBuffer.wrap(chunk, 0, n * width), hostMemory(address + done * width, n * width), width);
            done += n;
        }
    }

    /**
     * Writes host memory to a stream.
     *
     * @param address first byte of a host range of {@code count * width} bytes; the caller keeps it alive and unchanged
     * @param count   number of values, of any size
     * @param width   bytes per value, 4 or 8
     */
    static void write(OutputStream out, long address, long count, int width) throws IOException {
        int perChunk = chunkLength(count, width);
        byte[] chunk = new byte[perChunk * width];
        for (long done = 0; done < count; ) {
            int n = (int) Math.min(perChunk, count - done);
            copy(hostMemory(address + done * width, n * width), ByteBuffer.wrap(chunk, 0, n * width), width);
            out.write(chunk, 0, n * width);
            done += n;
        }
    }

    private static int chunkLength(long count, int width) {
        return (int) Math.min(CHUNK_BYTES / width, count);
    }

    /** Copies all of {@code from}, value by value, into the byte order of {@code to}. */
    private static void copy(ByteBuffer from, ByteBuffer to, int width) {
        if (width == Integer.BYTES) {
            to.asIntBuffer().put(from.asIntBuffer());
        } else {
            to.asLongBuffer().put(from.asLongBuffer());
        }
    }

    /** A view of host memory that somebody else owns, in the machine's byte order. */
    private static ByteBuffer hostMemory(long address, int bytes) {
        return new HostRange(address, bytes).asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /** A JavaCPP pointer to a given address; it owns nothing and frees nothing. */
    private static final class HostRange extends BytePointer {

        private HostRange(long address, int bytes) {
            super((Pointer) null);
            this.address = address;
            this.limit = bytes;
            this.capacity = bytes;
        }
    }
}
