package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** DL4J's updater state: its size before there is an updater, its initial values, and comparing two. */
final class UpdaterState {

    private UpdaterState() {
    }

    /**
     * Elements of updater state that a network needs.
     *
     * @throws RefusedException if a parameter has no updater
     */
    static long count(List<NetworkUnit> units) {
        long count = 0;
        for (NetworkUnit unit : units) {
            for (Map.Entry<String, INDArray> e : unit.trainable.paramTable(false).entrySet()) {
                IUpdater updater = unit.trainable.getConfig().getUpdaterByParam(e.getKey());
                if (updater == null) {
                    throw new RefusedException("no updater: layer " + unit.name + " (" + unit.type() + ") has none for parameter '"
                            + e.getKey() + "'. Set one with .updater(...) in the configuration or with TransferLearning's "
                            + "FineTuneConfiguration before attaching.");
                }
                count = Math.addExact(count, updater.stateSize(e.getValue().length()));
            }
        }
        return count;
    }

    /** Gives the state the values that DL4J gives a new updater's (zero for most rules, epsilon for AdaGrad). */
    static void initialise(BaseMultiLayerUpdater<?> updater) {
        for (UpdaterBlock block : updater.getUpdaterBlocks()) {
            if (block.getUpdaterView() != null) {
                block.setGradientUpdater(null);
                block.setUpdaterViewRequiresInitialization(true);
                block.init();
                block.setUpdaterViewRequiresInitialization(false);
            }
        }
    }

    /** True if both states are equal, or both absent. */
    static boolean equal(BaseMultiLayerUpdater<?> a, BaseMultiLayerUpdater<?> b) {
        INDArray x = a.getStateViewArray();
        INDArray y = b.getStateViewArray();
        return x == null || y == null ? x == y : x.reshape(x.length()).equals(y.reshape(y.length()));
    }

    /** Whether two updaters lay their state out alike: same blocks over the same parameters. */
    static boolean sameLayout(BaseMultiLayerUpdater<?> a, BaseMultiLayerUpdater<?> b) {
        List<UpdaterBlock> x = a.getUpdaterBlocks();
        List<UpdaterBlock> y = b.getUpdaterBlocks();
        if (x.size() != y.size()) {
            return false;
        }
        for (int i = 0; i < x.size(); i++) {
            if (x.get(i).getParamOffsetStart() != y.get(i).getParamOffsetStart()
                    || x.get(i).getUpdaterViewOffsetStart() != y.get(i).getUpdaterViewOffsetStart()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Copies state from one layout to another: the moments of a parameter stay with it when blocks merge or split.
     *
     * @param from      blocks of the old layout
     * @param fromState state in the old layout, not the array of {@code to}
     * @param to        updater with the new layout, whose state array is written
     */
    static void relayout(List<UpdaterBlock> from, INDArray fromState, BaseMultiLayerUpdater<?> to) {
        Map<Integer, long[]> places = new HashMap<>();
        for (UpdaterBlock block : from) {
            for (UpdaterBlock.ParamState p : block.getLayersAndVariablesInBlock()) {
                places.put(p.getParamOffsetStart(), place(block, p));
            }
        }
        INDArray source = fromState.reshape(fromState.length());
        INDArray target = to.getStateViewArray().reshape(to.getStateViewArray().length());
        for (UpdaterBlock block : to.getUpdaterBlocks()) {
            for (UpdaterBlock.ParamState p : block.getLayersAndVariablesInBlock()) {
                long[] now = place(block, p);
                long[] old = places.get(p.getParamOffsetStart());
                long length = p.getParamOffsetEnd() - p.getParamOffsetStart();
                for (int c = 0; c < now[2]; c++) {
                    long at = now[0] + c * now[1];
                    long was = old[0] + c * old[1];
                    target.get(NDArrayIndex.interval(at, at + length)).assign(source.get(NDArrayIndex.interval(was, was + length)));
                }
            }
        }
    }

    /** First element of a parameter's state, the distance to its next component, and the number of components. */
    private static long[] place(UpdaterBlock block, UpdaterBlock.ParamState parameter) {
        long length = block.getParamOffsetEnd() - block.getParamOffsetStart();
        long state = block.getUpdaterViewOffsetEnd() - block.getUpdaterViewOffsetStart();
        long first = block.getUpdaterViewOffsetStart() + parameter.getParamOffsetStart() - block.getParamOffsetStart();
        return new long[] {first, length, state / length};
    }

    /** A layer for the gradient normalisation, with another gradient array. */
    static Trainable withGradients(Trainable layer, INDArray gradients) {
        return new HostTrainable(layer, gradients);
    }

    private static final class HostTrainable implements Trainable {

        private final Trainable layer;
        private final INDArray gradients;

        HostTrainable(Trainable layer, INDArray gradients) {
            this.layer = layer;
            this.gradients = gradients;
        }

        @Override
        public org.deeplearning4j.nn.api.TrainingConfig getConfig() {
            return layer.getConfig();
        }

        @Override
        public long numParams() {
            return layer.numParams();
        }

        @Override
        public INDArray params() {
            return layer.params();
        }

        @Override
        public Map<String, INDArray> paramTable(boolean backpropOnly) {
            return layer.paramTable(backpropOnly);
        }

        @Override
        public boolean updaterDivideByMinibatch(String paramName) {
            return layer.updaterDivideByMinibatch(paramName);
        }

        @Override
        public INDArray getGradientsViewArray() {
            // Null where DL4J has none (graph vertices on SameDiff): its normalisation skips these, so ours does.
            return layer.getGradientsViewArray() == null ? null : gradients;
        }
    }
}
