package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.layers.BaseLayer;
import org.deeplearning4j.nn.layers.BasePretrainNetwork;
import org.memferry.shadow.ParameterSlice;
import org.memferry.shadow.ShadowLayer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lets regularised layers take their step before DL4J has computed the score, which adds a penalty on the parameters as they were: before
 * the step the penalty's norm is taken, with ND4J's own operation, and the score is shown an array of one element that has the same norm.
 * A parameter with penalties of both norms cannot be stood in for; its layer waits.
 */
final class ScoreNorms {

    private enum Norm {
        ONE, TWO;

        double of(INDArray array) {
            return (this == ONE ? array.norm1Number() : array.norm2Number()).doubleValue();
        }
    }

    private final Map<ShadowLayer, StandIns> layers = new HashMap<>();

    /** True if the score can do with norms of the unit's parameters, or reads none of them. */
    static boolean canStandIn(NetworkUnit unit) {
        if (!isPenalised(unit)) {
            return true;
        }
        if (unit.layer == null || !hasDl4jScore(Layers.innermost(unit.layer))) {
            return false;
        }
        for (String key : unit.trainable.paramTable(false).keySet()) {
            if (!terms(unit, key).isEmpty() && norm(terms(unit, key)) == null) {
                return false;
            }
        }
        return true;
    }

    /** One layer object whose score walks its parameter table, as DL4J's own layers do. */
    private static boolean hasDl4jScore(List<Layer> inner) {
        return inner.size() == 1 && inner.get(0) instanceof BaseLayer && !(inner.get(0) instanceof BasePretrainNetwork)
                && inner.get(0).getClass().getName().startsWith("org.deeplearning4j.");
    }

    private static boolean isPenalised(NetworkUnit unit) {
        return unit.trainable.paramTable(false).keySet().stream().anyMatch(key -> !terms(unit, key).isEmpty());
    }

    private static List<Regularization> terms(NetworkUnit unit, String key) {
        List<Regularization> terms = unit.trainable.getConfig().getRegularizationByParam(key);
        return terms == null ? List.of() : terms;
    }

    /** The norm that all terms are made of; null if they differ, or one is a user's own. */
    private static Norm norm(List<Regularization> terms) {
        Norm norm = null;
        for (Regularization term : terms) {
            Norm own = term.getClass() == L1Regularization.class ? Norm.ONE
                    : term.getClass() == L2Regularization.class || term.getClass() == WeightDecay.class ? Norm.TWO : null;
            if (own == null || norm != null && own != norm) {
                return null;
            }
            norm = own;
        }
        return norm;
    }

    /** Makes the stand-ins of a unit that {@link #canStandIn} is true of. */
    void add(NetworkUnit unit, ShadowLayer layer, DataType type) {
        if (isPenalised(unit)) {
            layers.put(layer, new StandIns(unit, layer, type));
        }
    }

    /** Takes the norms of a layer's parameters before its step; on the thread that computes the score. */
    void take(ShadowLayer layer) {
        StandIns own = layers.get(layer);
        if (own != null) {
            own.take();
        }
    }

    /** The layer's parameters as the score shall see them, the norms being {@link #take taken}; null if it has no penalty. */
    Map<String, INDArray> table(ShadowLayer layer) {
        StandIns own = layers.get(layer);
        return own == null ? null : own.table;
    }

    private static final class StandIns {

        private final ShadowLayer layer;
        private final Norm[] norms;
        private final INDArray[] arrays;
        private final Map<String, INDArray> table = new LinkedHashMap<>();

        StandIns(NetworkUnit unit, ShadowLayer layer, DataType type) {
            this.layer = layer;
            List<ParameterSlice> slices = layer.slices();
            this.norms = new Norm[slices.size()];
            this.arrays = new INDArray[slices.size()];
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                for (int i = 0; i < arrays.length; i++) {
                    String key = slices.get(i).key();
                    norms[i] = norm(terms(unit, key));
                    arrays[i] = norms[i] == null ? null : Nd4j.create(type, 1);
                    table.put(key, norms[i] == null ? layer.tracked(i) : arrays[i]);
                }
            }
        }

        void take() {
            // Called in the middle of DL4J's backward: its workspaces are for its own arrays.
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                for (int i = 0; i < arrays.length; i++) {
                    if (norms[i] != null) {
                        arrays[i].putScalar(0, norms[i].of(layer.master(i)));
                    }
                }
            }
        }
    }
}
