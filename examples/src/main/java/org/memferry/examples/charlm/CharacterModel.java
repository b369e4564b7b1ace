package org.memferry.examples.charlm;

import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.rnn.LastTimeStepVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.memferry.examples.Text;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.Locale;
import java.util.Random;

/** The two networks of the example, as one writes them in DL4J, and the batches that each is trained on. */
public enum CharacterModel {

    /** Two LSTM layers that predict every next character, trained by truncated back-propagation through time. */
    LSTM(100, 16) {
        @Override
        public NeuralNetwork configured(int kinds) {
            return new MultiLayerNetwork(settings(2e-3).weightInit(WeightInit.XAVIER).list()
                    .layer(new LSTM.Builder().nIn(kinds).nOut(128).activation(Activation.TANH).build())
                    .layer(new LSTM.Builder().nOut(128).activation(Activation.TANH).build())
                    .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(kinds).activation(Activation.SOFTMAX).build())
                    .backpropType(BackpropType.TruncatedBPTT).tBPTTForwardLength(25).tBPTTBackwardLength(25)
                    .setInputType(InputType.recurrent(kinds)).build());
        }

        @Override
        public MultiDataSet batch(Text text, int[] starts) {
            return new MultiDataSet(text.oneHot(starts, steps), text.oneHot(Text.shifted(starts, 1), steps));
        }
    },

    /**
     * Two transformer blocks that read a window and predict the character behind it. The attention of DL4J sees the whole window, so only what
     * lies outside it may be predicted. Its second input says where in the window each character stands.
     */
    TRANSFORMER(48, 32) {
        @Override
        public NeuralNetwork configured(int kinds) {
            GraphBuilder graph = settings(1e-3).weightInit(WeightInit.XAVIER).activation(Activation.IDENTITY).graphBuilder()
                    .addInputs("characters", "positions")
                    .setInputTypes(InputType.recurrent(kinds, steps), InputType.recurrent(WIDTH, steps))
                    .addLayer("embedding", projection(WIDTH), "characters")
                    .addVertex("block0", new ElementWiseVertex(ElementWiseVertex.Op.Add), "embedding", "positions");
            for (int b = 1; b <= 2; b++) {
                addBlock(graph, "block" + b, "block" + (b - 1));
            }
            return new ComputationGraph(graph.addVertex("last", new LastTimeStepVertex("characters"), "block2")
                    .addLayer("output", new OutputLayer.Builder(LossFunction.MCXENT).nIn(WIDTH).nOut(kinds).activation(Activation.SOFTMAX)
                            .build(), "last")
                    .setOutputs("output").build());
        }

        @Override
        public MultiDataSet batch(Text text, int[] starts) {
            return new MultiDataSet(new INDArray[] {text.oneHot(starts, steps), positions(starts.length)},
                    new INDArray[] {text.oneHot(Text.shifted(starts, steps))});
        }
    };

    private static final int WIDTH = 128;
    private static final long SEED = 1611;

    /** Characters of a piece of text. */
    final int steps;
    /** Pieces of a batch. */
    final int minibatch;

    /** Name as on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    CharacterModel(int steps, int minibatch) {
        this.steps = steps;
        this.minibatch = minibatch;
    }

    /** The network, not initialised. */
    public abstract NeuralNetwork configured(int kinds);

    /** Inputs and labels of the pieces that begin at some places of a text. */
    public abstract MultiDataSet batch(Text text, int[] starts);

    /** A batch of pieces from anywhere in a part of the text. */
    MultiDataSet batch(Text text, int from, int to, Random random) {
        return batch(text, random.ints(minibatch, from, to - steps - 1).toArray());
    }

    private static NeuralNetConfiguration.Builder settings(double learningRate) {
        return new NeuralNetConfiguration.Builder().seed(SEED).updater(new Adam(learningRate));
    }

    private static void addBlock(GraphBuilder graph, String block, String below) {
        graph.addLayer(block + "-q", projection(WIDTH), below).addLayer(block + "-k", projection(WIDTH), below)
                .addLayer(block + "-v", projection(WIDTH), below)
                .addVertex(block + "-attention", new AttentionVertex.Builder().nInQueries(WIDTH).nInKeys(WIDTH).nInValues(WIDTH).nOut(WIDTH)
                        .nHeads(1).projectInput(false).build(), block + "-q", block + "-k", block + "-v")
                .addLayer(block + "-o", projection(WIDTH), block + "-attention")
                .addVertex(block + "-attended", new ElementWiseVertex(ElementWiseVertex.Op.Add), below, block + "-o")
                .addLayer(block + "-up", new Convolution1DLayer.Builder(1).nOut(4 * WIDTH).activation(Activation.RELU).build(),
                        block + "-attended")
                .addLayer(block + "-down", projection(WIDTH), block + "-up")
                .addVertex(block, new ElementWiseVertex(ElementWiseVertex.Op.Add), block + "-attended", block + "-down");
    }

    private static Convolution1DLayer projection(int width) {
        return new Convolution1DLayer.Builder(1).nOut(width).build();
    }

    /** Sines and cosines of ever longer waves, as in the paper that proposed transformers; the same for every piece. */
    INDArray positions(int pieces) {
        float[] values = new float[pieces * WIDTH * steps];
        for (int piece = 0; piece < pieces; piece++) {
            for (int i = 0; i < WIDTH; i++) {
                for (int step = 0; step < steps; step++) {
                    double angle = step / Math.pow(10_000, (double) (i / 2 * 2) / WIDTH);
                    values[(piece * WIDTH + i) * steps + step] = (float) (i % 2 == 0 ? Math.sin(angle) : Math.cos(angle));
                }
            }
        }
        return Nd4j.create(values, new long[] {pieces, WIDTH, steps}, DataType.FLOAT);
    }
}
