package com.example;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;

/** A program like any other that trains with DL4J. It knows nothing of MemFerry. */
public final class PlainTraining {

    private static final int INPUTS = 64;
    private static final int WIDTH = 1000;
    private static final int CLASSES = 5;

    private PlainTraining() {
    }

    /** @param args layers or graph; ENABLED or NONE; most bytes of ordinary arrays that ND4J may hold, 0 for no limit */
    public static void main(String[] args) {
        Nd4j.getEnvironment().setDeviceLimit(0, Long.parseLong(args[2]));
        Model net = args[0].equals("layers") ? layers(WorkspaceMode.valueOf(args[1])) : graph(WorkspaceMode.valueOf(args[1]));
        List<DataSet> data = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            data.add(batch(i));
        }
        for (int epoch = 0; epoch < 2; epoch++) {
            fit(net, data);
            System.out.println("epoch " + epoch + " score " + Double.doubleToRawLongBits(net.score()));
        }
        fit(net, data.subList(0, 1));
        System.out.println("workspaces " + Nd4j.getWorkspaceManager().getAllWorkspacesIdsForCurrentThread());
        System.out.println("parameters " + checksum(net.params()));
        System.out.println("updater state " + checksum(net instanceof MultiLayerNetwork
                ? ((MultiLayerNetwork) net).getUpdater().getStateViewArray() : ((ComputationGraph) net).getUpdater().getStateViewArray()));
    }

    private static void fit(Model net, List<DataSet> data) {
        if (data.size() == 1) {
            fitOne(net, data.get(0));
        } else if (net instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) net).fit(new ExistingDataSetIterator(data));
        } else {
            ((ComputationGraph) net).fit(new ExistingDataSetIterator(data));
        }
    }

    private static void fitOne(Model net, DataSet batch) {
        if (net instanceof MultiLayerNetwork) {
            ((MultiLayerNetwork) net).fit(batch);
        } else {
            ((ComputationGraph) net).fit(batch);
        }
    }

    private static NeuralNetConfiguration.Builder configuration(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(7).activation(Activation.RELU).updater(new Adam(1e-3)).trainingWorkspaceMode(mode)
                .inferenceWorkspaceMode(mode);
    }

    private static MultiLayerNetwork layers(WorkspaceMode mode) {
        MultiLayerNetwork net = new MultiLayerNetwork(configuration(mode).list()
                .layer(new DenseLayer.Builder().nOut(WIDTH).build())
                .layer(new ActivationLayer.Builder().activation(Activation.TANH).build())
                .layer(new DenseLayer.Builder().nOut(WIDTH).build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build());
        net.init();
        return net;
    }

    private static ComputationGraph graph(WorkspaceMode mode) {
        ComputationGraphConfiguration configuration = configuration(mode).graphBuilder().addInputs("in")
                .setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("one", new DenseLayer.Builder().nOut(WIDTH).build(), "in")
                .addLayer("two", new DenseLayer.Builder().nOut(WIDTH).build(), "one")
                .addLayer("out", new OutputLayer.Builder(LossFunctions.LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX)
                        .build(), "two")
                .setOutputs("out").build();
        ComputationGraph net = new ComputationGraph(configuration);
        net.init();
        return net;
    }

    private static DataSet batch(int seed) {
        Random random = new Random(seed);
        INDArray features = Nd4j.create(8, INPUTS);
        for (int i = 0; i < features.length(); i++) {
            features.putScalar(i, random.nextGaussian());
        }
        INDArray labels = Nd4j.create(8, CLASSES);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, random.nextInt(CLASSES), 1);
        }
        return new DataSet(features, labels);
    }

    private static long checksum(INDArray array) {
        CRC32 sum = new CRC32();
        for (float value : array.dup().data().asFloat()) {
            int bits = Float.floatToRawIntBits(value);
            for (int i = 0; i < 4; i++) {
                sum.update(bits >> 8 * i);
            }
        }
        return sum.getValue();
    }
}
