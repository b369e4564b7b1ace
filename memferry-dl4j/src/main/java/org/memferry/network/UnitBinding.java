package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.ParamInitializer;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.layers.samediff.SDVertexParams;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffVertex;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.normalization.BatchNormalization;
import org.deeplearning4j.nn.layers.ocnn.OCNNOutputLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;
import org.deeplearning4j.nn.params.BatchNormalizationParamInitializer;
import org.deeplearning4j.nn.params.SameDiffParamInitializer;
import org.deeplearning4j.nn.updater.LayerUpdater;
import org.deeplearning4j.optimize.api.ConvexOptimizer;
import org.memferry.shadow.ParameterSlice;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Puts other arrays into the layer objects of one unit: the parameter view, the parameter table and whatever else keeps a parameter
 * array. Knows what each wrapper does differently.
 */
final class UnitBinding {

    /** A layer object (or SameDiff vertex) that holds a parameter table, and its piece of the unit. */
    static final class Table {

        /** The Layer or SameDiffGraphVertex. */
        final Object owner;
        /** Index of its first element, from the unit's first. */
        final long offset;
        final long length;
        /** Index of its first parameter in the unit's list of slices. */
        final int firstSlice;
        final List<ParameterSlice> slices;

        Table(Object owner, long offset, long length, int firstSlice, List<ParameterSlice> slices) {
            this.owner = owner;
            this.offset = offset;
            this.length = length;
            this.firstSlice = firstSlice;
            this.slices = slices;
        }

        /** For each key its index in the unit, in the table's order. */
        Map<String, Integer> index() {
            Map<String, Integer> index = new LinkedHashMap<>();
            for (int i = 0; i < slices.size(); i++) {
                index.put(slices.get(i).key(), firstSlice + i);
            }
            return index;
        }
    }

    private final NetworkUnit unit;
    private final List<Table> tables = new ArrayList<>();
    private final List<ParameterSlice> slices = new ArrayList<>();

    /**
     * @param unit the unit
     * @param view makes an array over elements (offset, length) of the unit, for finding out shapes; its content is not touched
     */
    UnitBinding(NetworkUnit unit, BiFunction<Long, Long, INDArray> view) {
        this.unit = unit;
        if (unit.layer == null) {
            SameDiffGraphVertex vertex = (SameDiffGraphVertex) Layers.unfrozen(unit.vertex);
            INDArray flat = view.apply(0L, unit.length);
            add(vertex, 0, flat, table(vertex, flat), Set.of());
        } else {
            collect(unit.layer, 0, unit.length, view);
        }
    }

    private void collect(Layer layer, long offset, long length, BiFunction<Long, Long, INDArray> view) {
        if (layer instanceof BaseWrapperLayer) {
            collect(((BaseWrapperLayer) layer).getUnderlying(), offset, length, view);
        } else if (layer instanceof BidirectionalLayer) {
            long half = length / 2;
            collect((Layer) Dl4jFields.BIDIRECTIONAL_FORWARD.get(layer), offset, half, view);
            collect((Layer) Dl4jFields.BIDIRECTIONAL_BACKWARD.get(layer), offset + half, half, view);
        } else {
            INDArray flat = view.apply(offset, length);
            Map<String, INDArray> table = table(layer, flat);
            add(layer, offset, flat, table, pinned(layer, table.keySet()));
        }
    }

    private void add(Object owner, long offset, INDArray flat, Map<String, INDArray> table, Set<String> pinned) {
        List<ParameterSlice> own = new ArrayList<>();
        table.forEach((key, a) -> own.add(new ParameterSlice(key, offset + a.offset() - flat.offset(), a.shape(), a.stride(),
                a.ordering(), pinned.contains(key))));
        tables.add(new Table(owner, offset, flat.length(), slices.size(), own));
        slices.addAll(own);
    }

    private static Map<String, INDArray> table(Layer layer, INDArray view) {
        return layer.conf().getLayer().initializer().init(layer.conf(), view, false);
    }

    private static Map<String, INDArray> table(SameDiffGraphVertex vertex, INDArray view) {
        SameDiffVertex config = (SameDiffVertex) Dl4jFields.SAMEDIFF_VERTEX_CONFIG.get(vertex);
        SDVertexParams params = config.getVertexParams();
        return SameDiffParamInitializer.getInstance().subsetAndReshape(params.getParameterKeys(), params.getParamShapes(), view, null,
                config);
    }

    /** An ordinary parameter table over a flat array, for a layer object or a SameDiff vertex. */
    static Map<String, INDArray> tableOver(Object owner, INDArray view) {
        return owner instanceof SameDiffGraphVertex ? table((SameDiffGraphVertex) owner, view) : table((Layer) owner, view);
    }

