package org.memferry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Settings in properties and environment that a network does not have, as the program made its configuration without them. */
final class UnusedSettings {

    private static final Logger LOG = LoggerFactory.getLogger(UnusedSettings.class);
    private static final Set<List<String>> TOLD = ConcurrentHashMap.newKeySet();

    private UnusedSettings() {
    }

    /** Warns of those of this program, of the same ones once. To be called where a network is attached by such a configuration. */
    static void warn() {
        List<String> unused = find(System::getProperty, System::getenv);
        if (!unused.isEmpty() && TOLD.add(unused)) {
            LOG.warn("set, but not used, as this network's configuration was made without them: {}. MemFerryConfig.fromProperties() makes one with them.",
                    String.join(", ", unused));
        }
    }

    /** The names, properties as {@code -Dname}; a variable in the environment only where its property is not set. */
    static List<String> find(Function<String, String> properties, Function<String, String> environment) {
        List<String> found = new ArrayList<>();
        for (String property : MemFerryProperties.ofConfigurations()) {
            if (MemFerryProperties.value(property, properties, environment) != null) {
                found.add(properties.apply(property) != null ? "-D" + property : MemFerryProperties.environmentName(property) + " in the environment");
            }
        }
        return found;
    }
}
