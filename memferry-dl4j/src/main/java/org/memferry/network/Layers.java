package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.FrozenVertex;
import org.deeplearning4j.nn.layers.AbstractLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.deeplearning4j.nn.layers.samediff.SameDiffOutputLayer;
import org.deeplearning4j.nn.layers.wrapper.BaseWrapperLayer;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Questions about DL4J's layer objects: what wraps what, and which of the special kinds one is. */
final class Layers {

    private Layers() {
    }

    /** The layer inside a wrapper, the forward one of a Bidirectional; null if it wraps none. */
    static Layer inside(Layer layer) {
        if (layer instanceof BaseWrapperLayer) {
            return ((BaseWrapperLayer) layer).getUnderlying();
        }
        if (layer instanceof BidirectionalLayer) {
            return (Layer) Dl4jFields.BIDIRECTIONAL_FORWARD.get(layer);
        }
        return null;
    }

    /** The layer objects that hold parameters themselves, below all wrappers: one, or two below a Bidirectional. */
    static List<Layer> innermost(Layer layer) {
        List<Layer> found = new ArrayList<>();
        collect(layer, found);
        return found;
    }

    private static void collect(Layer layer, List<Layer> found) {
        if (layer instanceof BaseWrapperLayer) {
            collect(((BaseWrapperLayer) layer).getUnderlying(), found);
        } else if (layer instanceof BidirectionalLayer) {
            collect((Layer) Dl4jFields.BIDIRECTIONAL_FORWARD.get(layer), found);
            collect((Layer) Dl4jFields.BIDIRECTIONAL_BACKWARD.get(layer), found);
        } else {
            found.add(layer);
        }
    }

    /** True if the layer or one that it wraps is such. */
    static boolean any(Layer layer, Predicate<Layer> what) {
        for (Layer l = layer; l != null; l = inside(l)) {
            if (what.test(l)) {
                return true;
            }
        }
        return false;
    }

    /** The vertex below a FrozenVertex, or the vertex itself. */
    static GraphVertex unfrozen(GraphVertex vertex) {
        GraphVertex v = vertex;
        while (v instanceof FrozenVertex) {
            v = (GraphVertex) Dl4jFields.WRAPPER_VERTEX_UNDERLYING.get(v);
        }
        return v;
    }

    /** True if backward stops at the unit and never reaches its gradient. */
    static boolean frozen(NetworkUnit unit) {
        return unit.layer instanceof FrozenLayer || unit.vertex instanceof FrozenVertex;
    }

    /** True if the unit computes in a SameDiff graph that holds on to its parameter arrays. */
    static boolean sameDiff(NetworkUnit unit) {
        if (unit.layer == null) {
            return unfrozen(unit.vertex) instanceof SameDiffGraphVertex;
        }
        return any(unit.layer, l -> l instanceof SameDiffLayer || l instanceof SameDiffOutputLayer);
    }

    /** Lets a layer have the masks that another one of the same configuration has, in all that it wraps. */
    static void copyMask(Layer from, Layer to) {
        if (from instanceof BidirectionalLayer) {
            for (Dl4jFields direction : List.of(Dl4jFields.BIDIRECTIONAL_FORWARD, Dl4jFields.BIDIRECTIONAL_BACKWARD)) {
                copyMask((Layer) direction.get(from), (Layer) direction.get(to));
            }
            return;
        }
        if (from instanceof BaseWrapperLayer) {
            copyMask(((BaseWrapperLayer) from).getUnderlying(), ((BaseWrapperLayer) to).getUnderlying());
        }
        if (from instanceof AbstractLayer) {
            Dl4jFields.LAYER_MASK.set(to, Dl4jFields.LAYER_MASK.get(from));
            Dl4jFields.LAYER_MASK_STATE.set(to, Dl4jFields.LAYER_MASK_STATE.get(from));
        } else {
            to.setMaskArray(from.getMaskArray());
        }
    }
}
