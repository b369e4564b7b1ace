package org.memferry.base;

/**
 * An iteration was trained beside stock DL4J, and the two are not the same bits. Thrown when the step of that iteration is taken, before DL4J
 * has counted it and applied constraints; or before an iteration is computed, where its beginning is not the end of the one before. The
 * network stays attached and can be saved, but its numbers are not to be trusted.
 */
public final class DifferenceException extends MemFerryException {

    private static final long serialVersionUID = 1L;

    /** @param message what differs, both values, the rule and the way out */
    public DifferenceException(String message) {
        super(message);
    }
}