    /** Keys whose array outlives the visit, or is written by the layer itself: they are always the host master. */
    private static Set<String> pinned(Layer layer, Set<String> keys) {
        if (layer instanceof BatchNormalization) {
            // cuDNN's batch normalisation writes the running statistics in place.
            return Set.of(BatchNormalizationParamInitializer.GLOBAL_MEAN, BatchNormalizationParamInitializer.GLOBAL_VAR,
                    BatchNormalizationParamInitializer.GLOBAL_LOG_STD);
        }
        if (layer instanceof OCNNOutputLayer) {
            // Its backward pass writes the radius once per epoch.
            return Set.of(org.deeplearning4j.nn.layers.ocnn.OCNNParamInitializer.R_KEY);
        }
        if (!Traits.hasWeightNoise(layer)) {
            return Collections.emptySet();
        }
        // Noise leaves biases alone, hands out the array itself and caches it from forward to backward.
        ParamInitializer initializer = layer.conf().getLayer().initializer();
        Set<String> biases = new HashSet<>();
        for (String key : keys) {
            if (!initializer.isWeightParam(layer.conf().getLayer(), key)) {
                biases.add(key);
            }
        }
        return biases;
    }

    /** All parameters of the unit, in the order of its tables. */
    List<ParameterSlice> slices() {
        return slices;
    }

    /** The layer objects that hold a table. */
    List<Table> tables() {
        return tables;
    }

    /**
     * Replaces every parameter array of the unit.
     *
     * @param views   makes the flat array over elements (offset, length) of the unit
     * @param tableOf makes the parameter table of a layer object
     */
    void bind(BiFunction<Long, Long, INDArray> views, Function<Table, Map<String, INDArray>> tableOf) {
        for (Table table : tables) {
            INDArray view = views.apply(table.offset, table.length);
            Map<String, INDArray> parameters = tableOf.apply(table);
            if (table.owner instanceof SameDiffGraphVertex) {
                Dl4jFields.SAMEDIFF_VERTEX_PARAMS.set(table.owner, view);
                Dl4jFields.SAMEDIFF_VERTEX_TABLE.set(table.owner, parameters);
            } else if (table.owner instanceof SameDiffLayer) {
                ((Layer) table.owner).setParamsViewArray(view);
                Dl4jFields.SAMEDIFF_LAYER_TABLE.set(table.owner, parameters);
            } else if (table.owner instanceof SameDiffOutputLayer) {
                ((Layer) table.owner).setParamsViewArray(view);
                Dl4jFields.SAMEDIFF_OUTPUT_TABLE.set(table.owner, parameters);
            } else {
                ((Layer) table.owner).setParamsViewArray(view);
                ((Layer) table.owner).setParamTable(parameters);
            }
        }
        if (unit.layer != null) {
            bindWrappers(unit.layer, 0, unit.length, views);
        }
    }

    private static void bindWrappers(Layer layer, long offset, long length, BiFunction<Long, Long, INDArray> views) {
        if (layer instanceof BidirectionalLayer) {
            Dl4jFields.BIDIRECTIONAL_PARAMS.set(layer, views.apply(offset, length));
            bindWrappers((Layer) Dl4jFields.BIDIRECTIONAL_FORWARD.get(layer), offset, length / 2, views);
            bindWrappers((Layer) Dl4jFields.BIDIRECTIONAL_BACKWARD.get(layer), offset + length / 2, length / 2, views);
        } else if (layer instanceof BaseWrapperLayer) {
            Layer inside = ((BaseWrapperLayer) layer).getUnderlying();
            bindWrappers(inside, offset, length, views);
            if (layer instanceof FrozenLayer) {
                showParameters((Gradient) Dl4jFields.FROZEN_ZERO_GRADIENT.get(layer), inside);
            } else if (layer instanceof FrozenLayerWithBackprop) {
                showParameters((Gradient) Dl4jFields.FROZEN_WITH_BACKPROP_ZERO_GRADIENT.get(layer), inside);
            }
        }
    }

    /** A frozen layer's "zero gradient" keeps its parameter view; the old one would live on in it. */
    private static void showParameters(Gradient zeroGradient, Layer inside) {
        if (zeroGradient instanceof DefaultGradient) {
            Dl4jFields.GRADIENT_FLATTENED.set(zeroGradient, inside.params());
        }
    }

    /** Lets backward write the unit's gradient into another array. */
    void bindGradients(INDArray gradients) {
        if (unit.layer != null) {
            unit.layer.setBackpropGradientsViewArray(gradients);
        } else {
            GraphVertex vertex = unit.vertex;
            vertex.setBackpropGradientsViewArray(gradients);
        }
    }

    /**
     * A layer that was pre-trained has an optimizer of its own, whose updater keeps the arrays of the time when it was made: gives it one
     * over the present arrays, with the same state. To be called when parameters and gradients are bound.
     */
    void rebindOptimizers() {
        if (unit.layer == null) {
            return;
        }
        for (Layer layer : Layers.innermost(unit.layer)) {
            ConvexOptimizer optimizer = layer.isPretrainLayer() ? layer.getOptimizer() : null;
            Updater updater = optimizer == null ? null : optimizer.getUpdater(false);
            if (updater != null) {
                optimizer.setUpdater(new LayerUpdater(layer, updater.getStateViewArray()));
            }
        }
    }
}
