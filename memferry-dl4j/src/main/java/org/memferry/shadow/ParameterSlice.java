package org.memferry.shadow;

/** Where one parameter lies inside its layer's contiguous piece of the flat vector, and what shape it has. */
public final class ParameterSlice {

    private final String key;
    private final long offset;
    private final long[] shape;
    private final long[] stride;
    private final char ordering;
    private final boolean pinned;

    /**
     * @param key      the parameter's name in its layer
     * @param offset   index of its first element, from the layer's first
     * @param shape    its shape
     * @param stride   its stride in elements
     * @param ordering 'c' or 'f'
     * @param pinned   true if readers keep or write the array, so that it must always be the host master
     */
    public ParameterSlice(String key, long offset, long[] shape, long[] stride, char ordering, boolean pinned) {
        this.key = key;
        this.offset = offset;
        this.shape = shape.clone();
        this.stride = stride.clone();
        this.ordering = ordering;
        this.pinned = pinned;
    }

    /** The parameter's name in its layer. */
    public String key() {
        return key;
    }

    /** Index of the first element, from the layer's first. */
    public long offset() {
        return offset;
    }

    /** True if readers keep or write the array, so that it must always be the host master. */
    public boolean pinned() {
        return pinned;
    }

    long[] shape() {
        return shape;
    }

    long[] stride() {
        return stride;
    }

    char ordering() {
        return ordering;
    }
}
