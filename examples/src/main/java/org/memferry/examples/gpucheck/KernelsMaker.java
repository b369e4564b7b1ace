package org.memferry.examples.gpucheck;

/** Makes kernels for sizes that are known: cuBLAS's where it can be loaded, else copies in place of arithmetic. */
final class KernelsMaker {

    private final int card;
    private final String failure;

    KernelsMaker(int card) {
        this.card = card;
        this.failure = load();
    }

    private static String load() {
        try {
            Class.forName("org.bytedeco.cuda.global.cublas");
            return null;
        } catch (ClassNotFoundException | LinkageError e) {
            return String.valueOf(e.getMessage()).lines().findFirst().orElse(e.toString());
        }
    }

    /** Why there is no cuBLAS; null if there is. */
    String failure() {
        return failure;
    }

    /**
     * Makes them.
     *
     * @param activationBytes of the largest activations
     * @param weightBytes     of the largest weights, or of all rows of the largest gather
     * @param rows            of the largest gather
     */
    Kernels make(long activationBytes, long weightBytes, int rows) {
        return failure == null ? new CublasKernels(card, activationBytes, rows) : new CopyKernels(card, weightBytes);
    }
}
