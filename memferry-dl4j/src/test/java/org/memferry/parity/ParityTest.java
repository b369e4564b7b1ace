package org.memferry.parity;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Every family, trained by stock DL4J and by an attached network beside it: scores, parameters, updater state and output are the same
 * bits, whatever the device, the placement and the moment of attaching, and again after save, restore, attach and more training.
 *
 * <p>{@code -Dmemferry.parity=full} runs every combination; {@code wide} every placement of every family, attached fresh or to a network
 * that was trained, in turn; {@code sample}, the default, runs each family in two, such that every
 * placement and both moments of attaching are covered many times; {@code placement} runs one placement per family.
 * {@code -Dmemferry.families=<regular expression>} runs some families only.
 */
class ParityTest {

    private static final int STEPS = 5;
    private static final int STOCK_STEPS = 3;
    private static final String SUITE = System.getProperty("memferry.parity", "sample");

    private static final String FAMILY = System.getProperty("memferry.families", ".*");

    private static final Map<String, Reference> REFERENCES = new HashMap<>();
    private static final Set<String> FAMILIES = new HashSet<>();
    private static int runs;
    private static int identical;

    /** Where layers are served from in a run. */
    enum Setup {
        HOST, RESIDENT, PREFETCH, DIRECT, MIXED,
        /** Mixed on a card, that is on the CUDA runtime for tests. */
        CARD
    }

    /** One run: a family, when it is attached, and where its layers are served from. */
    static final class Run {

        final Family family;
        final boolean afterStock;
        final Setup setup;

        Run(Family family, boolean afterStock, Setup setup) {
            this.family = family;
            this.afterStock = afterStock;
            this.setup = setup;
        }

        @Override
        public String toString() {
            return family.name() + (afterStock ? " attached after " + STOCK_STEPS + " stock steps, " : " fresh, ") + setup;
        }
    }

    static List<Run> runs() {
        List<Run> runs = new ArrayList<>();
        int n = 0;
        for (Family family : Families.runnable()) {
            if (!family.name().matches(FAMILY)) {
                continue;
            }
            for (boolean afterStock : new boolean[] {false, true}) {
                for (Setup setup : Setup.values()) {
                    if (selected(n, afterStock, setup)) {
                        runs.add(new Run(family, afterStock, setup));
                    }
                }
            }
            n++;
        }
        return runs;
    }

