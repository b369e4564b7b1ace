package org.memferry.update;

import org.memferry.device.NativeLibrary;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.scalar.Pow;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Powers as ND4J's CPU backend takes them: libm's, whose float version is not the rounded double one (they differ at 2 of the
 * first 828 powers of 0.9f). Asked through the native kernel where it is loaded, else of ND4J itself.
 */
final class Powers {

    private Powers() {
    }

    static float pow(float base, float exponent) {
        return NativeLibrary.isLoaded() ? NativeKernel.powf(base, exponent) : (float) ofNd4j(DataType.FLOAT, base, exponent);
    }

    static double pow(double base, double exponent) {
        return NativeLibrary.isLoaded() ? NativeKernel.pow(base, exponent) : ofNd4j(DataType.DOUBLE, base, exponent);
    }

    /** ND4J's own power operation on one element: the same function of the same library. */
    static double ofNd4j(DataType type, double base, double exponent) {
        try (MemoryWorkspace none = Nd4j.getWorkspaceManager().scopeOutOfWorkspaces()) {
            INDArray one = Nd4j.createUninitialized(type, 1).assign(base);
            return Nd4j.exec(new Pow(one, exponent)).getDouble(0);
        }
    }
}
