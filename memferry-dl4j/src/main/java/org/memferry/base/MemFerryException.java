package org.memferry.base;

/**
 * What every refusal and failure of MemFerry is: one text that says what failed, the numbers, the rule, and the way out.
 */
public class MemFerryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** @param message what failed, the numbers, the rule and the way out */
    public MemFerryException(String message) {
        super(message);
    }

    /**
     * @param message what failed, the numbers, the rule and the way out
     * @param cause   the first cause
     */
    public MemFerryException(String message, Throwable cause) {
        super(message, cause);
    }
}
