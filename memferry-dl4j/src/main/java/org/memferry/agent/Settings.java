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
    /** What a device takes behind its name, after commas. */
    static final List<String> DEVICE_OPTIONS = List.of("memory", "h2d", "d2h", "dilation", "pace", "poison", "delay");
    static final String PREFIX = "org.memferry.";
    private static final String ENABLED = "enabled";
    private static final String DEVICE = "device";
    private static final String PROFILE = "profile";

    private final Consumer<String> complaints;

    /** @param complaints is told of arguments that mean nothing */
    Settings(Consumer<String> complaints) {
        this.complaints = complaints;
    }

    /** Sets the properties. A device's options, which stand behind commas too, stay with it. */
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
            } else if (continues(name, item)) {
                value.append(',').append(item);
            } else {
                complaints.accept("'" + item + "' in the agent's arguments is no setting (expected: name=value, one of " + NAMES
                        + ", or behind a device one of its options " + DEVICE_OPTIONS + ")");
            }
        }
        set(name, value);
    }

    /** Devices have options, and a file's name may have a comma; what else stands behind one is most likely a setting that is misspelt. */
    private static boolean continues(String name, String item) {
        return DEVICE.equals(name) ? DEVICE_OPTIONS.contains(item.split("=", 2)[0].trim()) : PROFILE.equals(name) && !item.contains("=");
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
