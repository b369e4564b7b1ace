package org.memferry.device.virtual;

/** How long the compute stream of a {@link VirtualDevice} is busy with one visit of a layer. */
@FunctionalInterface
public interface VisitCosts {

    /**
     * The time of one visit.
     *
     * @param layer       index of the layer
     * @param backward    the pass
     * @param directBytes bytes that this visit reads or writes in place over the link, touches included; the device adds their time on
     *                    the link itself: a visit lasts at least that
     * @return nanoseconds, at least 0
     */
    long nanos(int layer, boolean backward, long directBytes);
}
