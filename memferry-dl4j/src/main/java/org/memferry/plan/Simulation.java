package org.memferry.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What one iteration in steady state takes, as simulated: its time, what it held, moved and waited for, and when everything took place.
 * Immutable; pure data. Every figure is simulated.
 */
public final class Simulation {

    private final long stepNanos;
    private final long iterationNanos;
    private final boolean steady;
    private final long slabBytes;
    private final long devicePeakBytes;
    private final long copyWaitNanos;
    private final long updateWaitNanos;
    private final long bytesToDevice;
    private final long bytesToHost;
    private final long directBytes;
    private final List<Span> visits;
    private final List<Span> copies;
    private final List<Span> updates;

    private Simulation(Builder b) {
        stepNanos = b.stepNanos < 0 ? b.iterationNanos : b.stepNanos;
        iterationNanos = b.iterationNanos;
        steady = b.steady;
        slabBytes = b.slabBytes;
        devicePeakBytes = b.devicePeakBytes;
        copyWaitNanos = b.copyWaitNanos;
        updateWaitNanos = b.updateWaitNanos;
        directBytes = b.directBytes;
        visits = List.copyOf(b.visits);
        copies = List.copyOf(b.copies);
        updates = List.copyOf(b.updates);
        bytesToDevice = bytes(Span.Kind.TO_DEVICE);
        bytesToHost = bytes(Span.Kind.TO_HOST);
        if (iterationNanos < 0 || slabBytes < 0 || devicePeakBytes < slabBytes) {
            throw new IllegalArgumentException("simulation: iteration " + iterationNanos + " ns (expected: at least 0), slab " + slabBytes
                    + " of " + devicePeakBytes + " bytes on the device (expected: at least 0, and no more than the device holds)");
        }
    }

    private long bytes(Span.Kind kind) {
        long sum = 0;
        for (Span copy : copies) {
            if (copy.kind() == kind) {
                sum = Math.addExact(sum, copy.bytes());
            }
        }
        return sum;
    }

    /** Starts a simulation's result. */
    public static Builder builder() {
        return new Builder();
    }

    /** From the start of one iteration to the start of the next; their mean where a few that differ take turns. */
    public long stepNanos() {
        return stepNanos;
    }

    /** The length of the iteration that all but {@link #stepNanos()} is of; the same where all are alike. */
    public long iterationNanos() {
        return iterationNanos;
    }

    /** True if iterations repeat themselves from this one on; false if the simulation gave up before. */
    public boolean isSteady() {
        return steady;
    }

    /** Device bytes of resident layers and slots; of stock training its parameters, gradients and updater state. */
    public long slabBytes() {
        return slabBytes;
    }

    /** Most device bytes at a time: the slab, and the activations beside it. */
    public long devicePeakBytes() {
        return devicePeakBytes;
    }

    /** How long the training thread stood still for copies. */
    public long copyWaitNanos() {
        return copyWaitNanos;
    }

    /** How long the training thread stood still for optimizer steps, those it took itself included. */
    public long updateWaitNanos() {
        return updateWaitNanos;
    }

    /** Bytes copied to the device. */
    public long bytesToDevice() {
        return bytesToDevice;
    }

    /** Bytes copied to the host. */
    public long bytesToHost() {
        return bytesToHost;
    }

    /** Bytes read or written in place over the link, touches included. */
    public long directBytes() {
        return directBytes;
    }

    /** Visits of layers in order. */
    public List<Span> visits() {
        return visits;
    }

    /** Copies that end in the iteration, in the order of their ends; those that began in the one before start at a negative time. */
    public List<Span> copies() {
        return copies;
    }

    /** Steps on the update worker in order; none where the training thread takes the step as a whole. */
    public List<Span> updates() {
        return updates;
    }

    @Override
    public String toString() {
        return "simulated step " + stepNanos + " ns, " + devicePeakBytes + " bytes on the device" + (steady ? "" : ", not steady");
    }

    /** Collects a result. */
    public static final class Builder {

        private long stepNanos = -1;
        private long iterationNanos;
        private boolean steady = true;
        private long slabBytes;
        private long devicePeakBytes;
        private long copyWaitNanos;
        private long updateWaitNanos;
        private long directBytes;
        private final List<Span> visits = new ArrayList<>();
        private final List<Span> copies = new ArrayList<>();
        private final List<Span> updates = new ArrayList<>();

        private Builder() {
        }

        /** See {@link Simulation#iterationNanos()}. */
        public Builder iteration(long nanos) {
            iterationNanos = nanos;
            return this;
        }

        /** See {@link Simulation#stepNanos()}; the iteration's length if not set. */
        public Builder step(long nanos) {
            stepNanos = nanos;
            return this;
        }

        /** See {@link Simulation#isSteady()}; true if not set. */
        public Builder steady(boolean isSteady) {
            steady = isSteady;
            return this;
        }

        /** See {@link Simulation#slabBytes()} and {@link Simulation#devicePeakBytes()}. */
        public Builder device(long slab, long peak) {
            slabBytes = slab;
            devicePeakBytes = peak;
            return this;
        }

        /** See {@link Simulation#copyWaitNanos()} and {@link Simulation#updateWaitNanos()}. */
        public Builder waited(long forCopies, long forUpdates) {
            copyWaitNanos = forCopies;
            updateWaitNanos = forUpdates;
            return this;
        }

        /** See {@link Simulation#directBytes()}. */
        public Builder direct(long bytes) {
            directBytes = bytes;
            return this;
        }

        /** Adds what took time to the list of its kind. */
        public Builder add(Span span) {
            switch (Objects.requireNonNull(span, "span").kind()) {
                case FORWARD:
                case BACKWARD:
                    visits.add(span);
                    break;
                case UPDATE:
                    updates.add(span);
                    break;
                default:
                    copies.add(span);
            }
            return this;
        }

        /** The result. */
        public Simulation build() {
            return new Simulation(this);
        }
    }
}
