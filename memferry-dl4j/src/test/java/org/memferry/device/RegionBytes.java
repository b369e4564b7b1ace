package org.memferry.device;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

import org.bytedeco.javacpp.BytePointer;

/** The bytes of a region with real memory, for tests to write and read. */
public final class RegionBytes {

    private RegionBytes() {
    }

    /** A view of all bytes of an open region of at most 2 GB, in the machine's order. */
    public static ByteBuffer of(Region region) {
        return new BytePointer(new Address().at(region.address())).capacity(region.bytes()).asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /** Copies the bytes out. */
    public static byte[] read(Region region) {
        byte[] bytes = new byte[Math.toIntExact(region.bytes())];
        if (bytes.length > 0) {
            of(region).get(bytes);
        }
        return bytes;
    }

    /** Sets every byte. */
    public static void fill(Region region, int value) {
        ByteBuffer bytes = of(region);
        while (bytes.hasRemaining()) {
            bytes.put((byte) value);
        }
    }
}
