package org.memferry.engine;

/** Told by the engine when the computation has left a layer, so that nobody goes on reading its slot. */
public interface VisitListener {

    /**
     * The layer has been left.
     *
     * @param layer index of the layer
     * @param slot  the slot that served it, or {@link Program#MASTER}
     */
    void left(int layer, int slot);
}
