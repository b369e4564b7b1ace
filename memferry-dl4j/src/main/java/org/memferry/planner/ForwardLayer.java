package org.memferry.planner;

/**
 * One layer as the {@link ForwardScheduler} sees it: what its pass takes with the parameters on the device and read in place, and what
 * their copy takes. Immutable; times in nanoseconds, counted from the start of the pass.
 */
public final class ForwardLayer {

    private final long onDeviceNanos;
    private final long directNanos;
    private final long copyNanos;
    private final long copyFromNanos;
    private final boolean mayCopy;
    private final boolean mayReadInPlace;

    private ForwardLayer(long onDeviceNanos, long directNanos, long copyNanos, long copyFromNanos, boolean mayCopy,
            boolean mayReadInPlace) {
        this.onDeviceNanos = onDeviceNanos;
        this.directNanos = directNanos;
        this.copyNanos = copyNanos;
        this.copyFromNanos = copyFromNanos;
        this.mayCopy = mayCopy;
        this.mayReadInPlace = mayReadInPlace;
        if (onDeviceNanos < 0 || directNanos < 0 || copyNanos < 0 || !mayCopy && !mayReadInPlace) {
            throw new IllegalArgumentException("forward layer: " + onDeviceNanos + " ns on the device, " + directNanos + " ns in place, "
                    + copyNanos + " ns to copy (expected: all at least 0), may be copied " + mayCopy + ", may be read in place "
                    + mayReadInPlace + " (expected: one of them)");
        }
    }

    /**
     * A layer that may be served either way.
     *
     * @param onDeviceNanos the pass with the parameters on the device
     * @param directNanos   the pass with the parameters read in place
     * @param copyNanos     the copy of the parameters
     */
    public static ForwardLayer of(long onDeviceNanos, long directNanos, long copyNanos) {
        return new ForwardLayer(onDeviceNanos, directNanos, copyNanos, 0, true, true);
    }

    /** As this, but its copy cannot start before a time: its optimizer step is still under way, or its slot still in use. */
    public ForwardLayer copyFrom(long nanos) {
        return new ForwardLayer(onDeviceNanos, directNanos, copyNanos, nanos, mayCopy, mayReadInPlace);
    }

    /** As this, but always copied. */
    public ForwardLayer copyOnly() {
        return new ForwardLayer(onDeviceNanos, directNanos, copyNanos, copyFromNanos, true, false);
    }

    /** As this, but always read in place. */
    public ForwardLayer inPlaceOnly() {
        return new ForwardLayer(onDeviceNanos, directNanos, copyNanos, copyFromNanos, false, true);
    }

    /** The pass with the parameters on the device. */
    public long onDeviceNanos() {
        return onDeviceNanos;
    }

    /** The pass with the parameters read in place. */
    public long directNanos() {
        return directNanos;
    }

    /** The copy of the parameters. */
    public long copyNanos() {
        return copyNanos;
    }

    /** When the copy can start at the earliest. */
    public long copyFromNanos() {
        return copyFromNanos;
    }

    /** False if the parameters must be read in place. */
    public boolean mayCopy() {
        return mayCopy;
    }

    /** False if the parameters must be copied. */
    public boolean mayReadInPlace() {
        return mayReadInPlace;
    }
}
