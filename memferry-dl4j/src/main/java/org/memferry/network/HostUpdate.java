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
import org.memferry.update.GradientScaling;
import org.memferry.update.RuleStep;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRange;
import org.memferry.update.UpdateRequest;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The optimizer step of one network on host memory: for each of DL4J's updater blocks one pass that divides, scales or clips,
 * regularises, applies the rule and subtracts from the parameters. What cannot be fused goes DL4J's own way on the same memory: the
 * norms of gradient normalisation, and blocks with what {@link StockBlocks} names.
 */
final class HostUpdate {

    /** What the update has to know of a network's layers. */
    interface Units {

        /** The name that gradients have a layer under. */
        String name(Trainable layer);

        /** The layer with its gradients on the host. */
        Trainable onHost(Trainable layer);

        /**
         * Whether the backward pass reaches a layer; where it does not, and for parameters that only pre-training trains, DL4J's next
         * step begins with what this one leaves in the gradient.
         */
        boolean reached(Trainable layer);

        /** Whether a layer has no gradient and never gets one. */
        boolean idle(Trainable layer);

        /** Told of a parameter that had a gradient, or has a value, that is not a finite number; perhaps at each iteration. */
        void notFinite(Trainable layer, String parameter, int iteration);
    }

    private final BaseMultiLayerUpdater<?> updater;
    private final Units units;
    private final boolean miniBatch;
    private final ElementType type;
    private final List<Block> blocks = new ArrayList<>();
    /** The layers with gradient normalisation, by the name that gradients have them under. */
    private final Map<String, Normalised> normalised = new LinkedHashMap<>();

    /**
     * @param updater    DL4J's updater over the network's arrays
     * @param hostBlocks its blocks
     * @param engine     who computes
     * @param regions    host parameters, gradients, updater state
     * @param type       type of all three
     * @param miniBatch  whether gradients are divided by the minibatch
     * @param units      the network's layers
     */
    HostUpdate(BaseMultiLayerUpdater<?> updater, HostBlocks hostBlocks, UpdateEngine engine, Region[] regions, ElementType type,
            boolean miniBatch, Units units) {
        this.updater = updater;
        this.units = units;
        this.type = type;
        this.miniBatch = miniBatch;
        Set<Trainable> stock = Collections.newSetFromMap(new IdentityHashMap<>());
        for (UpdaterBlock block : hostBlocks.blocks()) {
            if (StockBlocks.reason(block.getLayersAndVariablesInBlock(), type) != null) {
                block.getLayersAndVariablesInBlock().forEach(p -> stock.add(p.getLayer()));
            }
        }
        for (int i = 0; i < hostBlocks.blocks().size(); i++) {
            for (ParamState p : hostBlocks.blocks().get(i).getLayersAndVariablesInBlock()) {
                if (kind(p.getLayer()) != GradientNormalization.None) {
                    normalised.computeIfAbsent(units.name(p.getLayer()), n -> new Normalised(p.getLayer(), !stock.contains(p.getLayer())))
                            .parameters.add(p);
                }
            }
            blocks.add(new Block(hostBlocks, i, engine, regions));
        }
    }

    private static GradientNormalization kind(Trainable layer) {
        GradientNormalization kind = layer.getConfig().getGradientNormalization();
        return kind == null ? GradientNormalization.None : kind;
    }

