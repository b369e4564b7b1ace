package org.memferry.base;

/** Device or host memory is short. Carries the numbers, in bytes, besides the text. */
public class OutOfMemoryException extends MemFerryException {

    private static final long serialVersionUID = 1L;

    private final long askedBytes;
    private final long availableBytes;

    /**
     * @param message        what was asked for, what is there, and the setting to change
     * @param askedBytes     bytes asked for
     * @param availableBytes bytes that were there
     */
    public OutOfMemoryException(String message, long askedBytes, long availableBytes) {
        super(message);
        this.askedBytes = askedBytes;
        this.availableBytes = availableBytes;
    }

    /** Bytes asked for. */
    public long askedBytes() {
        return askedBytes;
    }

    /** Bytes that were there. */
    public long availableBytes() {
        return availableBytes;
    }
}
