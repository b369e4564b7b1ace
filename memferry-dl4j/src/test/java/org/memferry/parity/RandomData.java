package org.memferry.parity;

import java.util.Random;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.factory.Nd4j;

/** Arrays of one batch that depend on a seed and the order of calls only, never on the state of ND4J's own generator. */
final class RandomData {

    private final Random random;

    RandomData(long seed) {
        random = new Random(seed);
    }

    /** Values of the standard normal distribution. */
    INDArray gaussian(long... shape) {
        return gaussian(DataType.FLOAT, shape);
    }

    /** Values of the standard normal distribution in a type. */
    INDArray gaussian(DataType type, long... shape) {
        double[] values = new double[length(shape)];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextGaussian();
        }
        return Nd4j.createFromArray(values).castTo(type).reshape(shape);
    }

    /** Whole numbers from 0 below a bound, as the FLOAT values that DL4J's embedding layers read. */
    INDArray indices(int bound, long... shape) {
        float[] values = new float[length(shape)];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextInt(bound);
        }
        return Nd4j.createFromArray(values).reshape(shape);
    }

    /** One-hot classes, [batch, classes]. */
    INDArray classes(int batch, int classes) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, batch, classes);
        for (int i = 0; i < batch; i++) {
            labels.putScalar(i, random.nextInt(classes), 1.0);
        }
        return labels;
    }

    /** One-hot classes at every time step, [batch, classes, steps]. */
    INDArray classSeries(int batch, int classes, int steps) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, batch, classes, steps);
        for (int i = 0; i < batch; i++) {
            for (int t = 0; t < steps; t++) {
                labels.putScalar(i, random.nextInt(classes), t, 1.0);
            }
        }
        return labels;
    }

    /** Masks of series with lengths from 2 to all the steps, [batch, steps]: ones, then zeros. The first series has full length. */
    INDArray lengths(int batch, int steps) {
        INDArray mask = Nd4j.zeros(DataType.FLOAT, batch, steps);
        for (int i = 0; i < batch; i++) {
            int length = i == 0 ? steps : 2 + random.nextInt(steps - 1);
            for (int t = 0; t < length; t++) {
                mask.putScalar(i, t, 1.0);
            }
        }
        return mask;
    }

    /** The last one of each row of a mask and nothing else, [batch, steps]: labels of series that are classified at their end. */
    static INDArray lastOnly(INDArray mask) {
        INDArray last = Nd4j.zeros(DataType.FLOAT, mask.shape());
        for (int i = 0; i < mask.size(0); i++) {
            last.putScalar(i, mask.getRow(i).sumNumber().intValue() - 1, 1.0);
        }
        return last;
    }

    /**
     * One object per picture for a YOLO output layer, [batch, 4 + classes, grid, grid]: corners in grid units, then the class.
     */
    INDArray boxes(int batch, int classes, int grid) {
        INDArray labels = Nd4j.zeros(DataType.FLOAT, batch, 4 + classes, grid, grid);
        for (int i = 0; i < batch; i++) {
            double x = random.nextDouble() * grid;
            double y = random.nextDouble() * grid;
            double halfWidth = 0.3 + random.nextDouble();
            double halfHeight = 0.3 + random.nextDouble();
            double[] corners = {x - halfWidth, y - halfHeight, x + halfWidth, y + halfHeight};
            for (int c = 0; c < corners.length; c++) {
                labels.putScalar(i, c, (int) y, (int) x, Math.min(grid, Math.max(0, corners[c])));
            }
            labels.putScalar(i, 4 + random.nextInt(classes), (int) y, (int) x, 1.0);
        }
        return labels;
    }

    /** A batch with one input, one output and no masks. */
    static MultiDataSet batch(INDArray features, INDArray labels) {
        return new MultiDataSet(features, labels);
    }

    /** A batch with one input and one output; a mask may be null. */
    static MultiDataSet batch(INDArray features, INDArray labels, INDArray featuresMask, INDArray labelsMask) {
        return new MultiDataSet(array(features), array(labels), array(featuresMask), array(labelsMask));
    }

    private static INDArray[] array(INDArray only) {
        return only == null ? null : new INDArray[] {only};
    }

    private static int length(long... shape) {
        long length = 1;
        for (long size : shape) {
            length = Math.multiplyExact(length, size);
        }
        return Math.toIntExact(length);
    }
}
