package org.memferry.nd4j;

/**
 * Is told when a thread leaves the workspace that DL4J opens around the computation of every layer, with parameters or without: whatever
 * that computation was to write is written. Called by that thread, between its own computations.
 */
public interface LayerScopes {

    /** Nobody is told. */
    LayerScopes NONE = () -> { };

    /** The computation of a layer has ended. */
    void left();
}
