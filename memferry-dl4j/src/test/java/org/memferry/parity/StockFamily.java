package org.memferry.parity;

import java.util.function.Function;
import java.util.function.Supplier;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/** A family put together from a configuration of stock DL4J and a rule that makes its batches. */
final class StockFamily implements Family {

    /** Stands for the data of {@link #output}: a step that no test reaches. */
    private static final int INFERENCE_STEP = 1_000_000;

    private final String name;
    private final int batch;
    private final Supplier<Model> network;
    private final Function<RandomData, MultiDataSet> data;
    private final InputType[] inputTypes;
    private final boolean worksInM11;

    private StockFamily(Builder builder) {
        name = builder.name;
        batch = builder.batch;
        network = builder.network;
        data = builder.data;
        inputTypes = builder.inputTypes;
        worksInM11 = builder.worksInM11;
    }

    /** Starts a family trained as a {@link MultiLayerNetwork}. */
    static Builder layers(String name, int batch, Supplier<MultiLayerConfiguration> configuration) {
        return new Builder(name, batch, () -> new MultiLayerNetwork(configuration.get()));
    }

    /** Starts a family trained as a {@link ComputationGraph}. */
    static Builder graph(String name, int batch, Supplier<ComputationGraphConfiguration> configuration) {
        return new Builder(name, batch, () -> new ComputationGraph(configuration.get()));
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Model newNetwork() {
        return network.get();
    }

    @Override
    public void fit(Model model, int step) {
        MultiDataSet examples = examples(step);
        seedNoise(1000 + step);
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).fit(new DataSet(examples.getFeatures(0), examples.getLabels(0),
                    examples.getFeaturesMaskArray(0), examples.getLabelsMaskArray(0)));
        } else {
            ((ComputationGraph) model).fit(examples);
        }
    }

    @Override
    public INDArray output(Model model) {
        MultiDataSet examples = examples(INFERENCE_STEP);
        // DL4J's weight noise, where it extends to biases, disturbs them in inference too.
        seedNoise(INFERENCE_STEP);
        if (model instanceof MultiLayerNetwork) {
            return ((MultiLayerNetwork) model).output(examples.getFeatures(0), false, examples.getFeaturesMaskArray(0), null);
        }
        INDArray[] outputs = ((ComputationGraph) model).output(false, examples.getFeatures(), examples.getFeaturesMaskArrays());
        return outputs.length == 1 ? outputs[0] : Nd4j.toFlattened('c', outputs);
    }

    @Override
    public InputType[] inputTypes() {
        return inputTypes == null ? null : inputTypes.clone();
    }

    @Override
    public int batch() {
        return batch;
    }

    @Override
    public boolean worksInM11() {
        return worksInM11;
    }

    @Override
    public String toString() {
        return name;
    }

    /** Drop-out, weight noise and the samples of an autoencoder come from ND4J's generator, which everything in the JVM shares. */
    private static void seedNoise(long seed) {
        Nd4j.getRandom().setSeed(seed);
    }

    private MultiDataSet examples(int step) {
        return data.apply(new RandomData(31L * name.hashCode() + step));
    }

    /** Collects a family's parts. */
    static final class Builder {

        private final String name;
        private final int batch;
        private final Supplier<Model> network;
        private InputType[] inputTypes;
        private Function<RandomData, MultiDataSet> data;
        private boolean worksInM11 = true;

        private Builder(String name, int batch, Supplier<Model> network) {
            this.name = name;
            this.batch = batch;
            this.network = network;
        }

        /** One type per input; without this call the family has none. */
        Builder inputs(InputType... types) {
            inputTypes = types;
            return this;
        }

        /** For what stock DL4J 1.0.0-M1.1 cannot train. */
        Builder notInM11() {
            worksInM11 = false;
            return this;
        }

        /** How to draw one batch; it is called with a generator seeded by family and step. Completes the family. */
        Family on(Function<RandomData, MultiDataSet> batches) {
            data = batches;
            return new StockFamily(this);
        }
    }
}
