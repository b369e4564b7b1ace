package org.memferry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/** Properties and environment variables that are spelt like settings of MemFerry and are none: nothing reads them, and without a word. */
final class UnknownSettings {

    private static final Logger LOG = LoggerFactory.getLogger(UnknownSettings.class);
    private static final String PREFIX = "org.memferry.";
    private static final String ENVIRONMENT = "MEMFERRY_";
    /** A name is taken for another one that is misspelt if no more than one letter in so many differs. */
    private static final int LETTERS_PER_SLIP = 5;
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    private UnknownSettings() {
    }

    /** Warns of those of this program, of each one once. */
    static void warn() {
        find(System.getProperties(), System.getenv()).forEach((name, wayOut) -> {
            if (TOLD.add(name)) {
                LOG.warn("{} is no setting of MemFerry. {}", name, wayOut);
            }
        });
    }

    /** The names, properties as {@code -Dname}, and with each what to do about it. */
    static Map<String, String> find(Properties properties, Map<String, String> environment) {
        Map<String, String> found = new TreeMap<>();
        for (String name : new TreeSet<>(properties.stringPropertyNames())) {
            if (name.startsWith(PREFIX) && !MemFerryProperties.names().contains(name)) {
                found.put("-D" + name, nearest(name, MemFerryProperties.names().toArray(String[]::new)));
            }
        }
        String[] twins = MemFerryProperties.names().stream().filter(MemFerryProperties::hasEnvironmentTwin)
                .map(MemFerryProperties::environmentName).toArray(String[]::new);
        environment.forEach((name, value) -> {
            if (name.startsWith(ENVIRONMENT) && !Arrays.asList(twins).contains(name)) {
                found.put(name + " in the environment", MemFerryProperties.names().stream()
                        .filter(property -> MemFerryProperties.environmentName(property).equals(name)).findFirst()
                        .map(property -> "It has no environment variable: set -D" + property + "=" + value + ".").orElseGet(() -> nearest(name, twins)));
            }
        });
        return found;
    }

    private static String nearest(String wrong, String[] names) {
        String nearest = Arrays.stream(names).min(Comparator.comparingInt(name -> slips(wrong, name))).orElseThrow();
        return slips(wrong, nearest) <= wrong.length() / LETTERS_PER_SLIP ? "Did you mean " + nearest + "?"
                : "Settings are " + String.join(", ", names) + ".";
    }

    /** Letters to put in, leave out or change (Levenshtein's distance); capitals do not count. */
    private static int slips(String wrong, String right) {
        String a = wrong.toLowerCase(Locale.ROOT);
        String b = right.toLowerCase(Locale.ROOT);
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, i -> i);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int above = row[j];
                row[j] = Math.min(Math.min(above, row[j - 1]) + 1, diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1));
                diagonal = above;
            }
        }
        return row[b.length()];
    }
}
