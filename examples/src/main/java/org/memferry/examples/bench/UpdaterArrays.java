package org.memferry.examples.bench;

import org.bytedeco.javacpp.Pointer;
import org.memferry.device.Address;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.Region;
import org.memferry.nd4j.RegionArrays;
import org.memferry.update.UpdateRule;
import org.memferry.update.UpdateWorkers;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.util.Random;

/**
 * Parameters, gradients and updater state of one rule in host memory as an attached network has them, and ND4J arrays over that memory.
 * A spare array as long as the gradients is what memcpy writes to.
 */
final class UpdaterArrays implements AutoCloseable {

    private static final boolean ROWS = wantsRows();
    private static final int PATTERN = 1 << 16;

    final INDArray parameters;
    final INDArray gradients;
    /** Null for rules without state. */
    final INDArray state;
    private final long length;
    private final Device host = Devices.open("host");
    private final Region parameterRegion;
    private final Region gradientRegion;
    private final Region stateRegion;
    private final Region spareRegion;
    private final INDArray pattern;

    UpdaterArrays(UpdateRule rule, long length) {
        this.length = length;
        try {
            parameterRegion = region(length, "parameters");
            gradientRegion = region(length, "gradients");
            stateRegion = rule.stateComponents() == 0 ? null : region(rule.stateComponents() * length, "state");
            spareRegion = region(length, "copy");
        } catch (RuntimeException e) {
            host.close();
            throw e;
        }
        parameters = array(parameterRegion);
        gradients = array(gradientRegion);
        state = stateRegion == null ? null : array(stateRegion);
        pattern = Nd4j.createFromArray(positive());
        parameters.assign(0.1);
        Pointer.memset(new Address().at(spareRegion.address()), 0, spareRegion.bytes());
    }

    /** Memory that the arrays of a rule take. */
    static long bytes(UpdateRule rule, long length) {
        return Math.multiplyExact(length, (3L + rule.stateComponents()) * Float.BYTES);
    }

    private Region region(long elements, String purpose) {
        return host.allocateHost(Math.multiplyExact(elements, (long) Float.BYTES), purpose);
    }

    /** As DL4J's updater blocks hand them to ND4J: of rank 1, or rows in 1.0.0-M1.1. Some operations take half as long again for rows. */
    private static INDArray array(Region region) {
        return RegionArrays.vector(region, 0, DataType.FLOAT, region.bytes() / Float.BYTES, ROWS);
    }

    /** Positive, so that the stream, which adds gradients to second moments, leaves no negative ones: ND4J's square root minds them. */
    private static float[] positive() {
        Random random = new Random(7);
        float[] values = new float[PATTERN];
        for (int i = 0; i < PATTERN; i++) {
            values[i] = 0.01f * (1 + random.nextFloat());
        }
        return values;
    }

    /** Writes fresh gradients: DL4J leaves its update in their place, which would shrink from step to step into denormals. */
    void refreshGradients() {
        Pointer source = pattern.data().pointer();
        Address target = new Address();
        for (long at = 0; at < length; at += PATTERN) {
            Pointer.memcpy(target.at(gradientRegion.address() + at * Float.BYTES), source,
                    Math.min(PATTERN, length - at) * Float.BYTES);
        }
    }

    /** Copies the gradients to the spare array, each thread one share of them: long copies are those that libc does best. */
    void copyGradients(UpdateWorkers workers) {
        long share = (length - 1) / workers.threads() + 1;
        workers.run(piece -> {
            long from = Math.min(length, piece * share);
            long to = Math.min(length, from + share);
            Pointer.memcpy(new Address().at(spareRegion.address() + from * Float.BYTES),
                    new Address().at(gradientRegion.address() + from * Float.BYTES), (to - from) * Float.BYTES);
        }, workers.threads());
    }

    long parameterAddress() {
        return parameterRegion.address();
    }

    long gradientAddress() {
        return gradientRegion.address();
    }

    /** 0 for rules without state. */
    long stateAddress() {
        return stateRegion == null ? 0 : stateRegion.address();
    }

    @Override
    public void close() {
        parameterRegion.close();
        gradientRegion.close();
        if (stateRegion != null) {
            stateRegion.close();
        }
        spareRegion.close();
        host.close();
    }

    /** Whether DL4J's rules want their state as a row, found out by giving one a vector. */
    private static boolean wantsRows() {
        try {
            new Adam().instantiate(Nd4j.create(DataType.FLOAT, 2), true);
            return false;
        } catch (ArrayIndexOutOfBoundsException e) {
            return true;
        }
    }
}
