package org.memferry.engine;

import org.memferry.device.Ticket;

/** Told by the engine when a layer's gradient is on its way, so that the optimizer's step can follow it while backward goes on. */
@FunctionalInterface
public interface GradientListener {

    /** Nobody takes steps during backward. */
    GradientListener NONE = (layer, arrived) -> false;

    /**
     * The layer has been left by backward. Called by the training thread, which goes on to the next layer when this returns.
     *
     * @param layer   index of the layer
     * @param arrived done once the gradient is in the host gradients
     * @return true if the step is taken as soon as it is there, so that nobody may read the layer's parameters in this iteration any more
     */
    boolean coming(int layer, Ticket arrived);
}
