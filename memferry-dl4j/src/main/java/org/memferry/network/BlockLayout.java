package org.memferry.network;

import java.util.Arrays;

/**
 * Where DL4J's updater blocks lie in the flat parameters and in the flat updater state, counted in {@code long}: DL4J's own updater counts
 * the same in {@code int}, and ends at 2^31 - 1 elements of either. Immutable.
 *
 * <p>Parameters in a row with equal updater configuration make a block. A block's state holds one component after another
 * ({@code [m of block | v of block]}), and in each component the parameters in their order.
 */
final class BlockLayout {

    /** First element of each parameter; one more entry for the end. */
    private final long[] parameters;
    /** First parameter of each block; one more entry for the end. */
    private final int[] blocks;
    /** First element of each block's state; one more entry for the end. */
    private final long[] states;

    private BlockLayout(long[] parameters, int[] blocks, long[] states) {
        this.parameters = parameters;
        this.blocks = blocks;
        this.states = states;
    }

    /** Starts a layout without parameters. */
    static Builder builder() {
        return new Builder();
    }

    /** Number of blocks. */
    int blocks() {
        return blocks.length - 1;
    }

    /** Number of parameters (weights, biases and so on) in all blocks. */
    int parameters() {
        return parameters.length - 1;
    }

    /** Index of a block's first parameter; that of the block after the last is {@link #parameters()}. */
    int firstParameter(int block) {
        return blocks[block];
    }

    /** First element of a parameter in the flat vector. */
    long parameterStart(int parameter) {
        return parameters[parameter];
    }

    /** Element after the last of a parameter. */
    long parameterEnd(int parameter) {
        return parameters[parameter + 1];
    }

    /** First element of a block in the flat vector. */
    long blockStart(int block) {
        return parameters[blocks[block]];
    }

    /** Element after the last of a block. */
    long blockEnd(int block) {
        return parameters[blocks[block + 1]];
    }

    /** First element of a block in the flat updater state. */
    long stateStart(int block) {
        return states[block];
    }

    /** Element after the last of a block in the flat updater state. */
    long stateEnd(int block) {
        return states[block + 1];
    }

    /** Elements of updater state for each parameter element of a block: 2 for Adam. */
    int components(int block) {
        long length = blockEnd(block) - blockStart(block);
        return length == 0 ? 0 : Math.toIntExact((stateEnd(block) - stateStart(block)) / length);
    }

    /** First element of a parameter's state of one component, in the flat updater state. */
    long stateOf(int parameter, int component) {
        int block = blockOf(parameter);
        long intoBlock = Math.addExact(Math.multiplyExact(blockEnd(block) - blockStart(block), component),
                parameters[parameter] - blockStart(block));
        return Math.addExact(states[block], intoBlock);
    }

    /** The block that a parameter belongs to. */
    int blockOf(int parameter) {
        int found = Arrays.binarySearch(blocks, parameter);
        return found >= 0 ? found : -found - 2;
    }

    /** Length of the flat vector. */
    long parameterCount() {
        return parameters[parameters.length - 1];
    }

    /** Length of the flat updater state. */
    long stateCount() {
        return states[states.length - 1];
    }

    /** Whether DL4J's own updater can hold this: both lengths fit an {@code int}. */
    boolean fitsDl4j() {
        return parameterCount() <= Integer.MAX_VALUE && stateCount() <= Integer.MAX_VALUE;
    }

    /** Equal to a layout with the same blocks over the same parameters. */
    @Override
    public boolean equals(Object other) {
        if (!(other instanceof BlockLayout)) {
            return false;
        }
        BlockLayout that = (BlockLayout) other;
        return Arrays.equals(parameters, that.parameters) && Arrays.equals(blocks, that.blocks) && Arrays.equals(states, that.states);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(parameters) + Arrays.hashCode(blocks);
    }

    /** Collects parameters in the order of the flat vector. */
    static final class Builder {

        private long[] parameters = {0};
        private int[] blocks = {0};
        private long[] states = {0};

        private Builder() {
        }

        /**
         * Adds a parameter.
         *
         * @param length      its elements
         * @param stateLength elements of updater state for it
         * @param joins       whether its updater configuration equals that of the parameter before, so that it joins that one's block
         * @throws ArithmeticException if the sums do not fit a {@code long}
         */
        Builder add(long length, long stateLength, boolean joins) {
            if (length < 0 || stateLength < 0) {
                throw new IllegalArgumentException("length " + length + ", state " + stateLength + " (expected: at least 0)");
            }
            if (!joins || blocks.length == 1) {
                blocks = Arrays.copyOf(blocks, blocks.length + 1);
                states = Arrays.copyOf(states, states.length + 1);
                states[states.length - 1] = states[states.length - 2];
            }
            parameters = Arrays.copyOf(parameters, parameters.length + 1);
            parameters[parameters.length - 1] = Math.addExact(parameters[parameters.length - 2], length);
            blocks[blocks.length - 1] = parameters.length - 1;
            states[states.length - 1] = Math.addExact(states[states.length - 1], stateLength);
            return this;
        }

        BlockLayout build() {
            return new BlockLayout(parameters, blocks, states);
        }
    }
}
