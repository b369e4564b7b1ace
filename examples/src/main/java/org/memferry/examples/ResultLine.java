package org.memferry.examples;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.LinkedHashMap;
import java.util.Map;

/** The machine-readable last line of every example: {@code RESULT name=... key=value ...}, in the order of the calls. */
public final class ResultLine {

    private static final String WHOLE = "-?\\d{1,18}";
    private static final String DECIMAL = "-?\\d+\\.\\d+([eE]-?\\d+)?";

    private final Map<String, String> values = new LinkedHashMap<>();

    /** @param name of the example or bench */
    public ResultLine(String name) {
        add("name", name);
    }

    /** Adds a value; one without blanks. */
    public ResultLine add(String key, Object value) {
        values.put(key, String.valueOf(value));
        return this;
    }

    /** Puts the same values into an object: numbers as numbers, true and false as what they are. */
    void putInto(ObjectNode node) {
        values.forEach((key, value) -> {
            if (value.matches(WHOLE)) {
                node.put(key, Long.parseLong(value));
            } else if (value.matches(DECIMAL)) {
                node.put(key, Double.parseDouble(value));
            } else if (value.equals("true") || value.equals("false")) {
                node.put(key, Boolean.parseBoolean(value));
            } else {
                node.put(key, value);
            }
        });
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("RESULT");
        values.forEach((key, value) -> text.append(' ').append(key).append('=').append(value));
        return text.toString();
    }
}
