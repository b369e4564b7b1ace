package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.layers.IOutputLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.layers.FrozenLayer;
import org.deeplearning4j.nn.layers.feedforward.elementwise.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.layers.feedforward.embedding.EmbeddingLayer;
import org.deeplearning4j.nn.layers.feedforward.embedding.EmbeddingSequenceLayer;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.shadow.ParameterSlice;
import org.memferry.update.ElementType;
import org.nd4j.linalg.api.buffer.DataType;
import org.memferry.nd4j.RegionArrays;

import java.util.ArrayList;
import java.util.List;

/** Translates a DL4J network into what a planner knows: sizes, orders and the habits of each kind of layer. */
final class Traits {

    private Traits() {
    }

    /** True if the layer computes with noisy weights (DropConnect, WeightNoise), which it makes in forward and keeps for backward. */
    static boolean hasWeightNoise(Layer layer) {
        Object conf = layer.conf().getLayer();
        return conf instanceof BaseLayer && ((BaseLayer) conf).getWeightNoise() != null;
    }

    /** Describes a network. */
    static NetworkDescription describe(NetworkAdapter adapter, List<NetworkUnit> units, List<UnitBinding> bindings) {
        DataType type = adapter.dataType();
        int elementBytes = RegionArrays.elementBytes(type);
        List<LayerDescription> layers = new ArrayList<>();
        long stateCount = UpdaterState.count(units);
        new RuleCheck(units).checkRules(type);
        List<String> updateNotes = StockBlocks.notes(units, ElementType.of(type));
        for (int i = 0; i < units.size(); i++) {
            layers.add(describe(units.get(i), bindings.get(i), elementBytes, updateNotes.get(i)));
        }
        return new NetworkDescription(layers, adapter.forwardOrder(), adapter.backwardOrder(), adapter.inferenceOrder(),
                adapter.countParameters(), stateCount, elementBytes);
    }

    private static LayerDescription describe(NetworkUnit unit, UnitBinding binding, int elementBytes, String updateNote) {
        boolean frozen = Layers.frozen(unit);
        boolean inPlace = false;
        boolean constrained = false;
        if (unit.layer != null) {
            for (Layer inner : Layers.innermost(unit.layer)) {
                inPlace |= hasWeightNoise(inner) || inner instanceof ElementWiseMultiplicationLayer;
                constrained |= inner.conf().getLayer().getConstraints() != null && !inner.conf().getLayer().getConstraints().isEmpty();
            }
        }
        return LayerDescription.builder(unit.name, unit.type())
                .parameters(unit.offset, unit.length)
                .elementBytes(elementBytes)
                .gradientWritten(!frozen)
                .gradientCount(frozen ? 0 : unit.length)
                .gradientInPlace(inPlace || pretrainedOnly(unit, binding))
                .fixedSlot(Layers.sameDiff(unit))
                .writtenAfterUpdate(constrained)
                .readAfterBackward(isReadForScore(unit))
                .touches(readsRows(unit) ? 0 : 1, readsRows(unit) ? 0 : 2)
                .updateNote(updateNote)
                .build();
    }

    /**
     * True for an embedding, which reads the batch's rows of its table. Touches count whole tables, and none of it is nearer than all. A
     * recurrent layer reads its weights once per time step; how many there are is not known here, see {@link NetworkWork}.
     */
    private static boolean readsRows(NetworkUnit unit) {
        return unit.layer != null
                && Layers.any(unit.layer, l -> l instanceof EmbeddingLayer || l instanceof EmbeddingSequenceLayer);
    }

    /**
     * True if DL4J reads the parameters once more for the score, and norms of them will not do: an output layer's for its loss, some
     * regularised ones for their penalty. A SameDiff graph keeps its arrays, so that nobody can say when it has read them for the last
     * time.
     */
    private static boolean isReadForScore(NetworkUnit unit) {
        return Layers.sameDiff(unit) || unit.layer != null && Layers.any(unit.layer, l -> l instanceof IOutputLayer)
                || !ScoreNorms.canStandIn(unit);
    }

    /**
     * True if some parameters are trained by unsupervised pre-training only. DL4J zeroes their gradient in every backward pass
     * (AutoEncoder) or in the first (VAE) and subtracts what stands there each time, so that only a gradient written in place is right.
     */
    private static boolean pretrainedOnly(NetworkUnit unit, UnitBinding binding) {
        if (unit.layer instanceof FrozenLayer || unit.trainable.getConfig() == null || binding.tables().size() != 1) {
            return false;
        }
        return binding.slices().stream().map(ParameterSlice::key).anyMatch(unit.trainable.getConfig()::isPretrainParam);
    }
}
