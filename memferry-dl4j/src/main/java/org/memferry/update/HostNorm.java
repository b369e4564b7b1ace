package org.memferry.update;

import java.util.Objects;

/**
 * Euclidean norms of vectors in host memory, with the same bits however many threads take them: squares are added in {@code double}, in
 * order within pieces of {@value #PIECE} elements, then the pieces in order. ND4J's own norm depends on how its threads share the vector;
 * where it computes on a device there is no host norm of its to be equal to, and this one serves.
 */
public final class HostNorm {

    static final int PIECE = 1 << 16;

    private final UpdateEngine engine;
    private final ElementType type;
    private final UpdateWorkers.Job job = this::addPiece;
    private double[] sums = new double[1];

    // The call that is running.
    private long address;
    private long count;

    /**
     * @param engine whose threads share the work
     * @param type   type of the vectors
     */
    public HostNorm(UpdateEngine engine, ElementType type) {
        this.engine = Objects.requireNonNull(engine, "engine");
        this.type = Objects.requireNonNull(type, "type");
    }

    /**
     * The norm of a vector, rounded to its type.
     *
     * @param firstElement address of its first element
     * @param elements     its length, 0 allowed
     */
    public synchronized double of(long firstElement, long elements) {
        int pieces = Math.toIntExact((elements + PIECE - 1) / PIECE);
        if (sums.length < pieces) {
            sums = new double[pieces];
        }
        address = firstElement;
        count = elements;
        engine.workers().run(job, pieces);
        double sum = 0;
        for (int i = 0; i < pieces; i++) {
            sum += sums[i];
        }
        return type.round(Math.sqrt(sum));
    }

    private void addPiece(int piece) {
        long from = (long) piece * PIECE;
        int n = (int) Math.min(PIECE, count - from);
        sums[piece] = type == ElementType.FLOAT ? floats(address + from * Float.BYTES, n) : doubles(address + from * Double.BYTES, n);
    }

    private static double floats(long at, int n) {
        float[] block = new float[JavaKernel.BLOCK];
        JavaKernel.FloatsAt memory = new JavaKernel.FloatsAt();
        double sum = 0;
        for (int i = 0; i < n; i += block.length) {
            int length = Math.min(block.length, n - i);
            memory.at(at + (long) i * Float.BYTES).get(block, 0, length);
            for (int k = 0; k < length; k++) {
                sum += (double) block[k] * block[k];
            }
        }
        return sum;
    }

    private static double doubles(long at, int n) {
        double[] block = new double[JavaKernel.BLOCK];
        JavaKernel.DoublesAt memory = new JavaKernel.DoublesAt();
        double sum = 0;
        for (int i = 0; i < n; i += block.length) {
            int length = Math.min(block.length, n - i);
            memory.at(at + (long) i * Double.BYTES).get(block, 0, length);
            for (int k = 0; k < length; k++) {
                sum += block[k] * block[k];
            }
        }
        return sum;
    }
}
