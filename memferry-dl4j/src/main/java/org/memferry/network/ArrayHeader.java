package org.memferry.network;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import org.nd4j.linalg.api.buffer.DataBuffer.AllocationMode;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.shape.options.ArrayOptionsHelper;

/**
 * What {@code Nd4j.write} puts before the values of a vector. Two buffers follow each other, the shape information and the values;
 * each starts with the name of its allocation mode (modified UTF-8 after a 16-bit length), its length in elements (64 bits; 32 bits
 * in the three oldest modes) and the name of its type, and holds its elements big-endian. The shape information is: rank, sizes,
 * strides, option bits (they name the type), element-wise stride, the character of the order. This class covers everything up to
 * the first value.
 */
final class ArrayHeader {

    private static final String MODE = AllocationMode.MIXED_DATA_TYPES.name();
    private static final int MAX_RANK = 32;
    /** More would not leave room for the header in a length in bytes. */
    private static final long MAX_COUNT = Long.MAX_VALUE / 16;
    private static final int PARTS_BESIDES_SIZES_AND_STRIDES = 4;

    private final DataType type;
    private final long count;
    private final long bytes;

    private ArrayHeader(DataType type, long count, long bytes) {
        this.type = type;
        this.count = count;
        this.bytes = bytes;
    }

    /** Type of the values as they are stored. */
    DataType type() {
        return type;
    }

    /** Number of values. */
    long count() {
        return count;
    }

    /** Length of this header in bytes: where the values start. */
    long bytes() {
        return bytes;
    }

    /** Length of header and values in bytes. */
    long totalBytes() {
        return Math.addExact(bytes, Math.multiplyExact(count, (long) type.width()));
    }

    /**
     * Writes the header of a vector, byte for byte as {@code Nd4j.write} does for an array of this type and shape in order c.
     *
     * @param shape a vector's
     */
    static void write(OutputStream out, DataType type, long... shape) throws IOException {
        DataOutputStream data = new DataOutputStream(out);
        data.writeUTF(MODE);
        data.writeLong(2L * shape.length + PARTS_BESIDES_SIZES_AND_STRIDES);
        data.writeUTF(DataType.LONG.name());
        data.writeLong(shape.length);
        for (long size : shape) {
            data.writeLong(size);
        }
        // ND4J gives both dimensions of [1, n] stride 1; beyond rank 2, which no network has, it would not.
        for (int i = 0; i < shape.length; i++) {
            data.writeLong(1);
        }
        data.writeLong(ArrayOptionsHelper.setOptionBit(0L, type));
        data.writeLong(1);
        data.writeLong('c');
        data.writeUTF(MODE);
        data.writeLong(elements(shape));
        data.writeUTF(type.name());
        data.flush();
    }

    /**
     * Reads a header and leaves the stream at the first value. Not one byte more is taken.
     *
     * @throws IOException if the stream ends early or holds anything but a vector in this format; the text says what was found
     */
    static ArrayHeader read(InputStream in) throws IOException {
        DataInputStream data = new DataInputStream(in);
        BufferStart shapeStart = BufferStart.read(data);
        if (shapeStart.type != DataType.LONG && shapeStart.type != DataType.INT) {
            throw new IOException("the shape information is of type " + shapeStart.type + " (expected: LONG or INT)");
        }
        if (shapeStart.length < PARTS_BESIDES_SIZES_AND_STRIDES
                || shapeStart.length > 2L * MAX_RANK + PARTS_BESIDES_SIZES_AND_STRIDES) {
            throw new IOException("the shape information has " + shapeStart.length + " elements (expected: 2 x rank + 4)");
        }
        long[] information = new long[(int) shapeStart.length];
        for (int i = 0; i < information.length; i++) {
            information[i] = shapeStart.type == DataType.LONG ? data.readLong() : data.readInt();
        }
        long count = vectorLength(information);
        BufferStart valuesStart = BufferStart.read(data);
        if (valuesStart.type.width() < 1) {
            throw new IOException("the values are of type " + valuesStart.type + " (expected: plain numbers)");
        }
        if (valuesStart.length != count || count > MAX_COUNT) {
            throw new IOException("the shape says " + count + " values, the buffer " + valuesStart.length + " (expected: the same, at most "
                    + MAX_COUNT + ")");
        }
        long shapeBytes = shapeStart.length * shapeStart.type.width();
        return new ArrayHeader(valuesStart.type, count, shapeStart.bytes + shapeBytes + valuesStart.bytes);
    }

    /** Product of the sizes, exact. */
    static long elements(long... shape) {
        long product = 1;
        for (long size : shape) {
            product = Math.multiplyExact(product, size);
        }
        return product;
    }

    /** True for {@code [n]}, {@code [1, n]} and {@code [n, 1]}: the values then lie in memory as in the file. */
    static boolean isVector(long... shape) {
        boolean oneLong = Arrays.stream(shape).filter(size -> size != 1).count() <= 1;
        return (shape.length == 1 || shape.length == 2) && oneLong && Arrays.stream(shape).allMatch(size -> size >= 0);
    }

    private static long vectorLength(long[] information) throws IOException {
        int rank = (int) Math.max(0, Math.min(MAX_RANK, information[0]));
        if (rank != information[0] || information.length != 2 * rank + PARTS_BESIDES_SIZES_AND_STRIDES) {
            throw new IOException("rank " + information[0] + " does not fit shape information of " + information.length
                    + " elements (expected: 2 x rank + 4)");
        }
        long[] shape = Arrays.copyOfRange(information, 1, 1 + rank);
        if (!isVector(shape)) {
            throw new IOException("the shape is " + Arrays.toString(shape) + " (expected: a vector, such as [n] or [1, n])");
        }
        for (int i = 0; i < rank; i++) {
            if (shape[i] > 1 && information[1 + rank + i] != 1) {
                throw new IOException("the values are " + information[1 + rank + i] + " apart (expected: stride 1)");
            }
        }
        return elements(shape);
    }

    /** What a buffer starts with: mode, length, type. */
    private static final class BufferStart {

        private final long length;
        private final DataType type;
        private final long bytes;

        private BufferStart(long length, DataType type, long bytes) {
            this.length = length;
            this.type = type;
            this.bytes = bytes;
        }

        private static BufferStart read(DataInputStream data) throws IOException {
            String mode = data.readUTF();
            boolean longLength = name(AllocationMode.class, mode, "allocation mode").ordinal() >= AllocationMode.LONG_SHAPE.ordinal();
            long length = longLength ? data.readLong() : data.readInt();
            String type = data.readUTF();
            long bytes = 2L + mode.length() + (longLength ? Long.BYTES : Integer.BYTES) + 2L + type.length();
            return new BufferStart(length, name(DataType.class, type, "type"), bytes);
        }

        private static <E extends Enum<E>> E name(Class<E> names, String text, String what) throws IOException {
            return Arrays.stream(names.getEnumConstants()).filter(e -> e.name().equals(text)).findFirst()
                    .orElseThrow(() -> new IOException("'" + printable(text) + "' is no " + what + " of ND4J (expected: one of "
                            + Arrays.toString(names.getEnumConstants()) + ")"));
        }

        private static String printable(String text) {
            String clean = text.replaceAll("[^\\x20-\\x7e]", "?");
            return clean.length() <= 32 ? clean : clean.substring(0, 32) + "...";
        }
    }
}
