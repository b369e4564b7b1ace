package org.memferry.engine;

/** Told by {@link AccessTrace#replay(IterationEngine, ReplayListener)} where it stands, so that a clock can add the time that events do not hold. */
public interface ReplayListener {

    /** Nobody listens. */
    ReplayListener NONE = new ReplayListener() { };

    /** A pass is about to be opened, or the present one given up. */
    default void passBegins() {
    }

    /**
     * A layer has been read, whose computation may be given to the device now.
     *
     * @param layer index of the layer
     * @param slot  where its parameters are, or {@link Program#MASTER}
     */
    default void read(int layer, int slot) {
    }

    /** Backward is over; the optimizer's steps of the iteration are about to be told, or it is about to be closed without one. */
    default void stepsBegin() {
    }

    /** A training iteration has been closed. */
    default void closed() {
    }
}
