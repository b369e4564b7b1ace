package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.memferry.device.Region;
import org.memferry.update.ElementType;
import org.memferry.update.FusedUpdate;
import org.memferry.update.RuleStep;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRange;
import org.memferry.update.UpdateRequest;
import org.memferry.update.UpdateRule;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.regularization.Regularization;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The optimizer step of one network on host memory: for each of DL4J's updater blocks one pass that divides, regularises, applies the
 * rule and subtracts from the parameters. What cannot be fused goes DL4J's own way on the same memory: the norms of gradient
 * normalisation, a user's own rule or regularisation, and rules whose rounding on the loaded ND4J build is not known.
 */
final class HostUpdate {

    private final BaseMultiLayerUpdater<?> updater;
    private final boolean miniBatch;
    private final ElementType type;
    private final List<Block> blocks = new ArrayList<>();
    /** Per normalised layer, by the name that gradients have it under. */
    private final Map<String, List<ParamState>> normalised = new LinkedHashMap<>();
    private final Map<String, Trainable> normalisedLayers = new LinkedHashMap<>();
    /** Per layer what there is of it in the blocks. */
    private final Map<Trainable, List<Piece>> pieces = new IdentityHashMap<>();

    /**
     * @param updater   DL4J's updater over the network's arrays, with its blocks
     * @param engine    who computes
     * @param regions   host parameters, gradients, updater state
     * @param type      type of all three
     * @param miniBatch whether gradients are divided by the minibatch
     * @param names     names of the units by what the updater knows them as
     * @param reached   whether the backward pass reaches a unit; where it does not, and for parameters that only pre-training trains,
     *                  DL4J's next step begins with what this one leaves in the gradient
     * @param idle      whether a unit has no gradient and never gets one
     */
    HostUpdate(BaseMultiLayerUpdater<?> updater, UpdateEngine engine, Region[] regions, ElementType type, boolean miniBatch,
            Map<Trainable, String> names, Predicate<Trainable> reached, Predicate<Trainable> idle) {
        this.updater = updater;
        this.type = type;
        this.miniBatch = miniBatch;
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                if (isNormalised(p.getLayer())) {
                    String name = names.get(p.getLayer());
                    normalised.computeIfAbsent(name, n -> new ArrayList<>()).add(p);
                    normalisedLayers.put(name, p.getLayer());
                }
            }
            blocks.add(new Block(block, engine, regions, reached, idle));
        }
    }

    private static boolean isNormalised(Trainable layer) {
        GradientNormalization kind = layer.getConfig().getGradientNormalization();
        return kind != null && kind != GradientNormalization.None;
    }

    /** Whether a layer's step can be taken by itself: all of it is fused, and no norm has to be taken before. */
    boolean isSeparable(Trainable layer) {
        return pieces.containsKey(layer) && !isNormalised(layer) && pieces.get(layer).stream().allMatch(p -> p.block.fused != null);
    }

    /**
     * Takes the step of one layer; {@link #isSeparable} must be true of it.
     *
     * @param writeUpdate whether somebody reads the update from the gradient arrays afterwards
     */
    void step(Trainable layer, int iteration, int epoch, int batch, boolean writeUpdate) {
        for (Piece piece : pieces.get(layer)) {
            piece.block.run(piece, iteration, epoch, batch, writeUpdate);
        }
    }

    /**
     * Takes the step of all layers but some.
     *
     * @param writeUpdate whether somebody reads the update from the gradient arrays afterwards
     * @param taken       layers whose step was taken by {@link #step}
     */
    void run(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate,
            Predicate<Trainable> taken) {
        for (Map.Entry<String, List<ParamState>> layer : normalised.entrySet()) {
            divide(layer.getValue(), batch);
            Gradient own = gradientOf(layer.getKey(), gradient);
            if (!own.gradientForVariable().isEmpty()) {
                updater.preApply(normalisedLayers.get(layer.getKey()), own, iteration);
            }
        }
        for (Block block : blocks) {
            block.run(iteration, epoch, batch, workspaces, writeUpdate, taken);
        }
    }

    private void divide(List<ParamState> parameters, int batch) {
        for (ParamState p : parameters) {
            if (miniBatch && p.getLayer().updaterDivideByMinibatch(p.getParamName())) {
                p.getGradView().divi(batch);
            }
        }
    }

    private static Gradient gradientOf(String layer, Gradient all) {
        Gradient own = new DefaultGradient();
        for (Map.Entry<String, INDArray> e : all.gradientForVariable().entrySet()) {
            int end = e.getKey().lastIndexOf('_');
            if (end >= 0 && e.getKey().substring(0, end).equals(layer)) {
                own.setGradientFor(e.getKey().substring(end + 1), e.getValue());
            }
        }
        return own;
    }

    /** One of DL4J's blocks: parameters in a row with the same rule. */
    private final class Block {

        private final UpdaterBlock block;
        private final FusedUpdate fused;
        private final List<Piece> own = new ArrayList<>();
        private final long parameters;
        private final long gradients;
        private final long state;

        Block(UpdaterBlock block, UpdateEngine engine, Region[] regions, Predicate<Trainable> reached, Predicate<Trainable> idle) {
            this.block = block;
            this.parameters = regions[0].address() + bytes(block.getParamOffsetStart());
            this.gradients = regions[1].address() + bytes(block.getParamOffsetStart());
            this.state = regions[2].address() + bytes(block.getUpdaterViewOffsetStart());
            this.fused = fusible() ? new FusedUpdate(engine, type, ranges()) : null;
            List<ParamState> all = block.getLayersAndVariablesInBlock();
            for (int i = 0; i < all.size(); i++) {
                Trainable layer = all.get(i).getLayer();
                if (!idle.test(layer)) {
                    add(i, !reached.test(layer) || block.skipDueToPretrainConfig(false));
                }
            }
        }

        private long bytes(long elements) {
            return Math.multiplyExact(elements, (long) type.bytes());
        }

        private void add(int range, boolean keepsUpdate) {
            Trainable layer = block.getLayersAndVariablesInBlock().get(range).getLayer();
            Piece last = own.isEmpty() ? null : own.get(own.size() - 1);
            if (last != null && last.layer == layer && last.to == range && last.keepsUpdate == keepsUpdate) {
                last.to++;
            } else {
                Piece piece = new Piece(this, layer, range, keepsUpdate);
                own.add(piece);
                pieces.computeIfAbsent(layer, l -> new ArrayList<>()).add(piece);
            }
        }

        private boolean fusible() {
            Optional<UpdateRule> rule = UpdateRule.of(block.getGradientUpdater().getConfig());
            if (rule.isEmpty() || !FusedUpdate.isExact(rule.get(), type)) {
                return false;
            }
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                if (!UpdateRange.knows(regularisation(p))) {
                    return false;
                }
            }
            return true;
        }

        private List<Regularization> regularisation(ParamState p) {
            List<Regularization> terms = p.getLayer().getConfig().getRegularizationByParam(p.getParamName());
            return terms == null ? List.of() : terms;
        }

        private List<UpdateRange> ranges() {
            List<UpdateRange> ranges = new ArrayList<>();
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                UpdateRange.Builder range = UpdateRange.of((long) p.getParamOffsetEnd() - p.getParamOffsetStart())
                        .regularization(regularisation(p));
                if (!p.getLayer().updaterDivideByMinibatch(p.getParamName()) || isNormalised(p.getLayer())) {
                    // A normalised layer was divided before its norm was taken.
                    range.notDivided();
                }
                if (block.skipDueToPretrainConfig(false)) {
                    range.notTrained();
                }
                ranges.add(range.build());
            }
            return ranges;
        }

        void run(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate, Predicate<Trainable> taken) {
            if (fused == null) {
                runStock(iteration, epoch, batch, workspaces);
                return;
            }
            RuleStep step = RuleStep.of(block.getGradientUpdater().getConfig(), type, iteration, epoch);
            int i = 0;
            while (i < own.size()) {
                Piece first = own.get(i);
                int to = first.from;
                // Neighbours go in one call, so that threads find enough to do.
                while (i < own.size() && own.get(i).from == to && own.get(i).keepsUpdate == first.keepsUpdate
                        && !taken.test(own.get(i).layer)) {
                    to = own.get(i++).to;
                }
                if (to > first.from) {
                    run(step, first.from, to, batch, writeUpdate || first.keepsUpdate);
                } else {
                    i++;
                }
            }
        }

        void run(Piece piece, int iteration, int epoch, int batch, boolean writeUpdate) {
            RuleStep step = RuleStep.of(block.getGradientUpdater().getConfig(), type, iteration, epoch);
            run(step, piece.from, piece.to, batch, writeUpdate || piece.keepsUpdate);
        }

        private void run(RuleStep step, int from, int to, int batch, boolean writeUpdate) {
            fused.run(UpdateRequest.of(step).at(parameters, gradients, state).minibatch(miniBatch ? batch : 0).writeUpdate(writeUpdate)
                    .build(), from, to);
        }

        private void runStock(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
            List<ParamState> all = block.getLayersAndVariablesInBlock();
            for (ParamState p : all) {
                if (!isNormalised(p.getLayer())) {
                    divide(List.of(p), batch);
                }
            }
            if (!block.skipDueToPretrainConfig(false)) {
                try (MemoryWorkspace scope = workspaces.notifyScopeEntered(ArrayType.UPDATER_WORKING_MEM)) {
                    block.update(iteration, epoch);
                }
            }
            for (ParamState p : all) {
                p.getParamView().subi(p.getGradView());
            }
        }
    }

    /** Parameters in a row of one block and one layer. */
    private static final class Piece {

        final Block block;
        final Trainable layer;
        final int from;
        int to;
        final boolean keepsUpdate;

        Piece(Block block, Trainable layer, int from, boolean keepsUpdate) {
            this.block = block;
            this.layer = layer;
            this.from = from;
            this.to = from + 1;
            this.keepsUpdate = keepsUpdate;
        }
    }
}
