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
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.regularization.Regularization;

import java.util.ArrayList;
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

    /**
     * @param updater   DL4J's updater over the network's arrays
     * @param hostBlocks its blocks
     * @param engine    who computes
     * @param regions   host parameters, gradients, updater state
     * @param type      type of all three
     * @param miniBatch whether gradients are divided by the minibatch
     * @param names     names of the units by what the updater knows them as
     * @param reached   whether the backward pass reaches a unit; where it does not, and for parameters that only pre-training trains,
     *                  DL4J's next step begins with what this one leaves in the gradient
     * @param idle      whether a unit has no gradient and never gets one
     */
    HostUpdate(BaseMultiLayerUpdater<?> updater, HostBlocks hostBlocks, UpdateEngine engine, Region[] regions, ElementType type,
            boolean miniBatch, Map<Trainable, String> names, Predicate<Trainable> reached, Predicate<Trainable> idle) {
        this.updater = updater;
        this.type = type;
        this.miniBatch = miniBatch;
        for (int i = 0; i < hostBlocks.blocks().size(); i++) {
            UpdaterBlock block = hostBlocks.blocks().get(i);
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                if (isNormalised(p.getLayer())) {
                    String name = names.get(p.getLayer());
                    normalised.computeIfAbsent(name, n -> new ArrayList<>()).add(p);
                    normalisedLayers.put(name, p.getLayer());
                }
            }
            blocks.add(new Block(hostBlocks, i, engine, regions, reached, idle));
        }
    }

    private static boolean isNormalised(Trainable layer) {
        GradientNormalization kind = layer.getConfig().getGradientNormalization();
        return kind != null && kind != GradientNormalization.None;
    }

    /**
     * Takes the step.
     *
     * @param writeUpdate whether somebody reads the update from the gradient arrays afterwards
     */
    void run(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate) {
        for (Map.Entry<String, List<ParamState>> layer : normalised.entrySet()) {
            divide(layer.getValue(), batch);
            Gradient own = gradientOf(layer.getKey(), gradient);
            if (!own.gradientForVariable().isEmpty()) {
                updater.preApply(normalisedLayers.get(layer.getKey()), own, iteration);
            }
        }
        for (Block block : blocks) {
            block.run(iteration, epoch, batch, workspaces, writeUpdate);
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
        private final List<Segment> segments = new ArrayList<>();
        private final long parameters;
        private final long gradients;
        private final long state;

        Block(HostBlocks all, int index, UpdateEngine engine, Region[] regions, Predicate<Trainable> reached, Predicate<Trainable> idle) {
            BlockLayout layout = all.layout();
            this.block = all.blocks().get(index);
            this.parameters = regions[0].address() + bytes(layout.blockStart(index));
            this.gradients = regions[1].address() + bytes(layout.blockStart(index));
            this.state = regions[2].address() + bytes(layout.stateStart(index));
            this.fused = fusible() ? new FusedUpdate(engine, type, ranges(layout, layout.firstParameter(index))) : null;
            List<ParamState> own = block.getLayersAndVariablesInBlock();
            for (int i = 0; i < own.size(); i++) {
                Trainable layer = own.get(i).getLayer();
                if (!idle.test(layer)) {
                    add(i, !reached.test(layer) || block.skipDueToPretrainConfig(false));
                }
            }
        }

        private long bytes(long elements) {
            return Math.multiplyExact(elements, (long) type.bytes());
        }

        private void add(int range, boolean keepsUpdate) {
            Segment last = segments.isEmpty() ? null : segments.get(segments.size() - 1);
            if (last != null && last.to == range && last.keepsUpdate == keepsUpdate) {
                last.to++;
            } else {
                segments.add(new Segment(range, keepsUpdate));
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

        private List<UpdateRange> ranges(BlockLayout layout, int first) {
            List<UpdateRange> ranges = new ArrayList<>();
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                int parameter = first + ranges.size();
                UpdateRange.Builder range = UpdateRange.of(layout.parameterEnd(parameter) - layout.parameterStart(parameter))
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

        void run(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate) {
            if (fused == null) {
                runStock(iteration, epoch, batch, workspaces);
                return;
            }
            IUpdater rule = block.getGradientUpdater().getConfig();
            RuleStep step = RuleStep.of(rule, type, iteration, epoch);
            for (Segment segment : segments) {
                UpdateRequest request = UpdateRequest.of(step).at(parameters, gradients, state).minibatch(miniBatch ? batch : 0)
                        .writeUpdate(writeUpdate || segment.keepsUpdate).build();
                fused.run(request, segment.from, segment.to);
            }
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

    /** Parameters of a block in a row that are updated in one call. */
    private static final class Segment {

        final int from;
        int to;
        final boolean keepsUpdate;

        Segment(int from, boolean keepsUpdate) {
            this.from = from;
            this.to = from + 1;
            this.keepsUpdate = keepsUpdate;
        }
    }
}