    /**
     * Takes the step.
     *
     * @param writeUpdate whether somebody reads the update from the gradient arrays afterwards
     */
    void run(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate) {
        normalised.forEach((name, layer) -> layer.run(gradientOf(name, gradient), batch, iteration));
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

    /** A layer with gradient normalisation. */
    private final class Normalised {

        private final Trainable layer;
        private final List<ParamState> parameters = new ArrayList<>();
        /** Null where a block of the layer goes DL4J's way, which reads gradients that are scaled already. */
        private final LayerNormalisation scaling;

        Normalised(Trainable layer, boolean fused) {
            this.layer = layer;
            scaling = fused ? new LayerNormalisation(kind(layer), units.onHost(layer)) : null;
        }

        /** Whether the layer's gradients are divided here, ahead of the update's pass. */
        boolean divides() {
            return scaling == null || scaling.needsDividedGradient();
        }

        void run(Gradient gradient, int batch, int iteration) {
            if (divides()) {
                divide(parameters, batch);
            }
            if (scaling != null) {
                scaling.prepare(gradient);
            } else if (!gradient.gradientForVariable().isEmpty()) {
                updater.preApply(layer, gradient, iteration);
            }
        }
    }

    /** One of DL4J's blocks: parameters in a row with the same rule. */
    private final class Block {

        private final UpdaterBlock block;
        private final List<ParamState> parameters;
        private final boolean stock;
        private final FusedUpdate pass;
        private final List<Segment> segments = new ArrayList<>();
        private final GradientScaling[] scalings;
        private final long parameterAddress;
        private final long gradientAddress;
        private final long stateAddress;

        Block(HostBlocks all, int index, UpdateEngine engine, Region[] regions) {
            BlockLayout layout = all.layout();
            block = all.blocks().get(index);
            parameters = block.getLayersAndVariablesInBlock();
            parameterAddress = regions[0].address() + bytes(layout.blockStart(index));
            gradientAddress = regions[1].address() + bytes(layout.blockStart(index));
            stateAddress = regions[2].address() + bytes(layout.stateStart(index));
            stock = StockBlocks.reason(parameters, type) != null;
            scalings = new GradientScaling[parameters.size()];
            List<UpdateRange> ranges = new ArrayList<>();
            for (int i = 0; i < scalings.length; i++) {
                scalings[i] = GradientScaling.none();
                Normalised layer = normalised.get(units.name(parameters.get(i).getLayer()));
                if (layer != null && layer.scaling != null) {
                    layer.scaling.add(parameters.get(i), scalings, i);
                }
                int p = layout.firstParameter(index) + i;
                ranges.add(range(parameters.get(i), layout.parameterEnd(p) - layout.parameterStart(p), layer != null && layer.divides()));
            }
            pass = new FusedUpdate(engine, type, ranges);
            makeSegments();
        }

        private long bytes(long elements) {
            return Math.multiplyExact(elements, (long) type.bytes());
        }

        private UpdateRange range(ParamState p, long length, boolean divided) {
            UpdateRange.Builder range = UpdateRange.of(length);
            if (divided || stock || !p.getLayer().updaterDivideByMinibatch(p.getParamName())) {
                range.notDivided();
            }
            // After DL4J's own rule the gradient is the update, and subtracting it is all that is left.
            return stock || block.skipDueToPretrainConfig(false) ? range.notTrained().build()
                    : range.regularization(StockBlocks.regularisation(p)).build();
        }

        private void makeSegments() {
            for (int i = 0; i < parameters.size(); i++) {
                Trainable layer = parameters.get(i).getLayer();
                if (stock || !units.idle(layer)) {
                    add(i, !stock && (!units.reached(layer) || block.skipDueToPretrainConfig(false)));
                }
            }
        }

        private void add(int range, boolean keepsUpdate) {
            Segment last = segments.isEmpty() ? null : segments.get(segments.size() - 1);
            if (last != null && last.to == range && last.keepsUpdate == keepsUpdate) {
                last.to++;
            } else {
                segments.add(new Segment(range, keepsUpdate));
            }
        }

        void run(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate) {
            IUpdater rule = stock ? new NoOp() : block.getGradientUpdater().getConfig();
            if (stock) {
                runStock(iteration, epoch, batch, workspaces);
            }
            RuleStep step = RuleStep.of(rule, type, iteration, epoch);
            for (Segment segment : segments) {
                UpdateRequest request = UpdateRequest.of(step).at(parameterAddress, gradientAddress, stateAddress)
                        .minibatch(miniBatch ? batch : 0).scalings(scalings)
                        .writeUpdate(!stock && writeUpdate || segment.keepsUpdate).build();
                int odd = pass.run(request, segment.from, segment.to);
                if (odd >= 0) {
                    units.notFinite(parameters.get(odd).getLayer(), parameters.get(odd).getParamName(), iteration);
                }
            }
        }

        private void runStock(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
            for (ParamState p : parameters) {
                if (kind(p.getLayer()) == GradientNormalization.None) {
                    divide(List.of(p), batch);
                }
            }
            if (!block.skipDueToPretrainConfig(false)) {
                try (MemoryWorkspace scope = workspaces.notifyScopeEntered(ArrayType.UPDATER_WORKING_MEM)) {
                    block.update(iteration, epoch);
                }
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
