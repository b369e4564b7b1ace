package org.memferry.device;

import org.bytedeco.javacpp.Pointer;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.TreeSet;

/** What JavaCPP lets this process have: its limits stand beside those of the system, and a misspelled one is none, without a word. */
public final class JavaCppLimits {

    /** How the names of JavaCPP's properties begin. */
    public static final String PREFIX = "org.bytedeco.javacpp.";

    private static final List<String> KNOWN = List.of("maxbytes", "maxBytes", "maxphysicalbytes", "maxPhysicalBytes");

    private JavaCppLimits() {
    }

    /** Adds JavaCPP's limit on the whole process, as it stands now, to what the system says. */
    public static HostMemory addTo(HostMemory memory) {
        return addTo(memory, Pointer.maxPhysicalBytes(), Pointer.physicalBytes());
    }

    /**
     * Adds a limit.
     *
     * @param limit bytes; 0 or less for none
     * @param used  bytes of the process now
     */
    public static HostMemory addTo(HostMemory memory, long limit, long used) {
        return limit <= 0 ? memory : memory.with(new HostMemory.Limit(HostMemory.Kind.JAVACPP, limit, limit - used));
    }

    /** JavaCPP knows {@code maxphysicalbytes} and {@code maxPhysicalBytes}; any other spelling it does not read, and says nothing. */
    public static List<String> misspelled(Properties properties) {
        List<String> wrong = new ArrayList<>();
        for (String name : new TreeSet<>(properties.stringPropertyNames())) {
            String own = name.toLowerCase(Locale.ROOT).startsWith(PREFIX) ? name.substring(PREFIX.length()) : name;
            boolean limit = KNOWN.stream().anyMatch(own::equalsIgnoreCase);
            if (limit && !(name.startsWith(PREFIX) && KNOWN.contains(own))) {
                wrong.add(name);
            }
        }
        return wrong;
    }
}
