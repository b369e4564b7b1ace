package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;

/** What our updaters ask of the ferry. */
interface UpdateHook {

    /**
     * The updater is called on a gradient. All of it is brought to the host first, and the gradient shows it there.
     *
     * @return true if the whole step was taken, parameters included; false if DL4J's own rules shall run, which leave the update in the
     *         gradient
     */
    boolean update(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces);

    /** Somebody gets the updater's state. */
    void stateIsRead();

    /** The layer as the gradient normalisation shall see it: with its gradients on the host. */
    Trainable onHost(Trainable layer);
}
