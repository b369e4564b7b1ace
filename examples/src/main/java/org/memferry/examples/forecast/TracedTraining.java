package org.memferry.examples.forecast;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.examples.Text;
import org.memferry.examples.charlm.CharacterModel;
import org.memferry.network.ModelArchive;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Random;

/** A network that trains on one batch again and again, so that an iteration can be drawn. */
final class TracedTraining implements AutoCloseable {

    private static final String TRANSFORMER = "transformer";

    private final MemFerry ferry;
    private final MultiDataSet data;

    private TracedTraining(MemFerry ferry, MultiDataSet data) {
        this.ferry = ferry;
        this.data = data;
    }

    /**
     * Attaches a network.
     *
     * @param model  {@code transformer}, or a model file
     * @param inputs types of a file's inputs, as text; empty if it says so itself
     * @throws org.memferry.base.RefusedException if a file is no model or does not say what goes into it
     */
    static TracedTraining start(String model, List<String> inputs, int batch, String device, Strategy strategy) throws IOException {
        MemFerryConfig config = MemFerryConfig.builder().device(device).strategy(strategy).build();
        if (model.equals(TRANSFORMER)) {
            Subject.refuseInput(inputs, model);
            Text text = Text.bundled();
            MemFerry ferry = MemFerry.init((Model) CharacterModel.TRANSFORMER.configured(text.kinds()), config);
            return new TracedTraining(ferry, CharacterModel.TRANSFORMER.batch(text, new Random(1).ints(batch, 0, text.length() / 2).toArray()));
        }
        File file = new File(model);
        boolean graph;
        try (ModelArchive archive = ModelArchive.open(file)) {
            graph = archive.isGraph();
        }
        Model network = graph ? MemFerry.restoreComputationGraph(file, true, config) : MemFerry.restoreMultiLayerNetwork(file, true, config);
        return new TracedTraining(MemFerry.of(network), random(network, Subject.types(network, inputs, model), batch));
    }

    private static MultiDataSet random(Model network, InputType[] types, int batch) {
        INDArray[] features = new INDArray[types.length];
        for (int i = 0; i < types.length; i++) {
            long[] shape = types[i].getShape(true);
            shape[0] = batch;
            features[i] = Nd4j.rand(shape);
        }
        INDArray[] outputs = network instanceof ComputationGraph ? ((ComputationGraph) network).output(features)
                : new INDArray[] {((MultiLayerNetwork) network).output(features[0])};
        INDArray[] labels = new INDArray[outputs.length];
        for (int i = 0; i < outputs.length; i++) {
            labels[i] = classes(outputs[i].shape());
        }
        return new MultiDataSet(features, labels);
    }

    /** One of the classes, which lie along the second dimension, for each example, and for each step or place of it. */
    private static INDArray classes(long... shape) {
        INDArray labels = Nd4j.zeros(shape);
        for (int i = 0; i < shape[0]; i++) {
            labels.slice(i).slice(i % shape[1]).assign(1);
        }
        return labels;
    }

    /** One training iteration. */
    void iterate() {
        if (ferry.network() instanceof ComputationGraph) {
            ((ComputationGraph) ferry.network()).fit(data);
        } else {
            ((MultiLayerNetwork) ferry.network()).fit(new DataSet(data.getFeatures(0), data.getLabels(0)));
        }
    }

    /** Whether the first iterations are measured to plan from. */
    boolean isProfiled() {
        return ferry.plan().budget().deviceBytes() < Long.MAX_VALUE;
    }

    MemFerry ferry() {
        return ferry;
    }

    @Override
    public void close() {
        ferry.close();
    }
}
