package org.memferry.plan;

/** Where the backward pass of a layer writes its gradient. */
public enum GradientHome {

    /** Into a slot on the device, from where it is copied to the host gradients when the layer has been left. */
    SLOT,

    /** Straight into the host gradients, over the link. */
    DIRECT,

    /** Nowhere: the layer is frozen and never reached by the backward pass. */
    NONE
}
