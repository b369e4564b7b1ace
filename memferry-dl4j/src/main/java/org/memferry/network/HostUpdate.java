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
import org.memferry.nd4j.RegionArrays;
import org.memferry.update.ElementType;
import org.memferry.update.FusedUpdate;
import org.memferry.update.GradientScaling;
import org.memferry.update.RuleStep;
import org.memferry.update.UpdateEngine;
import org.memferry.update.UpdateRange;
import org.memferry.update.UpdateRequest;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.NoOp;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

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

    private static final Gradient NO_GRADIENT = new DefaultGradient();

    private final BaseMultiLayerUpdater<?> updater;
    private final Units units;
    private final boolean miniBatch;
    private final ElementType type;
    private final GradientNorms norms;
    private final List<Block> blocks = new ArrayList<>();
    /** The layers with gradient normalisation, by the name that gradients have them under. */
    private final Map<String, Normalised> normalised = new LinkedHashMap<>();
    /** Per layer what there is of it in the blocks. */
    private final Map<Trainable, List<Piece>> pieces = new IdentityHashMap<>();

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
        this.norms = GradientNorms.of(Nd4j.getBackend().getClass().getSimpleName(), engine, type);
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

    /** Whether a layer's step can be taken by itself: none of its parameters goes DL4J's own way. */
    boolean isSeparable(Trainable layer) {
        return pieces.containsKey(layer) && pieces.get(layer).stream().noneMatch(p -> p.block.stock);
    }

    /** Whether {@link #step} can be called of a separable layer: which arrays a norm is taken of shows in the first whole step. */
    boolean isReady(Trainable layer) {
        Normalised norm = normalised.get(units.name(layer));
        return norm == null || norm.gradient != null;
    }

    /**
     * Whether a ready layer's step may run beside ND4J's own work: no norm is taken in it. How ND4J divides a reduction among threads, and
     * so its last bits, depends on what else it is doing.
     */
    boolean isFreeOfNorms(Trainable layer) {
        Normalised norm = normalised.get(units.name(layer));
        return norm == null || !norm.divides();
    }

    /**
     * Takes the step of one layer, {@link #isSeparable separable} and {@link #isReady ready}.
     *
     * @param writeUpdate whether somebody reads the update from the gradient arrays afterwards
     */
    void step(Trainable layer, int iteration, int epoch, int batch, boolean writeUpdate) {
        Normalised norm = normalised.get(units.name(layer));
        if (norm != null) {
            norm.run(norm.gradient, batch, iteration);
        }
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
        if (normalised.values().stream().anyMatch(norm -> !taken.test(norm.layer))) {
            Map<String, Gradient> byLayer = byLayer(gradient);
            normalised.forEach((name, norm) -> {
                if (!taken.test(norm.layer)) {
                    norm.gradient = byLayer.getOrDefault(name, NO_GRADIENT);
                    norm.run(norm.gradient, batch, iteration);
                }
            });
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
        RegionArrays.awaitComputation();
    }

    /** The gradient's entries, such as {@code 3_W}, for each layer by the name of the parameter. */
    private static Map<String, Gradient> byLayer(Gradient all) {
        Map<String, Gradient> byLayer = new HashMap<>();
        for (Map.Entry<String, INDArray> e : all.gradientForVariable().entrySet()) {
            int end = e.getKey().lastIndexOf('_');
            if (end >= 0) {
                byLayer.computeIfAbsent(e.getKey().substring(0, end), layer -> new DefaultGradient())
                        .setGradientFor(e.getKey().substring(end + 1), e.getValue());
            }
        }
        return byLayer;
    }

    /** A layer with gradient normalisation. */
    private final class Normalised {

        private final Trainable layer;
        private final List<ParamState> parameters = new ArrayList<>();
        /** The layer's gradients on the host, as the last step by DL4J's gradient found them; null before the first. */
        private Gradient gradient;
        /** Null where a block of the layer goes DL4J's way, which reads gradients that are scaled already. */
        private final LayerNormalisation scaling;

        Normalised(Trainable layer, boolean fused) {
            this.layer = layer;
            scaling = fused ? new LayerNormalisation(kind(layer), units.onHost(layer), norms) : null;
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
                RegionArrays.awaitComputation();
            }
        }
    }

    /** One of DL4J's blocks: parameters in a row with the same rule. */
    private final class Block {

        private final UpdaterBlock block;
        private final List<ParamState> parameters;
        private final boolean stock;
        private final FusedUpdate pass;
        private final List<Piece> own = new ArrayList<>();
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
            makePieces();
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

        private void makePieces() {
            for (int i = 0; i < parameters.size(); i++) {
                Trainable layer = parameters.get(i).getLayer();
                if (stock || !units.idle(layer)) {
                    add(i, !stock && (!units.reached(layer) || block.skipDueToPretrainConfig(false)));
                }
            }
        }

        private void add(int range, boolean keepsUpdate) {
            Trainable layer = parameters.get(range).getLayer();
            Piece last = own.isEmpty() ? null : own.get(own.size() - 1);
            if (last != null && last.layer == layer && last.to == range && last.keepsUpdate == keepsUpdate) {
                last.to++;
            } else {
                Piece piece = new Piece(this, layer, range, keepsUpdate);
                own.add(piece);
                pieces.computeIfAbsent(layer, l -> new ArrayList<>()).add(piece);
            }
        }

        void run(int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces, boolean writeUpdate, Predicate<Trainable> taken) {
            if (stock) {
                runStock(iteration, epoch, batch, workspaces);
            }
            RuleStep step = step(iteration, epoch);
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
                    run(step, first.from, to, batch, !stock && writeUpdate || first.keepsUpdate);
                } else {
                    i++;
                }
            }
        }

        void run(Piece piece, int iteration, int epoch, int batch, boolean writeUpdate) {
            run(step(iteration, epoch), piece.from, piece.to, batch, writeUpdate || piece.keepsUpdate);
        }

        private RuleStep step(int iteration, int epoch) {
            return RuleStep.of(stock ? new NoOp() : block.getGradientUpdater().getConfig(), type, iteration, epoch);
        }

        private void run(RuleStep step, int from, int to, int batch, boolean writeUpdate) {
            int odd = pass.run(UpdateRequest.of(step).at(parameterAddress, gradientAddress, stateAddress)
                    .minibatch(miniBatch ? batch : 0).scalings(scalings).writeUpdate(writeUpdate).build(), from, to);
            if (odd >= 0) {
                units.notFinite(parameters.get(odd).getLayer(), parameters.get(odd).getParamName(), step.iteration());
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
                    RegionArrays.awaitComputation();
                }
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
