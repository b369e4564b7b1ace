package org.memferry.agent;

import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * The agent's arguments as what they stand for, MemFerry's system properties. A property that is set already stays: what is said to the
 * virtual machine by {@code -D} goes first.
 */
final class Settings {

    /** The properties, without their prefix. */
    static final List<String> NAMES = List.of("enabled", "device", "deviceMemory", "headroom", "strategy", "profile", "eagerUpdate", "spillToHost",
            "verifyFirstSteps", "preflight", "update.threads", "update.kernel");
    static final String PREFIX = "org.memferry.";
    private static final String ENABLED = "enabled";

    private final Consumer<String> complaints;

    /** @param complaints is told of arguments that mean nothing */
    Settings(Consumer<String> complaints) {
        this.complaints = complaints;
    }

    /** Sets the properties. A comma ends a setting only where the name of another follows: devices have options of their own. */
    void set(String arguments) {
        String name = null;
        StringBuilder value = new StringBuilder();
        for (String item : arguments == null || arguments.isBlank() ? new String[0] : arguments.split(",")) {
            int equals = item.indexOf('=');
            String start = equals < 0 ? "" : item.substring(0, equals).trim();
            if (NAMES.contains(start)) {
                set(name, value);
                name = start;
                value = new StringBuilder(item.substring(equals + 1));
            } else if (name == null) {
                complaints.accept("'" + item + "' in the agent's arguments is no setting (expected: name=value, one of " + NAMES + ")");
            } else {
                value.append(',').append(item);
            }
        }
        set(name, value);
    }

    private static void set(String name, CharSequence value) {
        if (name != null && System.getProperty(PREFIX + name) == null) {
            System.setProperty(PREFIX + name, value.toString().trim());
        }
    }

    /** True if the property {@code org.memferry.enabled} or, where it is not set, its environment twin says so. */
    static boolean isOff() {
        String property = System.getProperty(PREFIX + ENABLED, System.getenv("MEMFERRY_" + ENABLED.toUpperCase(Locale.ROOT)));
        return "false".equalsIgnoreCase(property == null ? null : property.trim());
    }
}
