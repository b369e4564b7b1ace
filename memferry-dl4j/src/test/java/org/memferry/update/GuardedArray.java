package org.memferry.update;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;

/** Native memory between two walls of guard bytes, starting at any element of a cache line. */
final class GuardedArray implements AutoCloseable {

    private static final int WALL = 192;
    private static final byte GUARD = 0x5A;

    final ElementType type;
    final int length;
    private final BytePointer memory;
    private final long start;

    /** @param shift elements between a cache line's start and the array's */
    GuardedArray(ElementType type, int length, int shift) {
        this.type = type;
        this.length = length;
        memory = new BytePointer((long) length * type.bytes() + 3L * WALL + (long) shift * type.bytes());
        Pointer.memset(memory, GUARD, memory.capacity());
        long aligned = (memory.address() + WALL + 63) & -64;
        start = aligned - memory.address() + (long) shift * type.bytes();
    }

    long address() {
        return memory.address() + start;
    }

    void write(double[] values) {
        if (type == ElementType.FLOAT) {
            float[] f = new float[length];
            for (int i = 0; i < length; i++) {
                f[i] = (float) values[i];
            }
            new JavaKernel.FloatsAt().at(address()).put(f, 0, length);
        } else {
            new JavaKernel.DoublesAt().at(address()).put(values, 0, length);
        }
    }

    /** The elements, exact: floats widened. */
    double[] read() {
        double[] d = new double[length];
        if (type == ElementType.FLOAT) {
            float[] f = new float[length];
            new JavaKernel.FloatsAt().at(address()).get(f, 0, length);
            for (int i = 0; i < length; i++) {
                d[i] = f[i];
            }
        } else {
            new JavaKernel.DoublesAt().at(address()).get(d, 0, length);
        }
        return d;
    }

    /** Whether nothing outside the array was written. */
    boolean wallsStand() {
        long end = start + (long) length * type.bytes();
        for (long i = 0; i < memory.capacity(); i++) {
            if ((i < start || i >= end) && memory.get(i) != GUARD) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() {
        memory.close();
    }
}
