package org.memferry.base;

/**
 * Something was asked that MemFerry does not do. Thrown before anything was touched: the network is as it was.
 */
public class RefusedException extends MemFerryException {

    private static final long serialVersionUID = 1L;

    /** @param message what was refused, the rule behind it and the way out */
    public RefusedException(String message) {
        super(message);
    }
}
