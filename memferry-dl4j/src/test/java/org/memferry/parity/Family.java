package org.memferry.parity;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** One kind of network of the parity suite: how to build it and what to train it on; the same at every call. */
public interface Family {

    /** Short name in lower case with hyphens, unique among {@link Families#all()}. */
    String name();

    /** A network of this family, not initialised; built on a fresh configuration at every call. */
    Model newNetwork();

    /**
     * One call of {@code fit} on the batch of a step: the same data, and the same state of ND4J's random generator, for the
     * same step at every call. A family with truncated back-propagation makes several updates in one call.
     *
     * @param network an initialised network of {@link #newNetwork()}
     * @param step    0, 1, 2...
     */
    void fit(Model network, int step);

    /**
     * Inference on data that no step trains on, the same at every call.
     *
     * @return one array; the outputs of a network with several, flattened one after the other
     */
    INDArray output(Model network);

    /** One input type per network input, for an estimate; null where DL4J has none that fits (embeddings of indices). */
    InputType[] inputTypes();

    /** Examples in each batch. */
    int batch();

    /** True if stock DL4J 1.0.0-M1.1 can train the family, and go on training it after save and restore. */
    boolean worksInM11();
}
