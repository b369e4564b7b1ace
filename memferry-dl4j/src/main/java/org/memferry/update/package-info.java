/**
 * The CPU update of DL4J, in one pass over memory: divide by the minibatch, l1 and l2, the update rule, weight decay, subtract from
 * the parameters. Every rule gives the numbers of ND4J's own operations, bit for bit, on whichever build of ND4J is loaded.
 *
 * <p>{@link org.memferry.update.FusedUpdate} is the way in. {@link org.memferry.update.UpdateKernels} chooses who computes, and
 * {@link org.memferry.update.StockRounding} finds out how the loaded ND4J rounds.
 */
package org.memferry.update;
