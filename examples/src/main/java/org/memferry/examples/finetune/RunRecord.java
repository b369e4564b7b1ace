package org.memferry.examples.finetune;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.bytedeco.javacpp.indexer.FloatIndexer;
import org.nd4j.linalg.api.ndarray.INDArray;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The numbers of a run: the score of every iteration, and SHA-256 digests of all parameters and of the updater state after each stage.
 * Digests because the second run starts when the first one's network is gone.
 */
final class RunRecord {

    private static final int CHUNK = 1 << 16;

    private final List<Double> scores = new ArrayList<>();
    private final Map<String, byte[]> digests = new LinkedHashMap<>();

    void score(double score) {
        scores.add(score);
    }

    /** Number of scores. */
    int iterations() {
        return scores.size();
    }

    /** Mean score of the last iterations. */
    double meanOfLast(int count) {
        return scores.subList(scores.size() - count, scores.size()).stream().mapToDouble(s -> s).average().orElse(Double.NaN);
    }

    /** Notes parameters and updater state as they are now. */
    void stageEnded(String stage, MultiLayerNetwork net) {
        digests.put("parameters after " + stage, digest(net.params()));
        digests.put("updater state after " + stage, digest(net.getUpdater().getStateViewArray()));
    }

    /** What differs first from another run, or null if every bit is the same. */
    String differenceFrom(RunRecord other) {
        if (scores.size() != other.scores.size()) {
            return scores.size() + " and " + other.scores.size() + " iterations";
        }
        for (int i = 0; i < scores.size(); i++) {
            if (Double.doubleToRawLongBits(scores.get(i)) != Double.doubleToRawLongBits(other.scores.get(i))) {
                return "score of iteration " + (i + 1) + ": " + scores.get(i) + " and " + other.scores.get(i);
            }
        }
        for (Map.Entry<String, byte[]> e : digests.entrySet()) {
            if (!Arrays.equals(e.getValue(), other.digests.get(e.getKey()))) {
                return e.getKey();
            }
        }
        return digests.keySet().equals(other.digests.keySet()) ? null : "stages: " + digests.keySet() + " and " + other.digests.keySet();
    }

    /** Reads the buffer in place: a copy would be an ordinary array, and so count as device memory. */
    private static byte[] digest(INDArray vector) {
        MessageDigest digest = sha256();
        FloatIndexer values = (FloatIndexer) vector.data().indexer();
        float[] chunk = new float[CHUNK];
        ByteBuffer bytes = ByteBuffer.allocate(CHUNK * Float.BYTES);
        for (long i = 0; i < vector.length(); i += CHUNK) {
            int count = (int) Math.min(CHUNK, vector.length() - i);
            values.get(vector.offset() + i, chunk, 0, count);
            bytes.asFloatBuffer().put(chunk, 0, count);
            digest.update(bytes.array(), 0, count * Float.BYTES);
        }
        return digest.digest();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
