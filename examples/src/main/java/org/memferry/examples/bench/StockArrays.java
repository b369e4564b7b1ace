package org.memferry.examples.bench;

import org.memferry.update.UpdateRule;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Parameters, gradients and updater state of one rule as plain DL4J has them: ordinary arrays in memory that ND4J takes. */
final class StockArrays implements AutoCloseable {

    final INDArray parameters;
    final INDArray gradients;
    /** Null for rules without state. */
    final INDArray state;

    /**
     * @param like arrays of the same rule and length, for shape and content
     */
    StockArrays(UpdaterArrays like) {
        parameters = Nd4j.create(DataType.FLOAT, like.parameters.shape());
        gradients = Nd4j.create(DataType.FLOAT, like.gradients.shape());
        state = like.state == null ? null : Nd4j.create(DataType.FLOAT, like.state.shape());
        parameters.assign(like.parameters);
    }

    /** Memory that the arrays of a rule take. */
    static long bytes(UpdateRule rule, long length) {
        return Math.multiplyExact(length, (2L + rule.stateComponents()) * Float.BYTES);
    }

    @Override
    public void close() {
        parameters.close();
        gradients.close();
        if (state != null) {
            state.close();
        }
    }
}
