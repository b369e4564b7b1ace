package org.memferry.examples.bench;

import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.RefusedException;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * Trains an attached network with Adam and compares, in windows of its flat vectors, every step with DL4J's own rule: the same gradients,
 * parameters and moments in small arrays. Plain DL4J cannot train such a network beside it, with whatever memory.
 */
final class BigStateBench {

    private static final int SQUARES = 4;
    private static final int OUTPUTS = 4;
    private static final int EXAMPLES = 4;
    private static final int WINDOW = 4096;
    private static final int WINDOWS_BETWEEN = 64;
    private static final double RATE = 1e-3;

    private final int width;
    private final int steps;
    private final Screen screen;
    private final Stopwatch iterations = new Stopwatch();
    private long parameters;
    private long stateElements;
    private long checked;
    private long changed;
    private boolean equal = true;
    private boolean refused = true;

    /**
     * @param parameters at least so many
     * @param steps      iterations, at least 1
     * @param screen     for results and status
     */
    BigStateBench(long parameters, int steps, Screen screen) {
        this.width = width(parameters);
        this.steps = steps;
        this.screen = screen;
    }

    private static int width(long parameters) {
        return Math.toIntExact((long) Math.ceil(Math.sqrt(parameters / (double) SQUARES)));
    }

    /** Memory that the bench takes at most: parameters, gradients, two moments, and half a gigabyte for everything else. */
    static long bytes(long parameters) {
        long square = (long) width(parameters) * width(parameters);
        return Math.addExact(Math.multiplyExact(square, SQUARES * 16L), 1L << 29);
    }

    /** Runs everything; afterwards {@link #result} says how it went. */
    void run() {
        MultiLayerNetwork net = new MultiLayerNetwork(configuration());
        screen.status("drawing weights");
        try (MemFerry ferry = MemFerry.init(net, MemFerryConfig.builder().device("host").build())) {
            parameters = net.params().length();
            stateElements = net.getUpdater().getStateViewArray().length();
            screen.line("%,d parameters in %d layers %d wide, %,d elements of updater state; plain DL4J counts to %,d", parameters, SQUARES,
                    width, stateElements, Integer.MAX_VALUE);
            List<Window> windows = windows(net);
            train(net, windows, 0, RATE);
            if (stateElements > Integer.MAX_VALUE) {
                changeRate(net, ferry);
                train(net, windows, steps, RATE / 2);
            }
        }
        screen.line("%,d parameters were compared with their moments after each iteration, %,d of them had moved: %s", checked, changed,
                isIdentical() ? "bit-identical" : "different");
        net.close();
    }

    private MultiLayerConfiguration configuration() {
        ListBuilder list = new NeuralNetConfiguration.Builder().seed(7).activation(Activation.TANH)
                .updater(new Adam(RATE)).list();
        for (int i = 0; i < SQUARES; i++) {
            list.layer(new DenseLayer.Builder().nIn(width).nOut(width).build());
        }
        return list.layer(new OutputLayer.Builder(LossFunction.MSE).activation(Activation.IDENTITY).nIn(width).nOut(OUTPUTS).build()).build();
    }

    /** The start, both sides of every layer boundary and of the parameter whose state has index 2^31, the end, and evenly in between. */
    private List<Window> windows(MultiLayerNetwork net) {
        TreeSet<Long> centres = new TreeSet<>(List.of(0L, parameters));
        long boundary = 0;
        for (int i = 0; i < net.getnLayers(); i++) {
            boundary += net.getLayer(i).numParams();
            centres.add(boundary);
        }
        for (int i = 1; i < WINDOWS_BETWEEN; i++) {
            centres.add(parameters / WINDOWS_BETWEEN * i);
        }
        long beyond = (1L << 31) - parameters;
        if (beyond > 0 && beyond < parameters) {
            centres.add(beyond);
        }
        List<Window> windows = new ArrayList<>();
        long end = 0;
        for (long centre : centres) {
            long from = Math.max(end, Math.min(centre - WINDOW / 2, parameters - WINDOW));
            end = Math.min(parameters, Math.max(from, centre + WINDOW / 2));
            if (end > from) {
                windows.add(new Window(from, end));
            }
        }
        return windows;
    }

    private void train(MultiLayerNetwork net, List<Window> windows, int first, double rate) {
        for (int i = first; i < first + steps; i++) {
            screen.status("iteration " + (i + 1));
            Nd4j.getRandom().setSeed(100 + i);
            DataSet batch = new DataSet(Nd4j.randn(DataType.FLOAT, EXAMPLES, width), Nd4j.randn(DataType.FLOAT, EXAMPLES, OUTPUTS));
            windows.forEach(window -> window.remember(net));
            iterations.time(() -> net.fit(batch));
            for (Window window : windows) {
                equal &= window.isUpdatedLikeDl4j(net, i, rate);
            }
        }
    }

    /** DL4J's own setter would need an updater of DL4J's; the ferry's needs none. */
    private void changeRate(MultiLayerNetwork net, MemFerry ferry) {
        try {
            net.setLearningRate(RATE * 3);
            refused = false;
        } catch (RefusedException e) {
            screen.line("net.setLearningRate: %s", e.getMessage());
        }
        ferry.setLearningRate(RATE / 2);
    }

    /** Whether every compared bit is that of DL4J's rule. */
    boolean isIdentical() {
        return equal && refused && changed > 0;
    }

    /** The machine-readable line. */
    ResultLine result() {
        return new ResultLine("bench-big-state").add("params", parameters).add("state_elements", stateElements).add("checked", checked)
                .add("identical", isIdentical()).add("iteration_s", String.format(Locale.ROOT, "%.1f", iterations.median() / 1e9));
    }

    /** Some parameters in a row, with their moments. */
    private final class Window {

        private final long from;
        private final long to;
        private INDArray values;
        private INDArray moments;

        Window(long from, long to) {
            this.from = from;
            this.to = to;
        }

        private int length() {
            return (int) (to - from);
        }

        /** Takes parameters and moments before a step. */
        void remember(MultiLayerNetwork net) {
            values = copy(net, net.params(), 0);
            moments = copy(net, net.getUpdater().getStateViewArray(), 0, parameters);
        }

        /** Takes DL4J's step from there and compares. */
        boolean isUpdatedLikeDl4j(MultiLayerNetwork net, int iteration, double rate) {
            INDArray before = values.dup();
            INDArray gradients = copy(net, net.getGradientsViewArray(), 0);
            gradients.divi(EXAMPLES);
            new Adam(rate).instantiate(moments, false).applyUpdater(gradients, iteration, 0);
            values.subi(gradients);
            checked += length();
            changed += Bits.different(before, values);
            return Bits.maxUlp(values, copy(net, net.params(), 0)) == 0
                    && Bits.maxUlp(moments, copy(net, net.getUpdater().getStateViewArray(), 0, parameters)) == 0;
        }

        /** The window in a flat array, or in several pieces of it, as a small array of the rank that DL4J's rules want. */
        private INDArray copy(MultiLayerNetwork net, INDArray flat, long... pieces) {
            float[] elements = new float[pieces.length * length()];
            FloatIndexer indexer = (FloatIndexer) flat.data().indexer();
            for (int i = 0; i < pieces.length; i++) {
                indexer.get(flat.offset() + pieces[i] + from, elements, i * length(), length());
            }
            INDArray copy = Nd4j.createFromArray(elements);
            return net.params().rank() == 2 ? copy.reshape(1, elements.length) : copy;
        }
    }
}
