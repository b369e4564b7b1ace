package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.MultiLayerUpdater;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A MultiLayerNetwork: layers in index order, output layer left out of the forward pass of training. */
final class MultiLayerAdapter extends NetworkAdapter {

    private final MultiLayerNetwork net;

    MultiLayerAdapter(MultiLayerNetwork net) {
        this.net = net;
    }

    @Override
    Model network() {
        return net;
    }

    @Override
    NetworkAdapter twin() {
        return new MultiLayerAdapter(new MultiLayerNetwork(net.getLayerWiseConfigurations()));
    }

    @Override
    boolean initialised() {
        return net.isInitCalled();
    }

    @Override
    DataType dataType() {
        return net.getLayerWiseConfigurations().getDataType();
    }

    @Override
    Map<String, Long> parametersOfLayers() {
        Map<String, Long> counts = new LinkedHashMap<>();
        for (NeuralNetConfiguration conf : configurations()) {
            counts.put(counts.size() + " (" + conf.getLayer().getClass().getSimpleName() + ")",
                    conf.getLayer().initializer().numParams(conf));
        }
        return counts;
    }

    @Override
    void init(INDArray params) {
        net.init(params, false);
    }

    @Override
    void initialiseWeights() {
        Nd4j.getRandom().setSeed(net.getDefaultConfiguration().getSeed());
        INDArray flat = net.params();
        long offset = 0;
        for (int i = 0; i < net.getnLayers(); i++) {
            NeuralNetConfiguration conf = net.getLayerWiseConfigurations().getConf(i);
            long length = conf.getLayer().initializer().numParams(conf);
            INDArray view = length == 0 ? null : view(flat, offset, length);
            // The layer object is thrown away: what counts is that DL4J fills the view itself, draw for draw.
            int index = i;
            withScratch(() -> conf.getLayer().instantiate(conf, new ArrayList<>(), index, view, true, dataType()));
            offset += length;
        }
    }

    static INDArray view(INDArray flat, long offset, long length) {
        return flat.rank() == 2 ? flat.get(NDArrayIndex.interval(0, 0, true), NDArrayIndex.interval(offset, offset + length))
                : flat.get(NDArrayIndex.interval(offset, offset + length));
    }

    @Override
    List<NetworkUnit> units() {
        List<NetworkUnit> units = new ArrayList<>();
        long offset = 0;
        Layer[] layers = net.getLayers();
        for (int i = 0; i < layers.length; i++) {
            NeuralNetConfiguration conf = net.getLayerWiseConfigurations().getConf(i);
            long length = conf.getLayer().initializer().numParams(conf);
            if (length > 0) {
                units.add(new NetworkUnit(String.valueOf(i), layers[i], null, offset, length));
                offset = Math.addExact(offset, length);
            }
        }
        return units;
    }

    @Override
    int[] forwardOrder() {
        List<NetworkUnit> units = units();
        int count = units.size();
        String last = String.valueOf(net.getnLayers() - 1);
        int end = count > 0 && units.get(count - 1).name.equals(last) ? count - 1 : count;
        int[] order = new int[end];
        for (int i = 0; i < end; i++) {
            order[i] = i;
        }
        return order;
    }

