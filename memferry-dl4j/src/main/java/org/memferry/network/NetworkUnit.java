package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;

/**
 * One layer of a MultiLayerNetwork, or one vertex of a ComputationGraph, that has parameters: a contiguous piece of the flat vector
 * that DL4J computes in one go.
 */
final class NetworkUnit {

    /** Index in a MultiLayerNetwork, vertex name in a graph: the prefix of the unit's keys in gradients and parameter tables. */
    final String name;
    /** The layer; null for a vertex that is not one. */
    final Layer layer;
    /** The vertex; null in a MultiLayerNetwork. */
    final GraphVertex vertex;
    /** What the updater knows of the unit. */
    final Trainable trainable;
    /** Index of the first element in the flat vector. */
    final long offset;
    /** Number of parameters. */
    final long length;

    NetworkUnit(String name, Layer layer, GraphVertex vertex, long offset, long length) {
        this.name = name;
        this.layer = layer;
        this.vertex = vertex;
        this.trainable = vertex == null ? layer : vertex;
        this.offset = offset;
        this.length = length;
    }

    /** Kind of layer for a reader, such as {@code DenseLayer} or {@code FrozenLayer(ConvolutionLayer)}. */
    String type() {
        if (layer == null) {
            return vertex.getClass().getSimpleName().replace("GraphVertex", "Vertex") + configType();
        }
        return typeOf(layer);
    }

    private String configType() {
        return trainable.getConfig() == null ? "" : "(" + trainable.getConfig().getClass().getSimpleName() + ")";
    }

    private static String typeOf(Layer layer) {
        Layer inner = Layers.inside(layer);
        String own = layer.getClass().getSimpleName();
        return inner == null ? own : own + "(" + typeOf(inner) + ")";
    }
}
