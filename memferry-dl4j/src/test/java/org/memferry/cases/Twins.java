package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Two networks of the same configuration and the same initial weights, one plain and one attached: whatever is done to both must leave
 * the same bits in both.
 *
 * @param <M> MultiLayerNetwork or ComputationGraph
 */
final class Twins<M extends Model> implements AutoCloseable {

    private final M stock;
    private final M attached;
    private MemFerry ferry;

    private Twins(M stock, M attached) {
        this.stock = stock;
        this.attached = attached;
    }

    /** Two initialised networks, none of them attached yet. */
    static Twins<MultiLayerNetwork> layers(Supplier<MultiLayerConfiguration> configuration) {
        Twins<MultiLayerNetwork> twins = new Twins<>(new MultiLayerNetwork(configuration.get()),
                new MultiLayerNetwork(configuration.get()));
        twins.both(MultiLayerNetwork::init);
        return twins;
    }

    /** Two initialised graphs, none of them attached yet. */
    static Twins<ComputationGraph> graphs(Supplier<ComputationGraphConfiguration> configuration) {
        Twins<ComputationGraph> twins = new Twins<>(new ComputationGraph(configuration.get()), new ComputationGraph(configuration.get()));
        twins.both(ComputationGraph::init);
        return twins;
    }

    /** Attaches the second network. */
    Twins<M> attach(MemFerryConfig config) {
        ferry = MemFerry.attach(attached, config);
        return this;
    }

    /** The plain network. */
    M stock() {
        return stock;
    }

    /** The attached network. */
    M attached() {
        return attached;
    }

    /** The attachment. */
    MemFerry ferry() {
        return ferry;
    }

    /** Does the same to both, with ND4J's random generator in the same state. */
    void both(Consumer<M> action) {
        Nd4j.getRandom().setSeed(4711);
        action.accept(stock);
        Nd4j.getRandom().setSeed(4711);
        action.accept(attached);
    }

    /** Asks both the same and compares the answers. */
    void sameAnswer(String question, Function<M, INDArray> ask) {
        Nd4j.getRandom().setSeed(4711);
        INDArray expected = ask.apply(stock);
        Nd4j.getRandom().setSeed(4711);
        assertSameBits(expected, ask.apply(attached), question);
    }

    /** Asks both the same and compares the answers. */
    void sameNumber(String question, Function<M, Double> ask) {
        Nd4j.getRandom().setSeed(4711);
        double expected = ask.apply(stock);
        Nd4j.getRandom().setSeed(4711);
        double actual = ask.apply(attached);
        assertThat(Double.doubleToRawLongBits(actual)).as("%s: %s is not %s", question, actual, expected)
                .isEqualTo(Double.doubleToRawLongBits(expected));
    }

    /** Fails unless score, parameters, updater state and counters are the same, bit for bit. */
    void assertSame(String when) {
        sameNumber("score " + when, Model::score);
        assertSameParameters(when);
        assertSameBits(updaterState(stock), updaterState(attached), "updater state " + when);
        assertThat(iteration(attached)).as("iteration count %s", when).isEqualTo(iteration(stock));
    }

    /** Fails unless the parameters are the same, bit for bit, both in the flat vector and in the table. */
    void assertSameParameters(String when) {
        assertSameBits(stock.params(), attached.params(), "parameters " + when);
        for (String key : stock.paramTable().keySet()) {
            assertSameBits(stock.getParam(key), attached.getParam(key), "parameter " + key + " " + when);
        }
    }

    /** The updater's state, null if its rules keep none. */
    static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
    }

    private static int iteration(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getIterationCount()
                : ((ComputationGraph) model).getIterationCount();
    }

    /** One iteration of either kind of network. */
    static void fit(Model model, DataSet batch) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).fit(batch);
        } else {
            ((ComputationGraph) model).fit(batch);
        }
    }

    /** Inference with either kind of network. */
    static INDArray output(Model model, INDArray features) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).output(features)
                : ((ComputationGraph) model).outputSingle(features);
    }

    /** Compares values bit for bit (as floats or doubles, whichever they are); shapes may differ in ones. */
    static void assertSameBits(INDArray expected, INDArray actual, String what) {
        if (expected == null || actual == null) {
            assertThat(actual).as(what).isSameAs(expected);
            return;
        }
        long[] e = bits(expected);
        long[] a = bits(actual);
        assertThat(a.length).as("length of %s", what).isEqualTo(e.length);
        int different = 0;
        int first = -1;
        for (int i = 0; i < e.length; i++) {
            if (e[i] != a[i]) {
                different++;
                first = first < 0 ? i : first;
            }
        }
        assertThat(different).as("%s: %d of %d values differ, the first at %d (%s, %s)", what, different, e.length, first,
                first < 0 ? "" : Double.longBitsToDouble(e[first]), first < 0 ? "" : Double.longBitsToDouble(a[first])).isZero();
    }

    /** The values of an array in 'c' order, as their bits. */
    static long[] bits(INDArray array) {
        double[] values = array.dup('c').data().asDouble();
        long[] bits = new long[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Double.doubleToRawLongBits(values[i]);
        }
        return bits;
    }

    /** Values of the standard normal distribution, the same for the same seed; leaves ND4J's generator alone. */
    static INDArray gaussian(long seed, int... shape) {
        Random random = new Random(seed);
        int length = 1;
        for (int size : shape) {
            length *= size;
        }
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return Nd4j.create(values, shape);
    }

    /** A batch of normal features and one-hot labels. */
    static DataSet batch(long seed, int classes, int... featureShape) {
        Random random = new Random(seed + 1);
        INDArray labels = Nd4j.zeros(featureShape[0], classes);
        for (int i = 0; i < featureShape[0]; i++) {
            labels.putScalar(i, random.nextInt(classes), 1.0);
        }
        return new DataSet(gaussian(seed, featureShape), labels);
    }

    @Override
    public void close() {
        if (ferry != null) {
            ferry.close();
        }
    }
}
