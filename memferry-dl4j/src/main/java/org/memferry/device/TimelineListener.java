package org.memferry.device;

/**
 * Told what took place when, as soon as it is over: by a virtual device in its own time, by what runs in earnest in nanoseconds of
 * {@link System#nanoTime()}, and there by the threads that do it.
 */
public interface TimelineListener {

    /** Nobody listens. */
    TimelineListener NONE = new TimelineListener() { };

    /**
     * A visit has ended.
     *
     * @param layer       index of the layer
     * @param backward    the pass
     * @param startNanos  when it was entered
     * @param endNanos    when it was left
     * @param waitedNanos how much of the time between it stood still for copies
     */
    default void visited(int layer, boolean backward, long startNanos, long endNanos, long waitedNanos) {
    }

    /**
     * A copy has ended.
     *
     * @param direction  where to
     * @param hostOffset the byte of the host region that it starts at
     * @param bytes      its length
     * @param startNanos when its first byte could move
     * @param endNanos   when its last byte had moved
     */
    default void copied(Direction direction, long hostOffset, long bytes, long startNanos, long endNanos) {
    }

    /**
     * An optimizer step has ended.
     *
     * @param layer      index of the layer; -1 for one step of many layers
     * @param startNanos when the worker began
     * @param endNanos   when it was done
     */
    default void updated(int layer, long startNanos, long endNanos) {
    }
}