    private static boolean selected(int family, boolean afterStock, Setup setup) {
        if (setup == Setup.CARD) {
            return SUITE.equals("full") || !SUITE.equals("placement") && family % 5 == 0 && afterStock == (family % 2 == 0);
        }
        Setup[] all = {Setup.HOST, Setup.RESIDENT, Setup.PREFETCH, Setup.DIRECT, Setup.MIXED};
        switch (SUITE) {
            case "full":
                return true;
            case "wide":
                return afterStock == ((family + setup.ordinal()) % 2 == 0);
            case "sample":
                return setup == all[(family + (afterStock ? 2 : 0)) % all.length];
            case "placement":
                return afterStock == (family % 2 == 0) && setup == all[1 + family % (all.length - 1)];
            default:
                throw new IllegalArgumentException("memferry.parity: " + SUITE + " (expected: full, wide, sample or placement)");
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("runs")
    void trainsBitIdenticallyToStock(Run run, @TempDir Path directory) throws IOException {
        if (run.setup == Setup.CARD) {
            FakeCuda.start();
            FakeCuda.delays(run.family.name().hashCode(), 200);
        }
        runs++;
        FAMILIES.add(run.family.name());
        Reference reference = REFERENCES.get(run.family.name() + run.afterStock);
        if (reference == null) {
            reference = new Reference(run.family, run.afterStock, directory.resolve("stock.zip").toFile());
            REFERENCES.put(run.family.name() + run.afterStock, reference);
        }
        Model model = run.family.newNetwork();
        int step = 0;
        MemFerry ferry;
        if (run.afterStock) {
            initialise(model);
            while (step < STOCK_STEPS) {
                run.family.fit(model, step++);
            }
            ferry = MemFerry.attach(model, config(run));
        } else {
            ferry = MemFerry.init(model, config(run));
        }
        File file = directory.resolve("ferry.zip").toFile();
        try {
            for (int i = 0; i < STEPS; i++) {
                run.family.fit(model, step++);
                reference.after(i).assertIdentical(Snapshot.of(model, last(i) ? run.family : null), "after step " + step);
            }
            checkPlacement(ferry, run);
            ferry.save(file, true);
        } finally {
            ferry.close();
        }
        Model restored = model instanceof MultiLayerNetwork ? MemFerry.restoreMultiLayerNetwork(file, true, config(run))
                : MemFerry.restoreComputationGraph(file, true, config(run));
        try (MemFerry again = MemFerry.of(restored)) {
            for (int i = STEPS; i < 2 * STEPS; i++) {
                run.family.fit(restored, step++);
                reference.after(i).assertIdentical(Snapshot.of(restored, last(i) ? run.family : null),
                        "after restore and step " + step);
            }
            assertThat(again.metrics().unplannedReads()).as("reads that the plan does not know").isZero();
        }
        // What close gives back trains on as a plain network.
        run.family.fit(restored, step);
        reference.after(2 * STEPS).assertIdentical(Snapshot.of(restored, run.family), "after close and step " + (step + 1));
        if (run.setup == Setup.CARD) {
            FakeCuda.assertNothingWrong();
            FakeCuda.assertNothingHeld();
        }
        identical++;
    }

    private static boolean last(int i) {
        return i % STEPS == STEPS - 1;
    }

    private static void checkPlacement(MemFerry ferry, Run run) {
        if (run.setup == Setup.PREFETCH || run.setup == Setup.RESIDENT) {
            assertThat(ferry.metrics().device().bytesToDevice()).as("bytes copied to the device").isPositive();
            assertThat(ferry.metrics().device().bytesToHost()).as("bytes copied to the host").isNotNegative();
        }
        if (run.setup == Setup.HOST || run.setup == Setup.DIRECT) {
            assertThat(ferry.metrics().device().bytesToDevice()).as("bytes copied to the device").isZero();
        }
    }

    /** Slots are poisoned after use, and every copy is late by a random time. */
    private static MemFerryConfig config(Run run) {
        if (run.setup == Setup.HOST) {
            return MemFerryConfig.defaults();
        }
        MemFerryConfig.Builder config = MemFerryConfig.builder().device(run.setup == Setup.CARD ? "cuda:0,memory=256MB,poison"
                : "emulated:256MB,poison,delay=" + run.family.name().hashCode() + "/200");
        switch (run.setup) {
            case RESIDENT:
                return config.place("*", Placement.RESIDENT).placeGradient("*", GradientHome.SLOT).build();
            case PREFETCH:
                return config.place("*", Placement.PREFETCH).placeGradient("*", GradientHome.SLOT).build();
            case DIRECT:
                return config.place("*", Placement.DIRECT).placeGradient("*", GradientHome.DIRECT).build();
            default:
                return mixed(config, run).build();
        }
    }

    private static MemFerryConfig.Builder mixed(MemFerryConfig.Builder config, Run run) {
        Random random = new Random(run.family.name().hashCode());
        Model probe = run.family.newNetwork();
        initialise(probe);
        List<String> names = new ArrayList<>();
        if (probe instanceof MultiLayerNetwork) {
            for (int i = 0; i < ((MultiLayerNetwork) probe).getnLayers(); i++) {
                if (((MultiLayerNetwork) probe).getLayer(i).numParams() > 0) {
                    names.add(String.valueOf(i));
                }
            }
        } else {
            for (org.deeplearning4j.nn.graph.vertex.GraphVertex v : ((ComputationGraph) probe).getVertices()) {
                if (v.numParams() > 0) {
                    names.add(v.getVertexName());
                }
            }
        }
        Placement[][] choices = {{Placement.RESIDENT, Placement.RESIDENT}, {Placement.PREFETCH, Placement.PREFETCH},
            {Placement.DIRECT, Placement.DIRECT}, {Placement.DIRECT, Placement.PREFETCH}, {Placement.PREFETCH, Placement.DIRECT}};
        for (String name : names) {
            Placement[] choice = choices[random.nextInt(choices.length)];
            config.place(name, choice[0], choice[1]);
            config.placeGradient(name, random.nextBoolean() ? GradientHome.SLOT : GradientHome.DIRECT);
        }
        return config.parameterSlots(2 + random.nextInt(2));
    }

    static void initialise(Model model) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).init();
        } else {
            ((ComputationGraph) model).init();
        }
    }

    @AfterAll
    static void writeResult() throws IOException {
        String line = "RESULT name=parity families=" + FAMILIES.size() + " runs=" + runs + " identical=" + identical
                + System.lineSeparator();
        Path target = Paths.get("target");
        Files.createDirectories(target);
        Files.writeString(target.resolve("parity.result"), line);
    }

    /** What stock DL4J does, recorded once per family. */
    private static final class Reference {

        private final List<Snapshot> snapshots = new ArrayList<>();

        Reference(Family family, boolean afterStock, File file) throws IOException {
            Model model = family.newNetwork();
            initialise(model);
            int step = 0;
            for (; afterStock && step < STOCK_STEPS; step++) {
                family.fit(model, step);
            }
            for (int i = 0; i < STEPS; i++) {
                family.fit(model, step++);
                snapshots.add(Snapshot.of(model, last(i) ? family : null));
            }
            ModelSerializer.writeModel(model, file, true);
            Model restored = model instanceof MultiLayerNetwork ? ModelSerializer.restoreMultiLayerNetwork(file, true)
                    : ModelSerializer.restoreComputationGraph(file, true);
            for (int i = STEPS; i < 2 * STEPS; i++) {
                family.fit(restored, step++);
                snapshots.add(Snapshot.of(restored, last(i) ? family : null));
            }
            family.fit(restored, step);
            snapshots.add(Snapshot.of(restored, family));
        }

        Snapshot after(int step) {
            return snapshots.get(step);
        }
    }
}
