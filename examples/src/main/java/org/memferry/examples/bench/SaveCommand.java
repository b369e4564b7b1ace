package org.memferry.examples.bench;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.ScratchFolder;
import org.memferry.examples.Screen;
import org.nd4j.linalg.dataset.DataSet;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.concurrent.Callable;

/** {@code memferry bench save}. */
@Command(name = "save", mixinStandardHelpOptions = true,
        description = {"Saves and restores a trained network with Adam's state, by MemFerry and by DL4J's ModelSerializer, beside a plain write"
                + " of as many bytes that are forced to the same disk.", ""})
public final class SaveCommand implements Callable<Integer> {

    private static final int BUFFER = 1 << 20;

    @Option(names = "--model", paramLabel = "MODEL", defaultValue = "mlp60m", description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private FitModel model;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "3", description = "Times each; the median counts. Default: ${DEFAULT-VALUE}.")
    private int rounds;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        if (rounds < 1) {
            throw new ParameterException(spec.commandLine(), "--rounds: " + rounds + " (expected: >= 1)");
        }
        Screen screen = output.screen();
        try (ScratchFolder folder = new ScratchFolder("memferry-save")) {
            return run(screen, folder.path().resolve("memferry.zip").toFile(), folder.path().resolve("dl4j.zip").toFile(),
                    folder.path().resolve("raw.bin").toFile());
        }
    }

    private int run(Screen screen, File ours, File theirs, File raw) throws IOException {
        DataSet batch = model.task().batches.get(0);
        MultiLayerNetwork plain = model.network();
        plain.init();
        MultiLayerNetwork net = model.network();
        Stopwatch save = new Stopwatch();
        Stopwatch restore = new Stopwatch();
        Stopwatch plainSave = new Stopwatch();
        Stopwatch plainRestore = new Stopwatch();
        Stopwatch write = new Stopwatch();
        boolean same = true;
        try (MemFerry ferry = MemFerry.init(net, MemFerryConfig.defaults())) {
            plain.fit(batch);
            net.fit(batch);
            for (int round = 0; round < rounds; round++) {
                screen.status("round " + (round + 1) + " of " + rounds);
                save.time(() -> ferry.save(ours, true));
                plainSave.time(() -> unchecked(() -> ModelSerializer.writeModel(plain, theirs, true)));
                write.time(() -> unchecked(() -> write(raw, ours.length())));
                MultiLayerNetwork[] read = new MultiLayerNetwork[2];
                restore.time(() -> read[0] = MemFerry.restoreMultiLayerNetwork(ours, true, MemFerryConfig.defaults()));
                plainRestore.time(() -> unchecked(() -> read[1] = ModelSerializer.restoreMultiLayerNetwork(theirs, true)));
                same &= Bits.maxUlp(read[0].params(), plain.params()) == 0 && Bits.maxUlp(read[1].params(), plain.params()) == 0
                        && Bits.maxUlp(read[0].getUpdater().getStateViewArray(), read[1].getUpdater().getStateViewArray()) == 0;
                MemFerry.of(read[0]).close();
                read[0].close();
                read[1].close();
            }
            screen.line("%s, parameters and state: MemFerry writes %s in %.2f s and reads it in %.2f s, DL4J %s in %.2f s and %.2f s; the disk takes"
                    + " %.2f s", Sizes.format(ferry.plan().hostBytes()), Sizes.format(ours.length()), save.median() / 1e9,
                    restore.median() / 1e9, Sizes.format(theirs.length()), plainSave.median() / 1e9, plainRestore.median() / 1e9,
                    write.median() / 1e9);
            screen.result(new ResultLine("bench-save").add("params", ferry.plan().network().parameterCount()).add("bytes", ours.length())
                    .add("vs_disk", ratio(write.times(save))).add("save_vs_dl4j", ratio(plainSave.times(save)))
                    .add("restore_vs_dl4j", ratio(plainRestore.times(restore))).add("identical", same));
        }
        return same ? 0 : 1;
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static void write(File file, long bytes) throws IOException {
        byte[] buffer = new byte[BUFFER];
        try (FileOutputStream out = new FileOutputStream(file)) {
            for (long left = bytes; left > 0; left -= BUFFER) {
                out.write(buffer, 0, (int) Math.min(BUFFER, left));
            }
            out.getFD().sync();
        }
    }

    /** Work that may fail as files do. */
    private interface FileWork {
        void run() throws IOException;
    }

    private static void unchecked(FileWork work) {
        try {
            work.run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
