package org.memferry.network;

import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.base.MemFerryException;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/**
 * The fields of DL4J that have no setter or getter and must be swapped, or copied, on an initialised network. The only reflection into DL4J; a test names
 * every field here and fails when DL4J moves one.
 */
enum Dl4jFields {

    MLN_PARAMS(MultiLayerNetwork.class, "flattenedParams"),
    MLN_GRADIENTS(MultiLayerNetwork.class, "flattenedGradients"),
    MLN_GRADIENT(MultiLayerNetwork.class, "gradient"),
    MLN_SOLVER(MultiLayerNetwork.class, "solver"),
    GRAPH_PARAMS(ComputationGraph.class, "flattenedParams"),
    GRAPH_GRADIENTS(ComputationGraph.class, "flattenedGradients"),
    GRAPH_GRADIENT(ComputationGraph.class, "gradient"),
    GRAPH_SOLVER(ComputationGraph.class, "solver"),
    GRAPH_LABELS(ComputationGraph.class, "labels"),
    LAYER_MASK(AbstractLayer.class, "maskArray"),
    LAYER_MASK_STATE(AbstractLayer.class, "maskState"),
    BIDIRECTIONAL_FORWARD(BidirectionalLayer.class, "fwd"),
    BIDIRECTIONAL_BACKWARD(BidirectionalLayer.class, "bwd"),
    BIDIRECTIONAL_PARAMS(BidirectionalLayer.class, "paramsView"),
    FROZEN_ZERO_GRADIENT(FrozenLayer.class, "zeroGradient"),
    FROZEN_WITH_BACKPROP_ZERO_GRADIENT(FrozenLayerWithBackprop.class, "zeroGradient"),
    GRADIENT_FLATTENED(DefaultGradient.class, "flattenedGradient"),
    WRAPPER_VERTEX_UNDERLYING(BaseWrapperVertex.class, "underlying"),
    SAMEDIFF_LAYER_TABLE(SameDiffLayer.class, "paramTable"),
    SAMEDIFF_LAYER_GRAPH(SameDiffLayer.class, "sameDiff"),
    SAMEDIFF_OUTPUT_TABLE(SameDiffOutputLayer.class, "paramTable"),
    SAMEDIFF_OUTPUT_GRAPH(SameDiffOutputLayer.class, "sameDiff"),
    SAMEDIFF_VERTEX_PARAMS(SameDiffGraphVertex.class, "params"),
    SAMEDIFF_VERTEX_TABLE(SameDiffGraphVertex.class, "paramTable"),
    SAMEDIFF_VERTEX_GRAPH(SameDiffGraphVertex.class, "sameDiff"),
    SAMEDIFF_VERTEX_CONFIG(SameDiffGraphVertex.class, "config");

    private final Class<?> owner;
    private final String fieldName;
    private final Field field;

    Dl4jFields(Class<?> owner, String fieldName) {
        this.owner = owner;
        this.fieldName = fieldName;
        Field found = null;
        try {
            found = owner.getDeclaredField(fieldName);
            found.setAccessible(true);
        } catch (NoSuchFieldException e) {
            // Reported by missing() and at the first use, with the name of the field.
            found = null;
        }
        this.field = found;
    }

    /** The fields that the DL4J in use does not have. */
    static List<String> missing() {
        List<String> names = new ArrayList<>();
        for (Dl4jFields f : values()) {
            if (f.field == null) {
                names.add(f.owner.getName() + "." + f.fieldName);
            }
        }
        return names;
    }

    Object get(Object target) {
        try {
            return present().get(target);
        } catch (IllegalAccessException e) {
            throw new MemFerryException("cannot read " + this + ": the field of DL4J is not accessible", e);
        }
    }

    void set(Object target, Object value) {
        try {
            present().set(target, value);
        } catch (IllegalAccessException e) {
            throw new MemFerryException("cannot write " + this + ": the field of DL4J is not accessible", e);
        }
    }

    /** The class that a public method of an object's class comes from. */
    static Class<?> declarer(Class<?> type, String method, Class<?>... parameters) {
        try {
            return type.getMethod(method, parameters).getDeclaringClass();
        } catch (NoSuchMethodException e) {
            throw new MemFerryException("this DL4J has no method " + method + " in " + type.getName()
                    + ". MemFerry knows 1.0.0-M1.1 and 1.0.0-M2.1: use one of these.");
        }
    }

    private Field present() {
        if (field == null) {
            throw new MemFerryException("this DL4J has no field " + owner.getName() + "." + fieldName
                    + ". MemFerry knows 1.0.0-M1.1 and 1.0.0-M2.1: use one of these.");
        }
        return field;
    }

    @Override
    public String toString() {
        return owner.getSimpleName() + "." + fieldName;
    }
}