    @Override
    int[] backwardOrder() {
        List<NetworkUnit> units = units();
        List<Integer> order = new ArrayList<>();
        int lowest = 0;
        for (int i = 0; i < net.getnLayers(); i++) {
            if (net.getLayer(i) instanceof FrozenLayer) {
                // DL4J's backward pass ends at the first frozen layer it meets.
                lowest = i + 1;
            }
        }
        for (int i = units.size() - 1; i >= 0; i--) {
            if (Integer.parseInt(units.get(i).name) >= lowest) {
                order.add(i);
            }
        }
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    @Override
    int[] inferenceOrder() {
        int[] order = new int[units().size()];
        for (int i = 0; i < order.length; i++) {
            order[i] = i;
        }
        return order;
    }

    @Override
    INDArray flattenedParams() {
        return (INDArray) Dl4jFields.MLN_PARAMS.get(net);
    }

    @Override
    void setFlattenedParams(INDArray params) {
        Dl4jFields.MLN_PARAMS.set(net, params);
    }

    @Override
    INDArray flattenedGradients() {
        return (INDArray) Dl4jFields.MLN_GRADIENTS.get(net);
    }

    @Override
    void setFlattenedGradients(INDArray gradients) {
        Dl4jFields.MLN_GRADIENTS.set(net, gradients);
    }

    @Override
    Gradient gradient() {
        return (Gradient) Dl4jFields.MLN_GRADIENT.get(net);
    }

    @Override
    void forgetGradient() {
        Dl4jFields.MLN_GRADIENT.set(net, null);
    }

    @Override
    void initGradientsView() {
        net.initGradientsView();
    }

    @Override
    Solver solver() {
        return (Solver) Dl4jFields.MLN_SOLVER.get(net);
    }

    @Override
    BaseMultiLayerUpdater<?> updater() {
        Updater updater = net.getUpdater(false);
        if (updater != null && !(updater instanceof BaseMultiLayerUpdater)) {
            throw new RefusedException("the network's updater is a " + updater.getClass().getName()
                    + " (expected: DL4J's own MultiLayerUpdater). Call setUpdater(null) to let DL4J make one.");
        }
        return (BaseMultiLayerUpdater<?>) updater;
    }

    @Override
    void setUpdater(BaseMultiLayerUpdater<?> updater) {
        net.setUpdater(updater);
    }

    @Override
    BaseMultiLayerUpdater<?> stockUpdater(INDArray state) {
        return new MultiLayerUpdater(net, state);
    }

    @Override
    BaseMultiLayerUpdater<?> ferryUpdater(UpdateHook hook, HostBlocks blocks, INDArray state) {
        return new FerryMultiLayerUpdater(net, hook, blocks, state);
    }

    @Override
    void setAccumulator(GradientsAccumulator accumulator) {
        net.setGradientsAccumulator(accumulator);
    }

    @Override
    Collection<TrainingListener> listeners() {
        return net.getListeners();
    }

    @Override
    void addListener(TrainingListener listener) {
        net.addListeners(listener);
    }

    @Override
    void setListeners(Collection<TrainingListener> listeners) {
        net.setListeners(listeners);
    }

    @Override
    NeuralNetConfiguration defaultConfiguration() {
        return net.conf();
    }

    @Override
    List<NeuralNetConfiguration> configurations() {
        return net.getLayerWiseConfigurations().getConfs();
    }

    @Override
    WorkspaceMode trainingWorkspaces() {
        return net.getLayerWiseConfigurations().getTrainingWorkspaceMode();
    }

    @Override
    WorkspaceMode inferenceWorkspaces() {
        return net.getLayerWiseConfigurations().getInferenceWorkspaceMode();
    }

    @Override
    String configurationJson() {
        return net.getLayerWiseConfigurations().toJson();
    }

    @Override
    int iteration() {
        return net.getIterationCount();
    }

    @Override
    int epoch() {
        return net.getEpochCount();
    }

    @Override
    INDArray[] inputs() {
        return new INDArray[] {net.getInput()};
    }

    @Override
    int inputCount() {
        return 1;
    }

    @Override
    INDArray input(int index) {
        return net.getInput();
    }

    @Override
    IterationData data() {
        return new IterationData(inputs(), new INDArray[] {net.getLabels()}, null, null);
    }

    @Override
    void fit(IterationData data) {
        net.fit(data.inputs()[0], data.labels()[0]);
    }

    /** A MultiLayerNetwork keeps no mask that it was given: each layer has what has become of it there. */
    @Override
    void copyMasks(NetworkAdapter to) {
        List<Layer> others = to.layers();
        for (int i = 0; i < others.size(); i++) {
            Layers.copyMask(net.getLayer(i), others.get(i));
        }
    }

    @Override
    void setIteration(int iteration) {
        net.setIterationCount(iteration);
    }

    @Override
    List<Layer> layers() {
        return List.of(net.getLayers());
    }

    @Override
    List<GraphVertex> vertices() {
        return List.of();
    }

    @Override
    int segmentSteps() {
        MultiLayerConfiguration conf = net.getLayerWiseConfigurations();
        return conf.getBackpropType() == BackpropType.TruncatedBPTT ? conf.getTbpttFwdLength() : 0;
    }

    @Override
    List<LayerShape> shapes(InputType[] types) {
        LayerShape.requireInputs(1, types);
        List<LayerShape> shapes = new ArrayList<>();
        LayerShape.Flow flow = LayerShape.Flow.of(types[0]);
        for (int i = 0; i < configurations().size(); i++) {
            LayerShape shape = LayerShape.layer(String.valueOf(i), i, configurations().get(i).getLayer(),
                    net.getLayerWiseConfigurations().getInputPreProcess(i), i == 0 ? "input" : String.valueOf(i - 1), flow);
            shapes.add(shape);
            flow = shape.output;
        }
        return shapes;
    }
}
