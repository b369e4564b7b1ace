package org.memferry.nd4j;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.memferry.device.Region;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.concurrency.AffinityManager.Location;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;

/**
 * Where the two sides of an array of ND4J's CUDA backend are: the primary one, which the host reads, and the special one, which the card
 * reads; and which of them ND4J is to hold for the latest. After a buffer is made ND4J holds neither for it, so that the first operation
 * would copy the whole of it over the link, and wait. Immutable.
 */
final class ArrayMemory {

    private final long primary;
    private final long special;
    private final long length;
    private final DataType type;
    private final Location latest;

    private ArrayMemory(long primary, long special, long length, DataType type, Location latest) {
        this.primary = primary;
        this.special = special;
        this.length = length;
        this.type = type;
        this.latest = latest;
    }

    /** Of an array that is read in place: pinned host memory is both sides, and whoever writes one has written the other. */
    static ArrayMemory direct(Region pinned, long offset, long length, DataType type) {
        long address = address(pinned, offset, length, type);
        return new ArrayMemory(address, address, length, type, Location.EVERYWHERE);
    }

    /**
     * Of an array in device memory. ND4J must be given a primary side: it would take host memory of the array's size for every slot. The
     * host master must not be it: operations of cuDNN mark even weights that they read as written on the card, and the next read by the host
     * would then copy a slot, which may hold another layer by that time, over the master. So slots share a scratch area that nobody else
     * uses. Arrays of one layer lie side by side in it, so that reads of two of them do not disturb each other.
     */
    static ArrayMemory slot(Region slab, long offset, Region scratch, long scratchStart, long length, DataType type) {
        return new ArrayMemory(address(scratch, scratchStart, length, type), address(slab, offset, length, type), length, type, Location.DEVICE);
    }

    /** Address of an element in a region that holds it and those behind it; checked. */
    static long address(Region region, long offset, long length, DataType type) {
        int size = RegionArrays.elementBytes(type);
        long end = Math.multiplyExact(Math.addExact(offset, length), (long) size);
        if (offset < 0 || length < 1 || end > region.bytes()) {
            throw new IllegalArgumentException("elements " + offset + " to " + (offset + length) + " of " + size + " bytes in region '"
                    + region.purpose() + "' of " + region.bytes() + " bytes");
        }
        return region.address() + Math.multiplyExact(offset, (long) size);
    }

    /** A pointer to an address, of a type's class. */
    static Pointer pointer(long address, long length, DataType type) {
        return typed(new PagedPointer(address), length, type);
    }

    /** A pointer of a type's class to the same place. Its capacity counts elements: DataBuffer.capacity() reads it and the pointer cast does not rescale. */
    static Pointer typed(Pointer start, long length, DataType type) {
        Pointer typed = type == DataType.FLOAT ? new FloatPointer(start) : new DoublePointer(start);
        typed.capacity(length);
        typed.limit(length);
        return typed;
    }

    long primary() {
        return primary;
    }

    long special() {
        return special;
    }

    long length() {
        return length;
    }

    DataType type() {
        return type;
    }

    Location latest() {
        return latest;
    }

    /** True if the host and the card read the same memory. */
    boolean isDirect() {
        return primary == special;
    }
}
