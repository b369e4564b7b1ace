package org.memferry.update;

import org.memferry.device.NativeLibrary;

/** The kernel in C, at one level of instructions. Its methods may be called once {@link NativeLibrary} has loaded the library. */
final class NativeKernel implements UpdateKernel {

    private final NativeLevel level;

    NativeKernel(NativeLevel level) {
        this.level = level;
    }

    @Override
    public String name() {
        return "native " + level;
    }

    @Override
    public boolean update(UpdatePass pass, long parameters, long gradients, long state0, long state1, long state2, long from, long to) {
        return update(level.ordinal(), pass.rule().ordinal(), pass.type() == ElementType.DOUBLE, pass.flags(), pass.numbers(), parameters,
                gradients, state0, state1, state2, from, to);
    }

    /** Index of the best {@link NativeLevel} of this CPU. */
    static native int bestLevel();

    /** libm's powf, which ND4J's CPU backend uses. */
    static native float powf(float base, float exponent);

    /** libm's pow. */
    static native double pow(double base, double exponent);

    /** The yardstick of benchmarks: the memory traffic of a rule with so many state components, and next to no arithmetic. */
    static native void stream(int level, int states, boolean wide, long parameters, long gradients, long state0, long state1,
            long state2, long from, long to);

    private static native boolean update(int level, int rule, boolean wide, int flags, double[] numbers, long parameters, long gradients,
            long state0, long state1, long state2, long from, long to);
}
