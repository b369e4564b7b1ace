package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.learning.config.IUpdater;

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

    /**
     * Copies state from one layout to another: the moments of a parameter stay with it when blocks merge or split.
     *
     * @param from      the old layout
     * @param fromState state in the old layout, not the array that is written
     * @param to        the new layout of the same parameters
     * @param toState   written
     */
    static void relayout(BlockLayout from, INDArray fromState, BlockLayout to, INDArray toState) {
        INDArray source = fromState.reshape(fromState.length());
        INDArray target = toState.reshape(toState.length());
        for (int p = 0; p < to.parameters(); p++) {
            long length = to.parameterEnd(p) - to.parameterStart(p);
            for (int c = 0; c < to.components(to.blockOf(p)); c++) {
                long at = to.stateOf(p, c);
                long was = from.stateOf(p, c);
                target.get(NDArrayIndex.interval(at, at + length)).assign(source.get(NDArrayIndex.interval(was, was + length)));
            }
        }
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
