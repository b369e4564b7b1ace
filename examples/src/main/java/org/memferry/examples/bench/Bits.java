package org.memferry.examples.bench;

import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Compares vectors of floats bit for bit, read in place: a copy of a large one would be another large one. */
final class Bits {

    private static final int CHUNK = 1 << 16;

    private Bits() {
    }

    /**
     * The largest distance in units in the last place: 0 only if every bit is the same, at least 1 if not, {@link Long#MAX_VALUE} where
     * just one of two elements is not a number.
     */
    static long maxUlp(INDArray a, INDArray b) {
        if (a.length() != b.length()) {
            throw new IllegalArgumentException("lengths: " + a.length() + " and " + b.length() + " (expected: equal)");
        }
        FloatIndexer left = (FloatIndexer) a.data().indexer();
        FloatIndexer right = (FloatIndexer) b.data().indexer();
        float[] x = new float[CHUNK];
        float[] y = new float[CHUNK];
        long max = 0;
        for (long at = 0; at < a.length(); at += CHUNK) {
            int count = (int) Math.min(CHUNK, a.length() - at);
            left.get(a.offset() + at, x, 0, count);
            right.get(b.offset() + at, y, 0, count);
            for (int i = 0; i < count; i++) {
                max = Math.max(max, ulp(x[i], y[i]));
            }
        }
        return max;
    }

    /** How many elements differ in at least one bit. */
    static long different(INDArray a, INDArray b) {
        FloatIndexer left = (FloatIndexer) a.data().indexer();
        FloatIndexer right = (FloatIndexer) b.data().indexer();
        long count = 0;
        for (long i = 0; i < a.length(); i++) {
            count += ulp(left.get(a.offset() + i), right.get(b.offset() + i)) == 0 ? 0 : 1;
        }
        return count;
    }

    private static long ulp(float x, float y) {
        if (Float.floatToRawIntBits(x) == Float.floatToRawIntBits(y)) {
            return 0;
        }
        if (Float.isNaN(x) || Float.isNaN(y)) {
            return Float.isNaN(x) && Float.isNaN(y) ? 1 : Long.MAX_VALUE;
        }
        return Math.max(1, Math.abs(rank(x) - rank(y)));
    }

    /** Number of floats between 0 and this one, with its sign. */
    private static long rank(float x) {
        long magnitude = Float.floatToRawIntBits(x) & Integer.MAX_VALUE;
        return Math.copySign(1f, x) < 0 ? -magnitude : magnitude;
    }
}
