package org.memferry.examples.capacity;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.AttentionVertex;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.Convolution1DLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The networks that {@code capacity} lets grow: depth is fixed, and one notch more is a wider network. Adam, one example an iteration. */
enum CapacityModel {

    /** Eight hidden dense layers. */
    MLP {
        @Override
        Model network(int notch) {
            NeuralNetConfiguration.ListBuilder layers = configuration().activation(Activation.RELU).list();
            for (int i = 0; i < MLP_DEPTH; i++) {
                layers.layer(new DenseLayer.Builder().nOut(notch * NOTCH).build());
            }
            return new MultiLayerNetwork(layers.layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(ENDS)
                    .activation(Activation.SOFTMAX).build()).setInputType(input()).build());
        }

        @Override
        InputType input() {
            return InputType.feedForward(ENDS);
        }

        @Override
        void fit(Model network) {
            INDArray label = Nd4j.zeros(DataType.FLOAT, 1, ENDS);
            ((MultiLayerNetwork) network).fit(Nd4j.rand(DataType.FLOAT, 1, ENDS), label.putScalar(0, 1));
        }
    },

    /**
     * Twelve transformer blocks over 16 steps: projections for queries, keys, values and output, one head, a feed-forward part four times
     * as wide, both with a residual; 12 parameters per block and square of the width. The projections are convolutions of width 1 around an
     * attention vertex without any, since DL4J builds that way only.
     */
    TRANSFORMER {
        @Override
        Model network(int notch) {
            GraphBuilder graph = configuration().activation(Activation.IDENTITY).graphBuilder().addInputs("in").setInputTypes(input());
            int width = notch * NOTCH;
            graph.addLayer("embed", project(width, Activation.IDENTITY), "in");
            String x = "embed";
            for (int block = 0; block < BLOCKS; block++) {
                x = block(graph, "b" + block + "-", x, width);
            }
            graph.addLayer("out", new RnnOutputLayer.Builder(LossFunction.MCXENT).nOut(ENDS).activation(Activation.SOFTMAX).build(), x);
            return new ComputationGraph(graph.setOutputs("out").build());
        }

        @Override
        InputType input() {
            return InputType.recurrent(ENDS, STEPS);
        }

        @Override
        void fit(Model network) {
            INDArray label = Nd4j.zeros(DataType.FLOAT, 1, ENDS, STEPS);
            for (int t = 0; t < STEPS; t++) {
                label.putScalar(0, t, t, 1);
            }
            ((ComputationGraph) network).fit(new INDArray[] {Nd4j.rand(DataType.FLOAT, 1, ENDS, STEPS)}, new INDArray[] {label});
        }
    };

    /** Width that one notch adds. */
    static final int NOTCH = 16;
    /** Examples in an iteration. */
    static final int BATCH = 1;
    private static final int MLP_DEPTH = 8;
    private static final int BLOCKS = 12;
    private static final int STEPS = 16;
    /** Size of input and output. */
    private static final int ENDS = 64;

    /** A network that is not initialised. */
    abstract Model network(int notch);

    abstract InputType input();

    /** One iteration on random data. */
    abstract void fit(Model network);

    private static NeuralNetConfiguration.Builder configuration() {
        return new NeuralNetConfiguration.Builder().seed(1998).updater(new Adam(1e-4)).weightInit(WeightInit.XAVIER);
    }

    private static Convolution1DLayer project(int width, Activation activation) {
        return new Convolution1DLayer.Builder(1).nOut(width).activation(activation).build();
    }

    private static String block(GraphBuilder graph, String name, String x, int width) {
        for (String part : new String[] {"q", "k", "v"}) {
            graph.addLayer(name + part, project(width, Activation.IDENTITY), x);
        }
        graph.addVertex(name + "attention", new AttentionVertex.Builder().nInQueries(width).nInKeys(width).nInValues(width).nOut(width)
                .headSize(width).nHeads(1).projectInput(false).build(), name + "q", name + "k", name + "v");
        graph.addLayer(name + "o", project(width, Activation.IDENTITY), name + "attention");
        graph.addVertex(name + "add1", new ElementWiseVertex(ElementWiseVertex.Op.Add), x, name + "o");
        graph.addLayer(name + "ff1", project(4 * width, Activation.RELU), name + "add1");
        graph.addLayer(name + "ff2", project(width, Activation.IDENTITY), name + "ff1");
        graph.addVertex(name + "add2", new ElementWiseVertex(ElementWiseVertex.Op.Add), name + "add1", name + "ff2");
        return name + "add2";
    }
}
