package org.memferry.cases;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;

/** Small networks and batches for the case tests; the same at every call. Every vertex of a graph is named like the layer's index. */
final class Nets {

    static final int BATCH = 8;
    static final int INPUTS = 12;
    static final int CLASSES = 4;

    private static final int[] SIZES = {17, 23, 11};

    private Nets() {
    }

    /** Both kinds of network, with the same layers. */
    enum Kind {
        LAYERS, GRAPH;

        /** An initialised network of three dense layers, the second regularised, and a softmax output. */
        Model create(IUpdater updater) {
            return create(updater, WorkspaceMode.ENABLED);
        }

        Model create(IUpdater updater, WorkspaceMode mode) {
            return this == LAYERS ? layers(updater, mode) : graph(updater, mode);
        }
    }

    static NeuralNetConfiguration.Builder configuration(IUpdater updater, WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(4711).weightInit(WeightInit.XAVIER).activation(Activation.TANH).updater(updater)
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode);
    }

    static MultiLayerNetwork layers(IUpdater updater) {
        return layers(updater, WorkspaceMode.ENABLED);
    }

    private static MultiLayerNetwork layers(IUpdater updater, WorkspaceMode mode) {
        return initialised(configuration(updater, mode).list().layer(dense(0)).layer(dense(1)).layer(dense(2)).layer(softmax())
                .setInputType(InputType.feedForward(INPUTS)).build());
    }

    private static ComputationGraph graph(IUpdater updater, WorkspaceMode mode) {
        return initialised(configuration(updater, mode).graphBuilder().addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("0", dense(0), "in").addLayer("1", dense(1), "0").addLayer("2", dense(2), "1").addLayer("3", softmax(), "2")
                .setOutputs("3").build());
    }

    static DenseLayer dense(int index) {
        DenseLayer.Builder layer = new DenseLayer.Builder().nOut(SIZES[index]);
        return index == 1 ? layer.l2(1e-3).build() : layer.build();
    }

    static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    static MultiLayerNetwork initialised(MultiLayerConfiguration configuration) {
        MultiLayerNetwork net = new MultiLayerNetwork(configuration);
        net.init();
        return net;
    }

    static ComputationGraph initialised(ComputationGraphConfiguration configuration) {
        ComputationGraph net = new ComputationGraph(configuration);
        net.init();
        return net;
    }

    /** Standard normal values that depend on the seed only. */
    static INDArray gaussian(long seed, long... shape) {
        Random random = new Random(seed);
        INDArray array = Nd4j.create(shape);
        for (long i = 0; i < array.length(); i++) {
            array.putScalar(i, random.nextGaussian());
        }
        return array;
    }

    /** One-hot classes that depend on the seed only, [examples, classes]. */
    static INDArray classes(long seed, int examples, int classes) {
        Random random = new Random(seed);
        INDArray labels = Nd4j.zeros(examples, classes);
        for (int i = 0; i < examples; i++) {
            labels.putScalar(i, random.nextInt(classes), 1);
        }
        return labels;
    }

    /** The batch of a step. */
    static DataSet batch(int step) {
        return new DataSet(gaussian(100 + step, BATCH, INPUTS), classes(200 + step, BATCH, CLASSES));
    }

    /** The batches of some steps. */
    static DataSetIterator batches(int first, int count) {
        List<DataSet> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            list.add(batch(first + i));
        }
        return new ExistingDataSetIterator(list);
    }

    static void fit(Model model, DataSet data) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).fit(data);
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    static void fit(Model model, DataSetIterator data) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).fit(data);
        } else {
            ((ComputationGraph) model).fit(data);
        }
    }

    /** Trains on the batches of some steps, one fit per batch. */
    static void train(Model model, int first, int count) {
        for (int i = 0; i < count; i++) {
            fit(model, batch(first + i));
        }
    }

    static INDArray output(Model model, INDArray features) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).output(features)
                : ((ComputationGraph) model).outputSingle(features);
    }

    static void setListeners(Model model, TrainingListener... listeners) {
        if (model instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) model).setListeners(listeners);
        } else {
            ((ComputationGraph) model).setListeners(listeners);
        }
    }

    static Collection<TrainingListener> listeners(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getListeners() : ((ComputationGraph) model).getListeners();
    }

    /** The updater object in force, made if there is none. */
    static Object updater(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getUpdater() : ((ComputationGraph) model).getUpdater();
    }

    /** The updater's state, null if it keeps none. */
    static INDArray updaterState(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getUpdater().getStateViewArray()
                : ((ComputationGraph) model).getUpdater().getStateViewArray();
    }

    static Layer layer(Model model, int index) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getLayer(index)
                : ((ComputationGraph) model).getLayer(String.valueOf(index));
    }

    static int iteration(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).getIterationCount()
                : ((ComputationGraph) model).getIterationCount();
    }

    static Model copy(Model model) {
        return model instanceof MultiLayerNetwork ? ((MultiLayerNetwork) model).clone() : ((ComputationGraph) model).clone();
    }
}
