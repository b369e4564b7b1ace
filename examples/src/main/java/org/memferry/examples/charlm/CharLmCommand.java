package org.memferry.examples.charlm;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.Sizes;
import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.memferry.examples.Text;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;

/** {@code memferry charlm}. */
@Command(name = "charlm", mixinStandardHelpOptions = true,
        description = {"Trains a character language model on the bundled text, a transformer or an LSTM, with its parameters in host memory,"
                + " and lets it write a line.", ""})
public final class CharLmCommand implements Callable<Integer> {

    private static final int REPORTS = 5;
    private static final int REPORT_APART = 20;
    private static final int TEST_BATCHES = 4;
    private static final long SEED = 7;
    /** The last part of the text is not trained on. */
    private static final double HELD_OUT = 0.05;

    @Option(names = "--network", paramLabel = "NETWORK", defaultValue = "transformer",
            description = "${COMPLETION-CANDIDATES}. Default: ${DEFAULT-VALUE}.")
    private CharacterModel model;

    @Option(names = "--iterations", paramLabel = "N", defaultValue = "200", description = "Batches to train on. Default: ${DEFAULT-VALUE}.")
    private int iterations;

    @Option(names = "--device", paramLabel = "DEVICE", defaultValue = "emulated:64MB",
            description = "Where to train, as in MemFerryConfig. Default: ${DEFAULT-VALUE}.")
    private String device;

    @Option(names = "--text", paramLabel = "FILE", description = "A text to learn instead of the bundled one, in UTF-8.")
    private Path file;

    @Option(names = "--letters", paramLabel = "N", defaultValue = "160", description = "Characters to write. Default: ${DEFAULT-VALUE}.")
    private int letters;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    private Screen screen;
    private Text text;
    private int train;

    @Override
    public Integer call() {
        if (iterations < 1 || letters < 0) {
            throw new ParameterException(spec.commandLine(), "--iterations: " + iterations + ", --letters: " + letters
                    + " (expected: >= 1 and >= 0)");
        }
        screen = output.screen();
        text = file == null ? Text.bundled() : read();
        train = (int) (text.length() * (1 - HELD_OUT));
        NeuralNetwork network = model.configured(text.kinds());
        MemFerryConfig config = MemFerryConfig.builder().device(device).build();
        try (MemFerry ferry = MemFerry.init((Model) network, config)) {
            double untrained = bitsPerCharacter(network);
            screen.line("%s of %,d parameters on %s, %,d characters of %d kinds; untrained %.3f bits per character on text held out",
                    model, ferry.plan().network().parameterCount(), device, text.length(), text.kinds(), untrained);
            double trained = train(network);
            screen.line(ferry.planTable());
            screen.line("It writes: %s", write(network));
            screen.result(new ResultLine("charlm").add("network", model)
                    .add("params", ferry.plan().network().parameterCount()).add("iterations", iterations)
                    .add("bits_untrained", String.format(Locale.ROOT, "%.3f", untrained))
                    .add("bits_trained", String.format(Locale.ROOT, "%.3f", trained))
                    .add("slab_bytes", ferry.metrics().device().slabBytes()));
            return trained < untrained ? 0 : 1;
        }
    }

    private Text read() {
        if (!Files.isRegularFile(file)) {
            throw new ParameterException(spec.commandLine(), file + ": there is no such file");
        }
        try {
            return Text.read(file);
        } catch (IOException e) {
            throw new ParameterException(spec.commandLine(), file + ": no text to learn: " + e.getMessage() + " (expected: UTF-8)", e);
        }
    }

    private double train(NeuralNetwork network) {
        Random random = new Random(SEED);
        double bits = Double.NaN;
        long start = System.nanoTime();
        for (int i = 1; i <= iterations; i++) {
            network.fit(model.batch(text, 0, train, random));
            screen.status("iteration " + i + " of " + iterations);
            if (i == iterations || i % Math.max(REPORT_APART, iterations / REPORTS) == 0) {
                bits = bitsPerCharacter(network);
                screen.line("iteration %d: %.3f bits per character on text held out, %.1f s", i, bits, (System.nanoTime() - start) / 1e9);
            }
        }
        return bits;
    }

    /** Mean over batches of the text held out, the same ones every time. */
    private double bitsPerCharacter(NeuralNetwork network) {
        Random random = new Random(SEED);
        double sum = 0;
        for (int i = 0; i < TEST_BATCHES; i++) {
            sum += loss(network, model.batch(text, train, text.length(), random));
        }
        return sum / TEST_BATCHES / Math.log(2);
    }

    /** Natural logarithm units per predicted character; DL4J sums a sequence's steps. */
    private double loss(NeuralNetwork network, MultiDataSet batch) {
        if (network instanceof MultiLayerNetwork) {
            return ((MultiLayerNetwork) network).score(new DataSet(batch.getFeatures(0), batch.getLabels(0))) / model.steps;
        }
        return ((ComputationGraph) network).score(batch);
    }

    /** What the network takes to follow a piece of the text held out: the likeliest letters, drawn by their probabilities. */
    private String write(NeuralNetwork network) {
        Random random = new Random(SEED);
        List<Integer> written = new ArrayList<>();
        for (int i = 0; i < model.steps; i++) {
            written.add(text.at(train + i));
        }
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < letters; i++) {
            int next = draw(probabilities(network, written.subList(written.size() - model.steps, written.size())), random);
            written.add(next);
            char letter = text.character(next);
            line.append(letter < ' ' ? ' ' : letter);
        }
        return line.toString();
    }

    private INDArray probabilities(NeuralNetwork network, List<Integer> window) {
        INDArray characters = Nd4j.zeros(1, text.kinds(), model.steps);
        for (int step = 0; step < model.steps; step++) {
            characters.putScalar(0, window.get(step), step, 1);
        }
        if (network instanceof MultiLayerNetwork) {
            INDArray all = ((MultiLayerNetwork) network).output(characters);
            return all.tensorAlongDimension(model.steps - 1, 1, 0).reshape(text.kinds());
        }
        return ((ComputationGraph) network).outputSingle(characters, model.positions(1)).reshape(text.kinds());
    }

    private static int draw(INDArray probabilities, Random random) {
        double left = random.nextDouble() * probabilities.sumNumber().doubleValue();
        for (int i = 0; i < probabilities.length() - 1; i++) {
            left -= probabilities.getDouble(i);
            if (left < 0) {
                return i;
            }
        }
        return (int) probabilities.length() - 1;
    }
}
