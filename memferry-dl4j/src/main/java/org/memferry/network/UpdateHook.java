package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.Gradient;

/** What our updaters ask of the ferry. */
interface UpdateHook {

    /** The updater is about to run on a gradient: all of it must be in the host gradients, and the gradient must show them. */
    void beforeUpdate(Gradient gradient);

    /** The layer as the gradient normalisation shall see it: with its gradients on the host. */
    Trainable onHost(Trainable layer);
}
