package org.memferry.update;

import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.buffer.DataType;

/** Types of parameters that the update engine computes in. */
public enum ElementType {

    /** 32 bits. */
    FLOAT(4),
    /** 64 bits. */
    DOUBLE(8);

    private final int bytes;

    ElementType(int bytes) {
        this.bytes = bytes;
    }

    /** Bytes of one element. */
    public int bytes() {
        return bytes;
    }

    /**
     * The type for an ND4J array.
     *
     * @throws RefusedException if parameters of this type are not updated here
     */
    public static ElementType of(DataType type) {
        if (type == DataType.FLOAT) {
            return FLOAT;
        }
        if (type == DataType.DOUBLE) {
            return DOUBLE;
        }
        throw new RefusedException("parameters of type " + type + " cannot be updated by the fused update (expected: FLOAT or DOUBLE; use"
                        + " DL4J's own updater for others)");
    }

    /** Rounds to this type; the result is exact in a {@code double}. */
    double round(double value) {
        return this == FLOAT ? (float) value : value;
    }
}
