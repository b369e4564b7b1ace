package org.memferry.examples.gpucheck;

import java.util.function.IntToDoubleFunction;

import org.bytedeco.javacpp.FloatPointer;
import org.memferry.device.Address;
import org.memferry.examples.gpucheck.Kernels.Shape;

/** Computes each product through cuBLAS's bindings, on libraries for tests, and by a sum written out. */
final class ProductsRun {

    private static final float[] NUMBERS = Runtime.numbers();
    private static final Shape BATCH = new Shape(5, 3, 4);
    private static final Shape VECTOR = new Shape(5, 3, 1);

    private ProductsRun() {
    }

    /** No arguments. */
    public static void main(String[] arguments) {
        FakeRun.call("start");
        int[] rows = {4, 0, 4};
        try (Runtime runtime = new Runtime(0); CublasKernels kernels = new CublasKernels(0, 4096, rows.length)) {
            // Weights, input and the gradient of the output are the same numbers, by columns.
            long weights = runtime.pinnedMemory(4096);
            long gradient = runtime.pinnedMemory(4096);
            runtime.fill(weights, 4096);
            kernels.forward(weights, BATCH);
            compare(kernels, kernels.result(), "forward", 20, i -> sum(3, l -> at(i % 5 + 5 * l) * at(l + 3 * (i / 5))));
            kernels.forward(weights, VECTOR);
            compare(kernels, kernels.result(), "vector", 5, i -> sum(3, l -> at(i + 5 * l) * at(l)));
            kernels.inputGradient(weights, BATCH);
            compare(kernels, kernels.result(), "input gradient", 12, i -> sum(5, l -> at(l + 5 * (i % 3)) * at(l + 5 * (i / 3))));
            kernels.weightGradient(gradient, BATCH);
            compare(kernels, gradient, "weight gradient", 15, i -> sum(4, l -> at(i % 5 + 5 * l) * at(i / 5 + 3 * l)));
            kernels.gather(weights, rows, 7);
            compare(kernels, kernels.result(), "gather", 21, i -> at(7 * rows[i / 7] + i % 7) * at(0));
        }
    }

    private static float at(int index) {
        return NUMBERS[index];
    }

    private static double sum(int terms, IntToDoubleFunction term) {
        double sum = 0;
        for (int i = 0; i < terms; i++) {
            sum += term.applyAsDouble(i);
        }
        return sum;
    }

    private static void compare(Kernels kernels, long address, String what, int count, IntToDoubleFunction expected) {
        kernels.synchronize();
        FloatPointer found = new FloatPointer(new Address().at(address));
        double worst = 0;
        for (int i = 0; i < count; i++) {
            worst = Math.max(worst, Math.abs(found.get(i) - expected.applyAsDouble(i)));
        }
        System.out.println(what + (worst < 1e-6 ? " right" : " wrong by " + worst));
    }
}
