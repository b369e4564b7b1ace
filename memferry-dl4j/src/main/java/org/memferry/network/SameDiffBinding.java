package org.memferry.network;

import org.deeplearning4j.nn.layers.samediff.SameDiffGraphVertex;
import org.deeplearning4j.nn.layers.samediff.SameDiffLayer;
import org.memferry.shadow.ParameterSlice;
import org.memferry.shadow.ShadowLayer;
import org.nd4j.autodiff.listeners.At;
import org.nd4j.autodiff.listeners.BaseListener;
import org.nd4j.autodiff.listeners.Operation;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.internal.SameDiffOp;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.OpContext;

import java.util.List;

/**
 * A layer that computes in a SameDiff graph: the graph keeps the parameter arrays, so nobody asks the parameter table. The arrays of the
 * layer's one slot are put into the graph, and a listener in the graph tells the ferry before every operation, in forward and backward.
 * DL4J builds the graph at the first forward pass: until then the layer reads the host master.
 */
final class SameDiffBinding {

    private final Object owner;
    private final ShadowLayer layer;
    private final UnitBinding.Table table;
    private final ParameterReads reads;
    private SameDiff bound;
    private GraphListener listener;

    SameDiffBinding(UnitBinding.Table table, ShadowLayer layer, ParameterReads reads) {
        this.owner = table.owner;
        this.table = table;
        this.layer = layer;
        this.reads = reads;
    }

    private SameDiff graph() {
        if (owner instanceof SameDiffGraphVertex) {
            return (SameDiff) Dl4jFields.SAMEDIFF_VERTEX_GRAPH.get(owner);
        }
        return (SameDiff) (owner instanceof SameDiffLayer ? Dl4jFields.SAMEDIFF_LAYER_GRAPH : Dl4jFields.SAMEDIFF_OUTPUT_GRAPH).get(owner);
    }

    /** Puts the arrays of the slot into the graph, if DL4J has built it (anew) since the last call. */
    void refresh(int slot) {
        SameDiff graph = graph();
        if (graph == null || graph == bound) {
            return;
        }
        associate(graph, layer.arrays(slot));
        listener = new GraphListener();
        graph.addListeners(listener);
        bound = graph;
    }

    /** Takes our arrays and our listener out of the graph. */
    void release(INDArray[] ordinary) {
        SameDiff graph = graph();
        if (graph != null) {
            associate(graph, ordinary);
            graph.getListeners().remove(listener);
        }
        bound = null;
    }

    private void associate(SameDiff graph, INDArray[] arrays) {
        List<ParameterSlice> slices = table.slices;
        for (int i = 0; i < slices.size(); i++) {
            graph.associateArrayWithVariable(arrays[table.firstSlice + i], graph.getVariable(slices.get(i).key()));
        }
    }

    private final class GraphListener extends BaseListener {

        @Override
        public boolean isActive(Operation operation) {
            return true;
        }

        @Override
        public void preOpExecution(SameDiff sd, At at, SameDiffOp op, OpContext opContext) {
            reads.graphReads(layer);
        }
    }
}
