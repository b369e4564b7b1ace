package org.memferry.plan;

/** A named way to train a network on a device that is too small for it. Each is a kind of plan, run by the same engine. */
public enum Strategy {

    /** Stock training: parameters, gradients and updater state on the device, the step there. Can only be simulated. */
    NONE,

    /**
     * ZeRO-Offload: all parameters on the device, gradients copied out bucket by bucket during backward, the step on the host after
     * backward, parameters copied back after it.
     */
    ZERO_OFFLOAD,

    /** As {@link #ZERO_OFFLOAD} with the full gradient buffer kept on the device: the baseline of the MemFerry paper. */
    NATIVE_OFFLOAD,

    /**
     * The MemFerry paper: per layer copied for both passes (GFGB), read in place in both (DHA), or read in place in forward and copied for
     * backward (DFGB); what is copied is kept until its backward.
     */
    MEMFERRY,

    /** {@link #MEMFERRY} with the gradients of chosen layers written in place over the link, under a reserve factor (GO). */
    GO_MEMFERRY,

    /** A working window of slots, copied again in backward: the host alone bounds the model. */
    STREAM,

    /** The fastest predicted plan that fits, whatever its kind. */
    AUTO
}
