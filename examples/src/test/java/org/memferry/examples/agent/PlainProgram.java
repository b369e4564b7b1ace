package org.memferry.examples.agent;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * A program as DL4J users write them, which has never heard of MemFerry: it makes networks in every way there is, trains them and prints
 * what they have learned, bit by bit.
 */
public final class PlainProgram {

    private static final int INPUTS = 64;
    private static final int CLASSES = 5;

    private PlainProgram() {
    }

    /** @param args the directory to save a model in; anything more to make one network only */
    public static void main(String[] args) throws Exception {
        List<DataSet> data = data();

        MultiLayerNetwork net = new MultiLayerNetwork(layers(OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT));
        net.init();
        net.setListeners(new ScoreIterationListener(100));
        net.fit(new ExistingDataSetIterator(data), 2);
        show("initialised", net);
        if (args.length > 1) {
            System.exit(0);
        }

        ComputationGraph graph = new ComputationGraph(graph());
        graph.init();
        data.forEach(graph::fit);
        show("graph", graph);

        File file = new File(args[0], "model.zip");
        ModelSerializer.writeModel(net, file, true);
        MultiLayerNetwork restored = ModelSerializer.restoreMultiLayerNetwork(file);
        data.forEach(restored::fit);
        show("restored", restored);

        MultiLayerNetwork tuned = new TransferLearning.Builder(net)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder().updater(new Adam(1e-2)).seed(3).build())
                .setFeatureExtractor(0).build();
        data.forEach(tuned::fit);
        show("tuned", tuned);

        ComputationGraph tunedGraph = new TransferLearning.GraphBuilder(graph)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder().updater(new Adam(1e-2)).seed(3).build())
                .setFeatureExtractor("first").build();
        data.forEach(tunedGraph::fit);
        show("tunedGraph", tunedGraph);

        MultiLayerNetwork clone = net.clone();
        data.forEach(clone::fit);
        show("clone", clone);

        // DL4J does not train a network that Java's serialisation has read: it has no list of listeners.
        show("read", read(net));
        net.setLearningRate(1e-4);

        MultiLayerNetwork linesearch = new MultiLayerNetwork(layers(OptimizationAlgorithm.LBFGS));
        linesearch.init();
        linesearch.fit(data.get(0));
        show("lbfgs", linesearch);

        MultiLayerNetwork crowded = new MultiLayerNetwork(layers(OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT));
        crowded.init();
        crowded.fit(data.get(0));
        crowded.fit(DataSet.merge(data));
        crowded.fit(data.get(0));
        show("crowded", crowded);

        data.forEach(net::fit);
        show("again", net);
        System.out.println("OUTPUT " + hash(net.output(data.get(0).getFeatures())));
        net.close();
        System.out.println("END");
        System.exit(0);
    }

    private static MultiLayerConfiguration layers(OptimizationAlgorithm algorithm) {
        return new NeuralNetConfiguration.Builder().seed(7).updater(new Adam(1e-3)).l2(1e-4).optimizationAlgo(algorithm).list()
                .layer(new DenseLayer.Builder().nIn(INPUTS).nOut(256).activation(Activation.TANH).build())
                .layer(new BatchNormalization.Builder().nIn(256).nOut(256).build())
                .layer(new DenseLayer.Builder().nIn(256).nOut(256).activation(Activation.RELU).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nIn(256).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .build();
    }

    private static ComputationGraphConfiguration graph() {
        return new NeuralNetConfiguration.Builder().seed(11).updater(new Adam(1e-3)).graphBuilder().addInputs("in")
                .addLayer("first", new DenseLayer.Builder().nOut(256).activation(Activation.TANH).build(), "in")
                .addLayer("second", new DenseLayer.Builder().nOut(256).activation(Activation.TANH).build(), "first")
                .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "first", "second")
                .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "sum")
                .setOutputs("out").setInputTypes(InputType.feedForward(INPUTS)).build();
    }

    private static List<DataSet> data() {
        Nd4j.getRandom().setSeed(5);
        List<DataSet> data = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            INDArray labels = Nd4j.zeros(16, CLASSES);
            for (int row = 0; row < 16; row++) {
                labels.putScalar(row, (row * 7 + i) % CLASSES, 1);
            }
            data.add(new DataSet(Nd4j.rand(16, INPUTS), labels));
        }
        return data;
    }

    private static MultiLayerNetwork read(MultiLayerNetwork net) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(net);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (MultiLayerNetwork) in.readObject();
        }
    }

    private static void show(String name, Model net) {
        INDArray state = net instanceof MultiLayerNetwork ? ((MultiLayerNetwork) net).getUpdater().getStateViewArray()
                : ((ComputationGraph) net).getUpdater().getStateViewArray();
        System.out.println("BITS " + name + " " + hash(net.params()) + " " + (state == null ? "none" : hash(state)) + " "
                + Double.doubleToRawLongBits(net.score()));
    }

    private static long hash(INDArray array) {
        long hash = 1;
        for (float value : array.dup('c').data().asFloat()) {
            hash = 31 * hash + Float.floatToRawIntBits(value);
        }
        return hash;
    }
}
