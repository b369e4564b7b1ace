package org.memferry.examples.doctor;

import org.memferry.MemFerryConfig;
import org.memferry.MemFerryProperties;
import org.memferry.base.RefusedException;
import org.memferry.update.UpdateWorkers;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** MemFerry's settings in properties and environment, those that mean nothing by name, and the threads that computation has. */
final class SettingFindings {

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
        List<String> known = new ArrayList<>();
        for (String property : new TreeSet<>(MemFerryProperties.names())) {
            String variable = MemFerryProperties.environmentName(property);
            if (surroundings.properties().getProperty(property) != null) {
                known.add("-D" + property + "=" + surroundings.properties().getProperty(property));
            }
            if (MemFerryProperties.hasEnvironmentTwin(property) && surroundings.environment().containsKey(variable)) {
                known.add(variable + "=" + surroundings.environment().get(variable));
            }
        }
        List<Finding> all = new ArrayList<>(List.of(valid(known)));
        MemFerryProperties.unknown(surroundings.properties(), surroundings.environment())
                .forEach((name, wayOut) -> all.add(Finding.note("setting", name + " is no setting of MemFerry", wayOut)));
        all.add(threads());
        return all;
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
