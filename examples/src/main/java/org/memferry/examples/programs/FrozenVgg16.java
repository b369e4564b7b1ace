package org.memferry.examples.programs;

import org.deeplearning4j.datasets.iterator.ExistingDataSetIterator;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.transferlearning.FineTuneConfiguration;
import org.deeplearning4j.nn.transferlearning.TransferLearning;
import org.deeplearning4j.nn.weights.WeightInitRelu;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.util.ModelSerializer;
import org.deeplearning4j.zoo.model.VGG16;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.AtomicFile;
import org.memferry.base.Sizes;
import org.memferry.examples.Digits;
import org.memferry.plan.Hardware;
import org.memferry.plan.Strategy;
import org.memferry.planner.Estimate;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * VGG16 of DL4J's zoo learns something new on a device that does not even hold its parameters: trained on the digits 0-4 and saved, then
 * restored, frozen up to its last convolution, and trained on the digits 5-9. MemFerry is the one line that attaches it.
 *
 * <p>The images are the bundled digits, four times as large: 32 x 32 with three colours, the smallest that VGG16 takes, 33.6 million
 * parameters. Thirty batches of 16, two epochs each: 2 GB of memory and some 200 seconds of processor time, most of them for the first
 * training, which is plain DL4J's.
 *
 * <p>Before MemFerry attaches the network, TransferLearning makes it as an ordinary one, in ordinary arrays: where those are on a card that
 * does not hold them, {@link org.memferry.examples.HostScope} has them made in host memory.
 */
public final class FrozenVgg16 {

    private static final long SEED = 16;
    private static final int SIDE = 32;
    private static final int COLOURS = 3;
    private static final int CLASSES = 5;
    private static final int BATCH = 16;
    /** A line on stderr for so many iterations. */
    private static final int REPORTED = 10;
    /** The last vertex that stays as it is: the pooling after the last convolution. */
    private static final String FROZEN = "17";
    private static final InputType IMAGE = InputType.convolutionalFlat(SIDE, SIDE, COLOURS);
    private static final String BUDGET = "120MB";

    private FrozenVgg16() {
    }

    /** @param args where to keep the weights of the first training, a temporary file if not given; a file that is there is used */
    public static void main(String[] args) throws IOException {
        File weights = args.length > 0 ? new File(args[0]) : File.createTempFile("memferry-vgg16-", ".zip");
        try {
            run(weights, 30, 2);
        } finally {
            if (args.length == 0 && !weights.delete()) {
                weights.deleteOnExit();
            }
        }
    }

    /** @return accuracy on held-out digits before and after */
    static double[] run(File weights, int batches, int epochs) throws IOException {
        if (weights.length() == 0) {
            makeWeights(weights, batches, epochs);
        }
        DataSetIterator train = data(Digits.bundled().only(5, 9).train(SEED), 5, batches);
        DataSetIterator test = data(Digits.bundled().only(5, 9).test(SEED), 5, batches);

        ComputationGraph trained = ModelSerializer.restoreComputationGraph(weights, false);
        ComputationGraph net = new TransferLearning.GraphBuilder(trained)
                .fineTuneConfiguration(new FineTuneConfiguration.Builder().seed(SEED).updater(new Adam(1e-4)).build())
                .setFeatureExtractor(FROZEN)
                .removeVertexKeepConnections("20")
                .addLayer("20", new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD).nIn(4096).nOut(CLASSES)
                        .activation(Activation.SOFTMAX).build(), "19")
                .build();
        trained.close();
        sayWhatFits(net);

        try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:" + BUDGET).expect(BATCH, IMAGE).build())) {
            double before = net.evaluate(test).accuracy();
            net.addListeners(new ScoreIterationListener(REPORTED));
            net.fit(train, epochs);
            double after = net.evaluate(test).accuracy();
            System.out.printf("Accuracy on held-out digits 5-9: %.3f before, %.3f after %d iterations%n", before, after, net.getIterationCount());
            return new double[] {before, after};
        }
    }

    /** What the internet has for others: weights of a trained VGG16. The file is there as a whole or not at all. */
    private static void makeWeights(File weights, int batches, int epochs) throws IOException {
        ComputationGraph net = vgg16();
        net.init();
        System.out.printf("Plain DL4J trains VGG16, %,d parameters, on the digits 0-4: two minutes or so%n", net.numParams());
        net.setListeners(new ScoreIterationListener(REPORTED));
        net.fit(data(Digits.bundled().only(0, 4).train(SEED), 0, batches), epochs);
        System.out.printf("Accuracy on held-out digits 0-4: %.3f%n",
                net.evaluate(data(Digits.bundled().only(0, 4).test(SEED), 0, batches)).accuracy());
        AtomicFile.replace(weights, out -> ModelSerializer.writeModel(net, out, false));
        net.close();
    }

    /** The zoo's, with the weights that deep ReLU networks begin with today, and without drop-out: so that a short training learns something. */
    private static ComputationGraph vgg16() {
        ComputationGraphConfiguration configuration = VGG16.builder().seed(SEED).inputShape(new int[] {COLOURS, SIDE, SIDE}).numClasses(CLASSES)
                .updater(new Adam(1e-4)).build().conf();
        configuration.getVertices().values().stream().filter(vertex -> vertex instanceof LayerVertex)
                .map(vertex -> ((LayerVertex) vertex).getLayerConf().getLayer()).filter(layer -> layer instanceof BaseLayer)
                .forEach(layer -> {
                    ((BaseLayer) layer).setWeightInitFn(new WeightInitRelu());
                    layer.setIDropout(null);
                });
        return new ComputationGraph(configuration);
    }

    private static void sayWhatFits(ComputationGraph net) {
        Hardware device = Hardware.named("V100-32-PCIe3").withDeviceBytes(Sizes.parse(BUDGET, "budget"));
        Estimate estimate = MemFerry.estimate(net, BATCH, device, IMAGE);
        System.out.printf("A device of %s: plain DL4J takes %s and %s, MemFerry fits as %s%n", BUDGET,
                Sizes.format(estimate.need(Strategy.NONE).orElseThrow().deviceBytes()), estimate.fitting().contains(Strategy.NONE) ? "fits" : "does not fit",
                estimate.fitting());
    }

    /** Images four times as large in three colours, flat as the zoo wants them. */
    private static DataSetIterator data(Digits digits, int first, int batches) {
        List<DataSet> large = new ArrayList<>();
        for (DataSet batch : digits.batches(first, CLASSES, BATCH)) {
            INDArray image = batch.getFeatures().repeat(2, SIDE / Digits.SIDE).repeat(3, SIDE / Digits.SIDE);
            INDArray coloured = Nd4j.concat(1, image, image, image);
            large.add(new DataSet(coloured.reshape(coloured.size(0), COLOURS * SIDE * SIDE), batch.getLabels()));
        }
        return new ExistingDataSetIterator(large.subList(0, Math.min(batches, large.size())));
    }
}
