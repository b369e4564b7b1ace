package org.memferry.base;

/**
 * An iteration was trained beside stock DL4J, and the two are not the same bits. Thrown at the end of that iteration: its step is taken,
 * the network is attached and can be saved, but its numbers are not to be trusted.
 */
public final class DifferenceException extends MemFerryException {

    private static final long serialVersionUID = 1L;

    /** @param message what differs, both values, the rule and the way out */
    public DifferenceException(String message) {
        super(message);
    }
}
