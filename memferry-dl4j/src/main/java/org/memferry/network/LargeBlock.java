package org.memferry.network;

import org.deeplearning4j.nn.updater.UpdaterBlock;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.util.List;

/**
 * One of DL4J's updater blocks in a network that is beyond DL4J's {@code int} offsets. Its arrays and its rule are those of any block; an
 * offset is answered if it fits, and refused by name if it does not, so that nobody computes with one that wrapped.
 */
final class LargeBlock extends UpdaterBlock {

    private final BlockLayout layout;
    private final int block;

    LargeBlock(BlockLayout layout, int block, List<ParamState> parameters) {
        super(0, 0, 0, 0, parameters);
        this.layout = layout;
        this.block = block;
    }

    private static int exact(long offset, String what) {
        if (offset > Integer.MAX_VALUE) {
            throw new RefusedException(what + " is " + offset + ", which DL4J's UpdaterBlock cannot say (expected: at most "
                    + Integer.MAX_VALUE + "). Use the block's arrays: getGradientView(), getUpdaterView(), getParamView() of its parameters.");
        }
        return (int) offset;
    }

    @Override
    public int getParamOffsetStart() {
        return exact(layout.blockStart(block), "the first parameter of updater block " + block);
    }

    @Override
    public int getParamOffsetEnd() {
        return exact(layout.blockEnd(block), "the end of updater block " + block);
    }

    @Override
    public int getUpdaterViewOffsetStart() {
        return exact(layout.stateStart(block), "the first state element of updater block " + block);
    }

    @Override
    public int getUpdaterViewOffsetEnd() {
        return exact(layout.stateEnd(block), "the end of the state of updater block " + block);
    }

    @Override
    public void updateExternalGradient(int iteration, int epoch, INDArray gradients, INDArray parameters) {
        throw new RefusedException("updater block " + block + " of a network with " + layout.parameterCount() + " parameters and "
                + layout.stateCount() + " elements of updater state cannot update another network's gradient: DL4J finds its piece by int "
                + "offsets (expected: at most " + Integer.MAX_VALUE + "). Train with fit, or give the gradient to this network's own.");
    }

    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    @Override
    public String toString() {
        return "updater block " + block + ": parameters " + layout.blockStart(block) + " to " + layout.blockEnd(block) + ", state "
                + layout.stateStart(block) + " to " + layout.stateEnd(block);
    }

    /** A parameter of such a block. */
    static final class Parameter extends ParamState {

        private final long start;
        private final long end;

        Parameter(ParamState shown, long start, long end) {
            super(shown.getLayer(), shown.getParamName(), 0, 0, shown.getParamView(), shown.getGradView());
            this.start = start;
            this.end = end;
        }

        @Override
        public int getParamOffsetStart() {
            return exact(start, "the first element of parameter '" + getParamName() + "'");
        }

        @Override
        public int getParamOffsetEnd() {
            return exact(end, "the end of parameter '" + getParamName() + "'");
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }

        @Override
        public String toString() {
            return "parameter '" + getParamName() + "', elements " + start + " to " + end;
        }
    }
}
