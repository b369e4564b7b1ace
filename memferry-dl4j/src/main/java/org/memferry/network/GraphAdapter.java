package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.graph.ComputationGraphUpdater;
import org.deeplearning4j.optimize.Solver;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A ComputationGraph: vertices in topological order, output layers left out of the forward pass of training. */
final class GraphAdapter extends NetworkAdapter {

    private final ComputationGraph net;

    GraphAdapter(ComputationGraph net) {
        this.net = net;
    }

    @Override
    Model network() {
        return net;
    }

    @Override
    NetworkAdapter twin() {
        return new GraphAdapter(new ComputationGraph(net.getConfiguration()));
    }

    @Override
    boolean initialised() {
        return net.getVertices() != null;
    }

    @Override
    DataType dataType() {
        return net.getConfiguration().getDataType();
    }

    @Override
    Map<String, Long> parametersOfLayers() {
        Map<String, Long> counts = new LinkedHashMap<>();
        net.getConfiguration().getVertices().forEach((name, vertex) -> {
            vertex.setDataType(dataType());
            counts.put(name + " (" + vertex.getClass().getSimpleName() + ")", vertex.numParams(true));
        });
        return counts;
    }

    @Override
    void init(INDArray params) {
        net.init(params, false);
    }

    @Override
    void initialiseWeights() {
        Nd4j.getRandom().setSeed(net.conf().getSeed());
        INDArray flat = net.params();
        INDArray[] views = new INDArray[net.getVertices().length];
        for (NetworkUnit unit : units()) {
            views[unit.vertex.getVertexIndex()] = MultiLayerAdapter.view(flat, unit.offset, unit.length);
        }
        for (GraphVertex vertex : net.getVertices()) {
            org.deeplearning4j.nn.conf.graph.GraphVertex conf = net.getConfiguration().getVertices().get(vertex.getVertexName());
            if (conf != null) {
                // The vertex object is thrown away: what counts is that DL4J fills the view itself, draw for draw.
                INDArray view = views[vertex.getVertexIndex()];
                withScratch(() -> conf.instantiate(net, vertex.getVertexName(), vertex.getVertexIndex(), view, true, dataType()));
            }
        }
    }

    @Override
    List<NetworkUnit> units() {
        List<NetworkUnit> units = new ArrayList<>();
        GraphVertex[] vertices = net.getVertices();
        long offset = 0;
        for (int index : net.topologicalSortOrder()) {
            GraphVertex vertex = vertices[index];
            org.deeplearning4j.nn.conf.graph.GraphVertex conf = net.getConfiguration().getVertices().get(vertex.getVertexName());
            long length = conf == null ? 0 : conf.numParams(true);
            if (length > 0) {
                Layer layer = vertex.hasLayer() ? vertex.getLayer() : null;
                units.add(new NetworkUnit(vertex.getVertexName(), layer, vertex, offset, length));
                offset = Math.addExact(offset, length);
            }
        }
        return units;
    }

