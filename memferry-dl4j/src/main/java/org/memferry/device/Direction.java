package org.memferry.device;

/** The two directions of a link; each has its own copy queue. */
public enum Direction {

    /** From the host to the device (H2D). */
    TO_DEVICE("to the device"),

    /** From the device to the host (D2H). */
    TO_HOST("to the host");

    private final String text;

    Direction(String text) {
        this.text = text;
    }

    /** For messages: {@code to the device} or {@code to the host}. */
    @Override
    public String toString() {
        return text;
    }
}
