package org.memferry.examples.doctor;

import org.memferry.MemFerryConfig;
import org.memferry.MemFerryProperties;
import org.memferry.base.RefusedException;
import org.memferry.update.UpdateWorkers;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** MemFerry's settings in properties and environment, those that mean nothing by name, and the threads that computation has. */
final class SettingFindings {

    private static final String PREFIX = "org.memferry.";
    /** The command line's own, for its log. */
    private static final String OURS = "org.memferry.examples.";
    private static final String ENVIRONMENT = "MEMFERRY_";
    private static final String THREADS = "OMP_NUM_THREADS";
    private static final String WAITING = "OMP_WAIT_POLICY";

    private final Surroundings surroundings;
    private final int processors;

    /** @param processors that this program may use */
    SettingFindings(Surroundings surroundings, int processors) {
        this.surroundings = surroundings;
        this.processors = processors;
    }

    List<Finding> findings() {
        List<Finding> all = new ArrayList<>();
        List<String> known = new ArrayList<>();
        for (String name : new TreeSet<>(surroundings.properties().stringPropertyNames())) {
            if (MemFerryProperties.names().contains(name)) {
                known.add("-D" + name + "=" + surroundings.properties().getProperty(name));
            } else if (name.startsWith(PREFIX) && !name.startsWith(OURS)) {
                all.add(Finding.note("setting", "-D" + name + " is no setting of MemFerry", nearest(name)));
            }
        }
        for (Map.Entry<String, String> variable : surroundings.environment().entrySet()) {
            if (variable.getKey().startsWith(ENVIRONMENT)) {
                addVariable(variable.getKey(), variable.getValue(), known, all);
            }
        }
        all.add(0, valid(known));
        all.add(threads());
        return all;
    }

    private static void addVariable(String name, String value, List<String> known, List<Finding> all) {
        String property = MemFerryProperties.names().stream().filter(p -> MemFerryProperties.environmentName(p).equals(name)).findFirst().orElse(null);
        if (property != null && MemFerryProperties.hasEnvironmentTwin(property)) {
            known.add(name + "=" + value);
        } else {
            all.add(Finding.note("setting", name + " in the environment is no setting of MemFerry",
                    property == null ? "Names are those of the properties, as MEMFERRY_DEVICE_MEMORY for org.memferry.deviceMemory."
                            : "It has no environment variable: set -D" + property + "=" + value + "."));
        }
    }

    private static String nearest(String wrong) {
        for (String name : MemFerryProperties.names()) {
            if (name.equalsIgnoreCase(wrong)) {
                return "Spell it " + name + ".";
            }
        }
        return "Settings are " + String.join(", ", MemFerryProperties.names()) + ".";
    }

    /** The values are read where MemFerry reads them: from this process, of which the tests' surroundings tell the same. */
    private static Finding valid(List<String> known) {
        String found = known.isEmpty() ? "none in properties or environment: the defaults hold" : String.join(" ", known);
        try {
            MemFerryConfig.fromProperties();
            return Finding.ok("settings", found);
        } catch (RefusedException e) {
            return Finding.fix("settings", found, e.getMessage());
        }
    }

    private Finding threads() {
        String number = surroundings.environment().get(THREADS);
        String waiting = surroundings.environment().get(WAITING);
        String found = processors + " processors; " + THREADS + (number == null ? " not set" : "=" + number) + ", " + WAITING
                + (waiting == null ? " not set" : "=" + waiting) + "; optimizer steps on " + UpdateWorkers.defaultThreads();
        if ("1".equals(number) && processors > 1) {
            return Finding.note("threads", found, "Launchers of many processes leave " + THREADS + "=1 behind: unset it to compute on all processors.");
        }
        return "PASSIVE".equalsIgnoreCase(waiting) ? Finding.ok("threads", found) : Finding.note("threads", found,
                "Set " + WAITING + "=PASSIVE in the environment: idle threads of ND4J then leave the processors to copies and steps.");
    }
}
