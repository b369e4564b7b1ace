package org.memferry.examples.doctor;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** {@code memferry doctor}. */
@Command(name = "doctor", mixinStandardHelpOptions = true,
        description = {"Says whether training works on this machine, and what to mend if not: looks at Java, processor, ND4J, cards, limits and"
                + " settings, and trains a small network beside plain DL4J. Start it with the properties (-D) and the environment of your program.", ""},
        footer = {"", "Rows begin with ok, note (training works) or fix (it does not before this is mended).",
            "Exit code: 0 training works, 1 it does not, 2 the command line is wrong."})
public final class DoctorCommand implements Callable<Integer> {

    @Option(names = "--device", paramLabel = "DEVICE", description = "Where to train, as in MemFerryConfig. Default: as the settings say, else host, or"
            + " the card where ND4J's CUDA backend is loaded.")
    private String device;

    @Mixin
    private Output output;

    private final List<Finding> findings = new ArrayList<>();

    @Override
    public Integer call() {
        Logger log = (Logger) LoggerFactory.getLogger("org.memferry");
        Level level = log.getLevel();
        log.setLevel(Level.ERROR);
        try {
            examine();
        } finally {
            log.setLevel(level);
        }
        long fixes = count(Finding.Verdict.FIX);
        output.screen().result(new ResultLine("doctor").add("works", fixes == 0).add("ok", count(Finding.Verdict.OK))
                .add("notes", count(Finding.Verdict.NOTE)).add("fixes", fixes));
        return fixes == 0 ? 0 : 1;
    }

    private void examine() {
        Screen screen = output.screen();
        Surroundings here = Surroundings.here();
        CardFindings cards = new CardFindings(here);
        add("platform", () -> new PlatformFindings(here).findings());
        add("ND4J", () -> new BackendFindings().findings());
        add("card", cards::findings);
        add("memory", () -> new LimitFindings(here, JavaCppLimits.addTo(HostMemory.read(here.root())), cards.hasCard()).findings());
        add("settings", () -> new SettingFindings(here, Runtime.getRuntime().availableProcessors()).findings());
        screen.status("training a small network beside plain DL4J");
        add("training", () -> new TrialFindings(device).findings());
    }

    private void add(String part, Supplier<List<Finding>> look) {
        List<Finding> found;
        try {
            found = look.get();
        } catch (RuntimeException | LinkageError e) {
            found = List.of(broken(part, e));
        }
        findings.addAll(found);
        found.forEach(this::show);
    }

    /** What cannot even be looked at, such as an ND4J whose native library does not load. */
    static Finding broken(String part, Throwable error) {
        Throwable first = error;
        while (first.getCause() != null) {
            first = first.getCause();
        }
        return Finding.fix(part, error.getClass().getSimpleName() + ", at first " + first, "Put one backend of ND4J (nd4j-native with its jar for this"
                + " platform, or nd4j-cuda) and JavaCPP of the same release on the class path, with a home folder that can be written to.");
    }

    private void show(Finding finding) {
        output.screen().line("%-5s %-26s %s", finding.verdict().name().toLowerCase(Locale.ROOT), finding.thing(), finding.found());
        if (!finding.wayOut().isEmpty()) {
            output.screen().line("%32s -> %s", "", finding.wayOut());
        }
        ArrayNode rows = output.document().withArray("/findings");
        rows.addObject().put("verdict", finding.verdict().name().toLowerCase(Locale.ROOT)).put("thing", finding.thing()).put("found", finding.found())
                .put("wayOut", finding.wayOut());
    }

    private long count(Finding.Verdict verdict) {
        return findings.stream().filter(finding -> finding.verdict() == verdict).count();
    }
}
