package org.memferry.update;

/**
 * Updates a range in one pass: divides the gradient, scales it, adds l1 and l2, applies the rule, adds the weight decay, subtracts
 * from the parameters; writes the update to the gradients only where the pass says so. Each element is computed by itself, so a
 * range may be cut anywhere and its parts given to any threads.
 */
interface UpdateKernel {

    /** Short name for logs, for example {@code native AVX2}. */
    String name();

    /**
     * Updates elements {@code from} (inclusive) to {@code to} (exclusive). All addresses are of element 0, in bytes, aligned to the
     * element; state addresses beyond the rule's components are ignored.
     *
     * @return whether all gradients, as they came, and all updated parameters are finite numbers
     */
    boolean update(UpdatePass pass, long parameters, long gradients, long state0, long state1, long state2, long from, long to);
}
