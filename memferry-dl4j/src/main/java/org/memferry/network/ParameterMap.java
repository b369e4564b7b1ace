package org.memferry.network;

import org.memferry.shadow.ShadowLayer;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * The parameter table of one DL4J layer object. DL4J's forward and backward code asks it for every parameter it reads, which is how the
 * ferry learns what is computed and where it serves the array from the plan's place. Its own content is the host master: what
 * {@code entrySet} and {@code values} show, and what a user gets.
 */
final class ParameterMap extends LinkedHashMap<String, INDArray> {

    private static final long serialVersionUID = 1L;

    private final transient ParameterReads reads;
    private final transient ShadowLayer layer;
    private final transient Map<String, Integer> index;
    private final boolean walkedForScore;
    private boolean writeFollows;

    /**
     * @param reads          answers reads
     * @param layer          the unit that the layer object belongs to
     * @param index          for each key, in order, its index in the unit
     * @param walkedForScore true if DL4J walks the table for the regularisation score and for nothing else during an iteration (a SameDiff
     *                       layer walks it when it builds its graph)
     */
    ParameterMap(ParameterReads reads, ShadowLayer layer, Map<String, Integer> index, boolean walkedForScore) {
        this.reads = reads;
        this.layer = layer;
        this.index = index;
        this.walkedForScore = walkedForScore;
        index.forEach((key, i) -> super.put(key, layer.tracked(i)));
    }

    @Override
    public INDArray get(Object key) {
        Integer parameter = reads == null ? null : index.get(key);
        if (parameter == null) {
            return super.get(key);
        }
        if (writeFollows) {
            writeFollows = false;
            return layer.tracked(parameter);
        }
        return reads.read(layer, parameter);
    }

    /** DL4J's {@code setParam} asks this and then gets the array to write: forward and backward never do. */
    @Override
    public boolean containsKey(Object key) {
        writeFollows = true;
        return super.containsKey(key);
    }

    @Override
    public Set<Map.Entry<String, INDArray>> entrySet() {
        if (reads != null && walkedForScore) {
            reads.walked();
            Map<String, INDArray> standIns = reads.standIns(layer);
            if (standIns != null) {
                return standIns.entrySet();
            }
        } else if (reads != null) {
            reads.graphBuilt(layer);
        }
        return super.entrySet();
    }
}
