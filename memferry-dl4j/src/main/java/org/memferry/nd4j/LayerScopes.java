package org.memferry.nd4j;

/**
 * Is told when a thread enters and leaves the workspace that DL4J opens around the computation of every layer and vertex, with parameters
 * or without, in both kinds of network, forward and backward. Called by that thread, between its own computations; not with workspaces
 * switched off ({@code WorkspaceMode.NONE}), and not with ND4J's {@code BYPASS_EVERYTHING}.
 *
 * <p>DL4J opens this workspace for one layer at a time and closes it before it opens it for the next, SameDiff layers, frozen ones and
 * wrappers included: what wraps a layer computes within the workspace of the whole. All of a layer's computation lies between the two
 * calls, so that {@link #left()} says what no read of a parameter does: nobody reads the layer's parameters any more, and its gradient is
 * written. Should a layer's own code open the workspace once more (with a network of its own, for example), only the outermost opening
 * and closing are told: ND4J calls the workspace closed when the inner one is, while the layer still computes.
 *
 * <p>{@link #entered()} says less than it seems to. The workspace has the same name for every layer: it does not tell which layer is
 * entered, which the layer's first read does, and that is also where the computation must wait for a copy, so that to wait at the entry
 * would only be earlier. Gradients have their places when an iteration opens, before any entry, and the end of the forward pass is told
 * by DL4J after its last layer was left and before backward enters one. What remains is that no layer computes at that moment: whatever
 * was read outside of any layer's workspace (a SameDiff graph may be run there) is read no more.
 */
public interface LayerScopes {

    /** Nobody is told. */
    LayerScopes NONE = new LayerScopes() {
        @Override
        public void entered() {
            // Nobody is told.
        }

        @Override
        public void left() {
            // Nobody is told.
        }
    };

    /** The computation of a layer begins, and that of any other layer has ended. */
    void entered();

    /** The computation of a layer has ended. */
    void left();
}