    @Override
    int[] forwardOrder() {
        List<NetworkUnit> units = units();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < units.size(); i++) {
            if (!units.get(i).vertex.isOutputVertex()) {
                order.add(i);
            }
        }
        return order.stream().mapToInt(Integer::intValue).toArray();
    }

    @Override
    int[] backwardOrder() {
        List<NetworkUnit> units = units();
        List<Integer> order = new ArrayList<>();
        for (int i = units.size() - 1; i >= 0; i--) {
            if (!Layers.frozen(units.get(i))) {
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
        return (INDArray) Dl4jFields.GRAPH_PARAMS.get(net);
    }

    @Override
    void setFlattenedParams(INDArray params) {
        Dl4jFields.GRAPH_PARAMS.set(net, params);
    }

    @Override
    INDArray flattenedGradients() {
        return (INDArray) Dl4jFields.GRAPH_GRADIENTS.get(net);
    }

    @Override
    void setFlattenedGradients(INDArray gradients) {
        Dl4jFields.GRAPH_GRADIENTS.set(net, gradients);
    }

    @Override
    Gradient gradient() {
        return (Gradient) Dl4jFields.GRAPH_GRADIENT.get(net);
    }

    @Override
    void forgetGradient() {
        Dl4jFields.GRAPH_GRADIENT.set(net, null);
    }

    @Override
    void initGradientsView() {
        net.initGradientsView();
    }

    @Override
    Solver solver() {
        return (Solver) Dl4jFields.GRAPH_SOLVER.get(net);
    }

    @Override
    BaseMultiLayerUpdater<?> updater() {
        return solver() == null ? null : net.getUpdater(false);
    }

    @Override
    void setUpdater(BaseMultiLayerUpdater<?> updater) {
        net.setUpdater((ComputationGraphUpdater) updater);
    }

    @Override
    BaseMultiLayerUpdater<?> stockUpdater(INDArray state) {
        return new ComputationGraphUpdater(net, state);
    }

    @Override
    BaseMultiLayerUpdater<?> ferryUpdater(UpdateHook hook, HostBlocks blocks, INDArray state) {
        return new FerryGraphUpdater(net, hook, blocks, state);
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
        List<NeuralNetConfiguration> confs = new ArrayList<>();
        for (org.deeplearning4j.nn.conf.graph.GraphVertex v : net.getConfiguration().getVertices().values()) {
            if (v instanceof LayerVertex) {
                confs.add(((LayerVertex) v).getLayerConf());
            }
        }
        return confs;
    }

    @Override
    WorkspaceMode trainingWorkspaces() {
        return net.getConfiguration().getTrainingWorkspaceMode();
    }

    @Override
    WorkspaceMode inferenceWorkspaces() {
        return net.getConfiguration().getInferenceWorkspaceMode();
    }

    @Override
    String configurationJson() {
        return net.getConfiguration().toJson();
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
        return net.getInputs();
    }

    @Override
    int inputCount() {
        return net.getInputs() == null ? 0 : net.getInputs().length;
    }

    @Override
    INDArray input(int index) {
        return net.getInput(index);
    }

    @Override
    IterationData data() {
        return new IterationData(net.getInputs(), (INDArray[]) Dl4jFields.GRAPH_LABELS.get(net), net.getInputMaskArrays(),
                net.getLabelMaskArrays());
    }

    @Override
    void fit(IterationData data) {
        net.fit(data.inputs(), data.labels(), data.inputMasks(), data.labelMasks());
    }

    @Override
    void copyMasks(NetworkAdapter to) {
        // They go with the data, and DL4J hands them on through the vertices.
    }

    @Override
    void setIteration(int iteration) {
        net.getConfiguration().setIterationCount(iteration);
    }

    @Override
    List<Layer> layers() {
        return List.of(net.getLayers());
    }

    @Override
    List<GraphVertex> vertices() {
        return List.of(net.getVertices());
    }

    @Override
    int segmentSteps() {
        ComputationGraphConfiguration conf = net.getConfiguration();
        return conf.getBackpropType() == BackpropType.TruncatedBPTT ? conf.getTbpttFwdLength() : 0;
    }

    @Override
    List<LayerShape> shapes(InputType[] types) {
        ComputationGraphConfiguration conf = net.getConfiguration();
        LayerShape.requireInputs(conf.getNetworkInputs().size(), types);
        Map<String, LayerShape.Flow> flows = new HashMap<>();
        for (int i = 0; i < types.length; i++) {
            flows.put(conf.getNetworkInputs().get(i), LayerShape.Flow.of(types[i]));
        }
        List<LayerShape> shapes = new ArrayList<>();
        for (int index : net.topologicalSortOrder()) {
            String name = net.calculateIndices().getIdxToName().get(index);
            org.deeplearning4j.nn.conf.graph.GraphVertex vertex = conf.getVertices().get(name);
            if (vertex != null) {
                shapes.add(shape(name, shapes.size(), vertex, conf.getVertexInputs().get(name), flows));
                flows.put(name, shapes.get(shapes.size() - 1).output);
            }
        }
        return shapes;
    }

    private static LayerShape shape(String name, int index, org.deeplearning4j.nn.conf.graph.GraphVertex vertex, List<String> sources,
            Map<String, LayerShape.Flow> flows) {
        if (vertex instanceof LayerVertex) {
            LayerVertex layer = (LayerVertex) vertex;
            return LayerShape.layer(name, index, layer.getLayerConf().getLayer(), layer.getPreProcessor(), sources.get(0),
                    flows.get(sources.get(0)));
        }
        return LayerShape.vertex(name, index, vertex, sources, flows);
    }
}
