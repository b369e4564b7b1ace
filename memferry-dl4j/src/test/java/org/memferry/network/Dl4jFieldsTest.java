package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.EnumMap;
import java.util.Map;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.MaskState;
import org.deeplearning4j.nn.conf.layers.samediff.SameDiffVertex;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.BaseWrapperVertex;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.FrozenLayerWithBackprop;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.Solver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * DL4J has every field that MemFerry must swap, with the type it counts on. When DL4J moves one, the failure names it: find what took its
 * place before anything else is changed.
 */
class Dl4jFieldsTest {

    private static final Map<Dl4jFields, Field> EXPECTED = new EnumMap<>(Dl4jFields.class);

    static {
        expect(Dl4jFields.MLN_PARAMS, MultiLayerNetwork.class, "flattenedParams", INDArray.class);
        expect(Dl4jFields.MLN_GRADIENTS, MultiLayerNetwork.class, "flattenedGradients", INDArray.class);
        expect(Dl4jFields.MLN_GRADIENT, MultiLayerNetwork.class, "gradient", Gradient.class);
        expect(Dl4jFields.MLN_SOLVER, MultiLayerNetwork.class, "solver", Solver.class);
        expect(Dl4jFields.GRAPH_PARAMS, ComputationGraph.class, "flattenedParams", INDArray.class);
        expect(Dl4jFields.GRAPH_GRADIENTS, ComputationGraph.class, "flattenedGradients", INDArray.class);
        expect(Dl4jFields.GRAPH_GRADIENT, ComputationGraph.class, "gradient", Gradient.class);
        expect(Dl4jFields.GRAPH_SOLVER, ComputationGraph.class, "solver", Solver.class);
        expect(Dl4jFields.GRAPH_LABELS, ComputationGraph.class, "labels", INDArray[].class);
        expect(Dl4jFields.LAYER_MASK, AbstractLayer.class, "maskArray", INDArray.class);
        expect(Dl4jFields.LAYER_MASK_STATE, AbstractLayer.class, "maskState", MaskState.class);
        expect(Dl4jFields.BIDIRECTIONAL_FORWARD, BidirectionalLayer.class, "fwd", Layer.class);
        expect(Dl4jFields.BIDIRECTIONAL_BACKWARD, BidirectionalLayer.class, "bwd", Layer.class);
        expect(Dl4jFields.BIDIRECTIONAL_PARAMS, BidirectionalLayer.class, "paramsView", INDArray.class);
        expect(Dl4jFields.FROZEN_ZERO_GRADIENT, FrozenLayer.class, "zeroGradient", Gradient.class);
        expect(Dl4jFields.FROZEN_WITH_BACKPROP_ZERO_GRADIENT, FrozenLayerWithBackprop.class, "zeroGradient", Gradient.class);
        expect(Dl4jFields.GRADIENT_FLATTENED, DefaultGradient.class, "flattenedGradient", INDArray.class);
        expect(Dl4jFields.WRAPPER_VERTEX_UNDERLYING, BaseWrapperVertex.class, "underlying", GraphVertex.class);
        expect(Dl4jFields.SAMEDIFF_LAYER_TABLE, SameDiffLayer.class, "paramTable", Map.class);
        expect(Dl4jFields.SAMEDIFF_LAYER_GRAPH, SameDiffLayer.class, "sameDiff", SameDiff.class);
        expect(Dl4jFields.SAMEDIFF_OUTPUT_TABLE, SameDiffOutputLayer.class, "paramTable", Map.class);
        expect(Dl4jFields.SAMEDIFF_OUTPUT_GRAPH, SameDiffOutputLayer.class, "sameDiff", SameDiff.class);
        expect(Dl4jFields.SAMEDIFF_VERTEX_PARAMS, SameDiffGraphVertex.class, "params", INDArray.class);
        expect(Dl4jFields.SAMEDIFF_VERTEX_TABLE, SameDiffGraphVertex.class, "paramTable", Map.class);
        expect(Dl4jFields.SAMEDIFF_VERTEX_GRAPH, SameDiffGraphVertex.class, "sameDiff", SameDiff.class);
        expect(Dl4jFields.SAMEDIFF_VERTEX_CONFIG, SameDiffGraphVertex.class, "config", SameDiffVertex.class);
    }

    private static void expect(Dl4jFields constant, Class<?> owner, String name, Class<?> type) {
        Field field;
        try {
            field = owner.getDeclaredField(name);
        } catch (NoSuchFieldException e) {
            throw new AssertionError("DL4J moved " + owner.getName() + "." + name + ", which MemFerry swaps as " + constant.name(), e);
        }
        if (!type.isAssignableFrom(field.getType())) {
            throw new AssertionError("DL4J changed the type of " + owner.getName() + "." + name + " to " + field.getType().getName()
                    + " (expected: " + type.getName() + ")");
        }
        EXPECTED.put(constant, field);
    }

    @Test
    void DL4J_has_every_field_that_is_swapped() {
        assertThat(Dl4jFields.missing()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void every_field_is_named_here_with_its_type(Dl4jFields field) {
        assertThat(EXPECTED).as("add %s to this test", field.name()).containsKey(field);
        Field expected = EXPECTED.get(field);
        assertThat(field.toString()).isEqualTo(expected.getDeclaringClass().getSimpleName() + "." + expected.getName());
        assertThat(Modifier.isStatic(expected.getModifiers())).as("%s is static", field).isFalse();
        assertThat(Modifier.isFinal(expected.getModifiers()) && field.name().endsWith("PARAMS")).as("%s is final", field).isFalse();
    }

    @Test
    void what_is_set_is_what_is_got() {
        DefaultGradient gradient = new DefaultGradient();
        INDArray array = Nd4j.zeros(3);
        Dl4jFields.GRADIENT_FLATTENED.set(gradient, array);
        assertThat(Dl4jFields.GRADIENT_FLATTENED.get(gradient)).isSameAs(array);
    }

    @Test
    void a_field_is_not_reached_on_an_object_of_another_kind() {
        assertThatThrownBy(() -> Dl4jFields.MLN_PARAMS.get("a text")).isInstanceOf(IllegalArgumentException.class);
    }
}
