package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.FrozenVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RecurrentAttentionLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SelfAttentionLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Attention, which DL4J writes in SameDiff: parameters are read by a graph that holds the arrays, not through the layer's table.
 * LearnedSelfAttentionLayer is missing: its forward pass fails in stock 1.0.0-M1.1 and 1.0.0-M2.1, whose ScatterUpdate names an
 * operation of another signature.
 */
final class AttentionFamilies {

    private static final int BATCH = 4;
    private static final int INPUTS = 8;
    private static final int STEPS = 6;
    private static final int CLASSES = 4;
    private static final InputType INPUT = InputType.recurrent(INPUTS, STEPS);

    private AttentionFamilies() {
    }

    static List<Family> all() {
        return List.of(selfAttention(), unprojected(), recurrentAttention(), transformerBlocks(), projectingVertex(),
                frozenVertex());
    }

    private static Family selfAttention() {
        return StockFamily.layers("self-attention", BATCH, () -> configuration(61, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(new SelfAttentionLayer.Builder().nOut(10).nHeads(2).projectInput(true).build())
                .layer(new LSTM.Builder().nOut(9).build())
                .layer(new SelfAttentionLayer.Builder().nOut(8).nHeads(4).projectInput(true).build())
                .layer(new GlobalPoolingLayer(PoolingType.MAX))
                .layer(new DenseLayer.Builder().nOut(17).build())
                .layer(softmax())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classes(BATCH, CLASSES), data.lengths(BATCH, STEPS), null));
    }

    /** Without projection, a SameDiff layer that has no parameters at all. */
    private static Family unprojected() {
        return StockFamily.layers("self-attention-unprojected", BATCH, () -> configuration(62, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(new SelfAttentionLayer.Builder().nIn(12).nOut(12).nHeads(1).projectInput(false).build())
                .layer(new LSTM.Builder().nOut(11).build())
                .layer(new LSTM.Builder().nOut(14).build())
                .layer(new GlobalPoolingLayer(PoolingType.AVG))
                .layer(new DenseLayer.Builder().nOut(18).build())
                .layer(softmax())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classes(BATCH, CLASSES)));
    }

    private static Family recurrentAttention() {
        return StockFamily.layers("recurrent-attention", BATCH, () -> configuration(63, new Adam(1e-3))
                .list()
                .layer(new LSTM.Builder().nOut(12).build())
                .layer(new RecurrentAttentionLayer.Builder().nIn(12).nOut(10).nHeads(1).projectInput(true).build())
                .layer(new LSTM.Builder().nOut(11).build())
                .layer(new LSTM.Builder().nOut(9).build())
                .layer(rnnOutput())
                .setInputType(INPUT)
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** Two blocks of attention and feed-forward with residual connections, projected by convolutions of width one. */
    private static Family transformerBlocks() {
        return StockFamily.graph("transformer-blocks", BATCH, AttentionFamilies::transformer)
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    private static ComputationGraphConfiguration transformer() {
        int width = 16;
        GraphBuilder graph = configuration(64, new Adam(1e-3))
                .activation(Activation.IDENTITY)
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(INPUT)
                .addLayer("embed", projection(width), "input");
        String previous = "embed";
        for (int block = 0; block < 2; block++) {
            String p = "block" + block + "-";
            graph.addLayer(p + "q", projection(width), previous)
                    .addLayer(p + "k", projection(width), previous)
                    .addLayer(p + "v", projection(width), previous)
                    .addVertex(p + "attention", new AttentionVertex.Builder()
                            .nInQueries(width).nInKeys(width).nInValues(width).nOut(width).nHeads(1).projectInput(false).build(),
                            p + "q", p + "k", p + "v")
                    .addLayer(p + "o", projection(width), p + "attention")
                    .addVertex(p + "attended", new ElementWiseVertex(ElementWiseVertex.Op.Add), previous, p + "o")
                    .addLayer(p + "up", new Convolution1DLayer.Builder(1).nOut(3 * width).activation(Activation.RELU).build(),
                            p + "attended")
                    .addLayer(p + "down", projection(width), p + "up")
                    .addVertex(p + "out", new ElementWiseVertex(ElementWiseVertex.Op.Add), p + "attended", p + "down");
            previous = p + "out";
        }
        return graph.addLayer("output", rnnOutput(), previous).setOutputs("output").build();
    }

    /** A vertex, not a layer, with parameters; queries come from elsewhere than keys and values. */
    private static Family projectingVertex() {
        return StockFamily.graph("attention-vertex-projected", BATCH, () -> configuration(65, new Adam(1e-3))
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(INPUT)
                .addLayer("queries", new LSTM.Builder().nOut(11).build(), "input")
                .addLayer("memory", new LSTM.Builder().nOut(14).build(), "input")
                .addVertex("attention", new AttentionVertex.Builder()
                        .nInQueries(11).nInKeys(14).nInValues(14).nOut(12).nHeads(3).projectInput(true).build(),
                        "queries", "memory", "memory")
                .addLayer("mixed", new Convolution1DLayer.Builder(1).nOut(15).build(), "attention")
                .addLayer("series", new LSTM.Builder().nOut(10).build(), "mixed")
                .addLayer("output", rnnOutput(), "series")
                .setOutputs("output")
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    /** A vertex with parameters that stand still and that no error passes. */
    private static Family frozenVertex() {
        return StockFamily.graph("attention-vertex-frozen", BATCH, () -> configuration(66, new Adam(1e-3))
                .graphBuilder()
                .addInputs("input")
                .setInputTypes(INPUT)
                .addLayer("first", new LSTM.Builder().nOut(12).build(), "input")
                .addVertex("attention", new FrozenVertex(new AttentionVertex.Builder()
                        .nInQueries(12).nInKeys(12).nInValues(12).nOut(10).nHeads(2).projectInput(true).build()),
                        "first", "first", "first")
                .addLayer("second", new LSTM.Builder().nOut(11).build(), "first")
                .addLayer("both", new LSTM.Builder().nOut(13).build(), "attention", "second")
                .addLayer("output", rnnOutput(), "both")
                .setOutputs("output")
                .build())
                .inputs(INPUT)
                .on(data -> batch(data.gaussian(BATCH, INPUTS, STEPS), data.classSeries(BATCH, CLASSES, STEPS)));
    }

    private static Convolution1DLayer projection(int width) {
        return new Convolution1DLayer.Builder(1).nOut(width).build();
    }

    private static RnnOutputLayer rnnOutput() {
        return new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }

    private static OutputLayer softmax() {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build();
    }
}
