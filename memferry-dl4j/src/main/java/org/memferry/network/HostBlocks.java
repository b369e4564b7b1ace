package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.deeplearning4j.nn.updater.UpdaterUtils;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * DL4J's updater blocks over the arrays of an attached network: the same blocks, in the same order and with the same views, as DL4J's own
 * updater makes them, but laid out in {@code long}.
 */
final class HostBlocks {

    private final BlockLayout layout;
    private final List<UpdaterBlock> blocks = new ArrayList<>();

    private HostBlocks(BlockLayout layout) {
        this.layout = layout;
    }

    /**
     * Makes the blocks.
     *
     * @param units      in the order of the flat vector; their parameter tables are read
     * @param parameters the flat parameters
     * @param gradients  the flat gradients
     * @param state      the flat updater state; null if the rules keep none
     */
    static HostBlocks over(List<NetworkUnit> units, INDArray parameters, INDArray gradients, INDArray state) {
        List<ParamState> all = new ArrayList<>();
        HostBlocks made = new HostBlocks(layout(units, flat(parameters), flat(gradients), all));
        for (int block = 0; block < made.layout.blocks(); block++) {
            made.blocks.add(made.block(block, all, flat(gradients), state));
        }
        return made;
    }

    /** How an updater of DL4J's lays its state out. */
    static BlockLayout layoutOf(BaseMultiLayerUpdater<?> updater) {
        BlockLayout.Builder layout = BlockLayout.builder();
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            long components = block.getUpdaterView() == null ? 0 : block.getUpdaterView().length() / block.getGradientView().length();
            boolean joins = false;
            for (ParamState p : block.getLayersAndVariablesInBlock()) {
                long length = p.getParamView() == null ? 0 : p.getParamView().length();
                layout.add(length, Math.multiplyExact(length, components), joins);
                joins = true;
            }
        }
        return layout.build();
    }

    private static BlockLayout layout(List<NetworkUnit> units, INDArray parameters, INDArray gradients, List<ParamState> all) {
        BlockLayout.Builder layout = BlockLayout.builder();
        long offset = 0;
        for (NetworkUnit unit : units) {
            for (Map.Entry<String, INDArray> e : unit.trainable.paramTable(false).entrySet()) {
                String key = e.getKey();
                long length = e.getValue().length();
                ParamState last = all.isEmpty() ? null : all.get(all.size() - 1);
                layout.add(length, unit.trainable.getConfig().getUpdaterByParam(key).stateSize(length), last != null
                        && UpdaterUtils.updaterConfigurationsEquals(last.getLayer(), last.getParamName(), unit.trainable, key));
                all.add(parameter(unit.trainable, key, offset, length, parameters, gradients));
                offset = Math.addExact(offset, length);
            }
        }
        return layout.build();
    }

    /** With offsets as far as they fit: {@link #block} replaces those that do not. */
    private static ParamState parameter(Trainable layer, String key, long offset, long length, INDArray parameters, INDArray gradients) {
        return new ParamState(layer, key, (int) offset, (int) (offset + length), view(parameters, offset, length),
                view(gradients, offset, length));
    }

    private UpdaterBlock block(int block, List<ParamState> all, INDArray gradients, INDArray state) {
        List<ParamState> own = new ArrayList<>();
        for (int p = layout.firstParameter(block); p < layout.firstParameter(block + 1); p++) {
            own.add(layout.fitsDl4j() ? all.get(p) : new LargeBlock.Parameter(all.get(p), layout.parameterStart(p), layout.parameterEnd(p)));
        }
        UpdaterBlock made = layout.fitsDl4j() ? new UpdaterBlock((int) layout.blockStart(block), (int) layout.blockEnd(block),
                (int) layout.stateStart(block), (int) layout.stateEnd(block), own) : new LargeBlock(layout, block, own);
        if (layout.stateEnd(block) > layout.stateStart(block)) {
            made.setUpdaterView(view(state, layout.stateStart(block), layout.stateEnd(block) - layout.stateStart(block)));
        }
        made.setGradientView(view(gradients, layout.blockStart(block), layout.blockEnd(block) - layout.blockStart(block)));
        made.init();
        return made;
    }

    /** As DL4J's blocks want to see a flat array: of rank 1, or a row in 1.0.0-M1.1. */
    private static INDArray flat(INDArray array) {
        return Support.rank2() ? array : array.reshape(array.length());
    }

    private static INDArray view(INDArray flat, long offset, long length) {
        return length == 0 ? null : MultiLayerAdapter.view(flat, offset, length);
    }

    /** Where the blocks lie. */
    BlockLayout layout() {
        return layout;
    }

    /** The blocks in order; what a user changes in one is honoured. */
    List<UpdaterBlock> blocks() {
        return blocks;
    }
}
