package org.memferry.plan;

/** Where the parameters of a layer are served from during one pass. */
public enum Placement {

    /** From a copy on the device that is kept across iterations and refreshed after every update. */
    RESIDENT,

    /** From a slot on the device that is filled ahead of use and given to another layer afterwards. */
    PREFETCH,

    /** From the host master itself, read in place over the link (direct host access). */
    DIRECT
}
