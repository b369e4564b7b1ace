package org.memferry.examples;

/** The machine-readable last line of every example: {@code RESULT name=... key=value ...}, in the order of the calls. */
public final class ResultLine {

    private final StringBuilder text;

    /** @param name of the example or bench */
    public ResultLine(String name) {
        this.text = new StringBuilder("RESULT name=").append(name);
    }

    /** Adds a value; one without blanks. */
    public ResultLine add(String key, Object value) {
        text.append(' ').append(key).append('=').append(value);
        return this;
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
