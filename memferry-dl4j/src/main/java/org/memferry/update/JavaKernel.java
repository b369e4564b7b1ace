package org.memferry.update;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;

/**
 * The kernel in plain Java: copies a block of each array to the heap, computes there, copies back. Loops over native memory are not
 * vectorised by HotSpot (JDK 17 and 25), loops over heap arrays are: twice as fast in spite of the copies.
 */
final class JavaKernel implements UpdateKernel {

    /** Elements of a block: five arrays of it stay in the first two levels of cache. */
    static final int BLOCK = 2048;

    private static final int ARRAYS = 5;
    private static final ThreadLocal<FloatBlock> FLOATS = ThreadLocal.withInitial(FloatBlock::new);
    private static final ThreadLocal<DoubleBlock> DOUBLES = ThreadLocal.withInitial(DoubleBlock::new);

    @Override
    public String name() {
        return "Java";
    }

    @Override
    public boolean update(UpdatePass pass, long parameters, long gradients, long state0, long state1, long state2, long from, long to) {
        Block block = pass.type() == ElementType.FLOAT ? FLOATS.get() : DOUBLES.get();
        int arrays = 2 + pass.rule().stateComponents();
        boolean writeUpdate = pass.has(UpdatePass.WRITE_UPDATE);
        boolean finite = true;
        for (long at = from; at < to; at += BLOCK) {
            int n = (int) Math.min(BLOCK, to - at);
            for (int a = 0; a < arrays; a++) {
                block.load(a, address(a, parameters, gradients, state0, state1, state2), at, n);
            }
            finite &= block.update(pass, n);
            for (int a = 0; a < arrays; a++) {
                if (a != 1 || writeUpdate) {
                    block.store(a, address(a, parameters, gradients, state0, state1, state2), at, n);
                }
            }
        }
        return finite;
    }

    private static long address(int array, long parameters, long gradients, long state0, long state1, long state2) {
        switch (array) {
            case 0:
                return parameters;
            case 1:
                return gradients;
            case 2:
                return state0;
            case 3:
                return state1;
            default:
                return state2;
        }
    }

    /** Heap copies of a block of the arrays: parameters, gradients, state. */
    private interface Block {

        void load(int array, long address, long from, int n);

        boolean update(UpdatePass pass, int n);

        void store(int array, long address, long from, int n);
    }

    private static final class FloatBlock implements Block {

        private final float[][] arrays = new float[ARRAYS][BLOCK];
        private final FloatsAt memory = new FloatsAt();

        @Override
        public void load(int array, long address, long from, int n) {
            memory.at(address + from * Float.BYTES).get(arrays[array], 0, n);
        }

        @Override
        public boolean update(UpdatePass pass, int n) {
            return FloatRules.update(pass, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], n);
        }

        @Override
        public void store(int array, long address, long from, int n) {
            memory.at(address + from * Float.BYTES).put(arrays[array], 0, n);
        }
    }

    private static final class DoubleBlock implements Block {

        private final double[][] arrays = new double[ARRAYS][BLOCK];
        private final DoublesAt memory = new DoublesAt();

        @Override
        public void load(int array, long address, long from, int n) {
            memory.at(address + from * Double.BYTES).get(arrays[array], 0, n);
        }

        @Override
        public boolean update(UpdatePass pass, int n) {
            return DoubleRules.update(pass, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], n);
        }

        @Override
        public void store(int array, long address, long from, int n) {
            memory.at(address + from * Double.BYTES).put(arrays[array], 0, n);
        }
    }

    /** A pointer that is pointed anywhere, again and again; owns nothing. */
    static final class FloatsAt extends FloatPointer {

        FloatsAt at(long address) {
            this.address = address;
            return this;
        }
    }

    /** A pointer that is pointed anywhere, again and again; owns nothing. */
    static final class DoublesAt extends DoublePointer {

        DoublesAt at(long address) {
            this.address = address;
            return this;
        }
    }
}
