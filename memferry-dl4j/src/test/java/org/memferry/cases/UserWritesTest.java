package org.memferry.cases;

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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.BooleanIndexing;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.indexing.conditions.Conditions;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.ops.transforms.Transforms;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Parameters that a user writes, by any of the ways that DL4J and ND4J offer, are the ones that the next forward pass uses: device copies
 * from before are stale.
 */
class UserWritesTest {

    private static final int BATCH = 6;
    private static final int INPUTS = 9;
    private static final int CLASSES = 4;
    /** The written layer: neither the first nor the last. */
    private static final String WEIGHTS = "1_W";

    /** A way to write parameters. */
    private interface Write {

        /**
         * @param net    the network
         * @param weight its parameter {@link #WEIGHTS}, got before the first iteration and kept
         * @param all    its flat parameters, got before the first iteration and kept
         * @param round  1, 2, ...: other values each time
         */
        void to(Model net, INDArray weight, INDArray all, int round);
    }

    private static MultiLayerConfiguration layers(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).list()
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(11).build())
                .layer(new DenseLayer.Builder().nOut(7).build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build())
                .setInputType(InputType.feedForward(INPUTS)).build();
    }

    /** The same stack as a graph; a vertex has the name that the layer's index is. */
    private static ComputationGraphConfiguration graph(WorkspaceMode mode) {
        return new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH).updater(new Adam(1e-2))
                .trainingWorkspaceMode(mode).inferenceWorkspaceMode(mode).graphBuilder()
                .addInputs("in").setInputTypes(InputType.feedForward(INPUTS))
                .addLayer("0", new DenseLayer.Builder().nOut(11).build(), "in")
                .addLayer("1", new DenseLayer.Builder().nOut(11).build(), "0")
                .addLayer("2", new DenseLayer.Builder().nOut(7).build(), "1")
                .addLayer("3", new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).build(), "2")
                .setOutputs("3").build();
    }

    private static Map<String, Write> writes() {
        Map<String, Write> w = new LinkedHashMap<>();
        w.put("setParam", (net, weight, all, r) -> net.setParam(WEIGHTS, random(r)));
        w.put("setParams", (net, weight, all, r) -> net.setParams(net.params().mul(1 + 0.1 * r)));
        w.put("setParamTable", (net, weight, all, r) -> {
            Map<String, INDArray> table = new LinkedHashMap<>();
            net.paramTable().forEach((key, a) -> table.put(key, a.add(0.01 * r)));
            net.setParamTable(table);
        });
        w.put("Layer.setParam", (net, weight, all, r) -> layer(net).setParam("W", random(r)));
        w.put("Layer.setParams", (net, weight, all, r) -> layer(net).setParams(layer(net).params().mul(1 + 0.1 * r)));
        w.put("Layer.params().assign", (net, weight, all, r) -> layer(net).params().assign(0.05 * r));
        w.put("Layer.getParam().assign", (net, weight, all, r) -> layer(net).getParam("W").assign(random(r)));
        w.put("Layer.paramTable().get().assign", (net, weight, all, r) -> layer(net).paramTable().get("W").assign(random(r)));
        w.put("paramTable().values()", (net, weight, all, r) -> net.paramTable().values().forEach(a -> a.muli(1 + 0.1 * r)));
        w.put("assign", (net, weight, all, r) -> weight.assign(random(r)));
        w.put("assign(number)", (net, weight, all, r) -> weight.assign(0.03 * r));
        w.put("addi", (net, weight, all, r) -> weight.addi(random(r)));
        w.put("subi(number)", (net, weight, all, r) -> weight.subi(0.02 * r));
        w.put("muli", (net, weight, all, r) -> weight.muli(random(r)));
        w.put("rdivi", (net, weight, all, r) -> weight.rdivi(0.1 * r));
        w.put("negi", (net, weight, all, r) -> weight.negi());
        w.put("addiRowVector", (net, weight, all, r) -> weight.addiRowVector(random(r).getRow(0)));
        w.put("subiColumnVector", (net, weight, all, r) -> weight.subiColumnVector(random(r).getColumn(0).reshape(11, 1)));
        w.put("mmuli", (net, weight, all, r) -> weight.mmuli(random(r)));
        w.put("putScalar(index)", (net, weight, all, r) -> weight.putScalar(5, 0.4 * r));
        w.put("putScalar(long, float)", (net, weight, all, r) -> weight.putScalar(5L, 0.4f * r));
        w.put("putScalar(row, column)", (net, weight, all, r) -> weight.putScalar(2, 3, 0.4 * r));
        w.put("putScalar(int[])", (net, weight, all, r) -> weight.putScalar(new int[] {2, 3}, 0.4 * r));
        w.put("putScalar(long[], float)", (net, weight, all, r) -> weight.putScalar(new long[] {2, 3}, 0.4f * r));
        w.put("put(row, column, number)", (net, weight, all, r) -> weight.put(2, 3, 0.4 * r));
        w.put("put(int[], scalar)", (net, weight, all, r) -> weight.put(new int[] {2, 3}, Nd4j.scalar(0.4f * r)));
        w.put("put(intervals, array)", (net, weight, all, r) -> weight.put(
                new org.nd4j.linalg.indexing.INDArrayIndex[] {NDArrayIndex.interval(2, 4), NDArrayIndex.all()},
                random(r).get(NDArrayIndex.interval(2, 4), NDArrayIndex.all())));
        w.put("putRow", (net, weight, all, r) -> weight.putRow(2, random(r).getRow(1)));
        w.put("putColumn", (net, weight, all, r) -> weight.putColumn(2, random(r).getColumn(1)));
        w.put("putSlice", (net, weight, all, r) -> weight.putSlice(2, random(r).getRow(1)));
        w.put("getRow().assign", (net, weight, all, r) -> weight.getRow(3).assign(0.1 * r));
        w.put("slice().addi", (net, weight, all, r) -> weight.slice(3).addi(0.1 * r));
        w.put("tensorAlongDimension().assign", (net, weight, all, r) -> weight.tensorAlongDimension(1, 0).assign(0.1 * r));
        w.put("reshape().assign", (net, weight, all, r) -> weight.reshape('f', new long[] {121}).assign(0.02 * r));
        w.put("transpose().assign", (net, weight, all, r) -> weight.transpose().assign(random(r)));
        w.put("data().put", (net, weight, all, r) -> weight.data().put(7, 0.3f * r));
        w.put("Transforms in place", (net, weight, all, r) -> Transforms.sigmoid(weight, false));
        w.put("BooleanIndexing", (net, weight, all, r) -> BooleanIndexing.replaceWhere(weight, 0.2 * r, Conditions.lessThan(0.1 * r)));
        w.put("Nd4j.copy", (net, weight, all, r) -> Nd4j.copy(random(r).dup(weight.ordering()), weight));
        w.put("Nd4j.rand", (net, weight, all, r) -> Nd4j.rand(weight));
        w.put("Nd4j.gemm into", (net, weight, all, r) -> Nd4j.gemm(random(r).dup('f'), random(r + 1).dup('f'), weight, false, false, 1, 0));
        w.put("params().subi", (net, weight, all, r) -> net.params().subi(0.01 * r));
        w.put("kept params().subi", (net, weight, all, r) -> all.subi(0.01 * r));
        w.put("kept params().putScalar", (net, weight, all, r) -> all.putScalar(130, 0.5 * r));
        w.put("params().get(interval).assign", (net, weight, all, r) ->
                flat(net.params()).get(NDArrayIndex.interval(100, 140)).assign(0.03 * r));
        w.put("params().reshape().addi", (net, weight, all, r) -> net.params().reshape(all.length(), 1).addi(0.02 * r));
        w.put("params().getScalar().assign", (net, weight, all, r) -> flat(net.params()).getScalar(150).assign(0.7 * r));
        return w;
    }

    private static INDArray flat(INDArray vector) {
        return vector.rank() == 1 ? vector : vector.reshape(vector.length());
    }

    private static Layer layer(Model net) {
        return net instanceof MultiLayerNetwork ? ((MultiLayerNetwork) net).getLayer(1) : ((ComputationGraph) net).getLayer("1");
    }

    private static INDArray random(int round) {
        return Twins.gaussian(500 + round, 11, 11).muli(0.3);
    }

    static List<Arguments> everyWrite() {
        List<Arguments> arguments = new ArrayList<>();
        writes().keySet().forEach(name -> arguments.add(Arguments.of(name)));
        return arguments;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyWrite")
    void whatAUserWritesIsWhatTheNextForwardPassUses(String name) {
        for (Serving serving : Serving.values()) {
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.ENABLED))) {
                twins.attach(serving.config(BATCH, InputType.feedForward(INPUTS)));
                writeInBetween(twins, writes().get(name), name + ", " + serving);
                assertThat(twins.ferry().metrics().parameterCopies() > 0).as("served from copies").isEqualTo(serving.copies());
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @EnumSource(Serving.class)
    void theSameHoldsForAGraphAndForNetworksWithoutWorkspaces(Serving serving) {
        for (String name : new String[] {"setParam", "setParams", "setParamTable", "Layer.setParam", "Layer.setParams",
            "Layer.getParam().assign", "assign", "putScalar(index)", "params().subi", "params().get(interval).assign"}) {
            for (WorkspaceMode mode : new WorkspaceMode[] {WorkspaceMode.ENABLED, WorkspaceMode.NONE}) {
                try (Twins<ComputationGraph> twins = Twins.graphs(() -> graph(mode))) {
                    twins.attach(serving.config(BATCH, InputType.feedForward(INPUTS)));
                    writeInBetween(twins, writes().get(name), name + ", graph, " + serving + ", " + mode);
                }
            }
            try (Twins<MultiLayerNetwork> twins = Twins.layers(() -> layers(WorkspaceMode.NONE))) {
                twins.attach(serving.config(BATCH, InputType.feedForward(INPUTS)));
                writeInBetween(twins, writes().get(name), name + ", " + serving + ", NONE");
            }
        }
    }

    /** Between two inference passes, between inference and training either way, and between two iterations. */
    private static <M extends Model> void writeInBetween(Twins<M> twins, Write write, String name) {
        INDArray[] weights = {twins.stock().getParam(WEIGHTS), twins.attached().getParam(WEIGHTS)};
        INDArray[] all = {twins.stock().params(), twins.attached().params()};
        INDArray features = Twins.gaussian(3, BATCH, INPUTS);
        DataSet batch = Twins.batch(4, CLASSES, BATCH, INPUTS);
        long[] before = Twins.bits(twins.attached().params());
        int[] writes = {0};
        Runnable writeBoth = () -> {
            int r = ++writes[0];
            Nd4j.getRandom().setSeed(r);
            write.to(twins.stock(), weights[0], all[0], r);
            Nd4j.getRandom().setSeed(r);
            write.to(twins.attached(), weights[1], all[1], r);
        };
        twins.sameAnswer(name + ": output before", net -> Twins.output(net, features));
        writeBoth.run();
        twins.sameAnswer(name + ": output after a write after inference", net -> Twins.output(net, features));
        assertThat(Twins.bits(twins.attached().params())).as(name + " changes something").isNotEqualTo(before);
        writeBoth.run();
        twins.both(net -> Twins.fit(net, batch));
        twins.assertSame(name + ": training after a write after inference");
        writeBoth.run();
        twins.both(net -> Twins.fit(net, batch));
        twins.assertSame(name + ": training after a write after training");
        writeBoth.run();
        twins.sameAnswer(name + ": output after a write after training", net -> Twins.output(net, features));
    }
}
