package org.memferry.plan;

import java.util.List;
import java.util.Objects;

/**
 * What a planner knows of a network's times on one machine: one {@link LayerProfile} per layer of the description, the link, what copies
 * lose to what is used in place beside them, and how much the computation is slowed by work beside it. Immutable; pure data.
 */
public final class Profile {

    private final String key;
    private final boolean measured;
    private final List<LayerProfile> layers;
    private final double bytesPerSecondToDevice;
    private final double bytesPerSecondToHost;
    private final double readShare;
    private final double writeShare;
    private final double copySlowdown;
    private final double updateSlowdown;
    private final long betweenNanos;

    private Profile(Builder b) {
        key = Objects.requireNonNull(b.key, "key");
        measured = b.measured;
        layers = List.copyOf(b.layers);
        bytesPerSecondToDevice = b.bytesPerSecondToDevice;
        bytesPerSecondToHost = b.bytesPerSecondToHost;
        readShare = b.readShare;
        writeShare = b.writeShare;
        copySlowdown = b.copySlowdown;
        updateSlowdown = b.updateSlowdown;
        betweenNanos = b.betweenNanos;
        if (!isShare(readShare) || !isShare(writeShare)) {
            throw new IllegalArgumentException("profile " + key + ": of the time that reads in place take of the link copies lose " + readShare
                    + ", to writes in place " + writeShare + " (expected: at least 0, 1 where they share one link)");
        }
        if (!(bytesPerSecondToDevice > 0) || !(bytesPerSecondToHost > 0) || !(copySlowdown >= 0) || !(updateSlowdown >= 0)
                || betweenNanos < 0) {
            throw new IllegalArgumentException("profile " + key + ": " + bytesPerSecondToDevice + " bytes/s to the device, "
                    + bytesPerSecondToHost + " to the host (expected: more than 0), slow-down " + copySlowdown + " by copies, "
                    + updateSlowdown + " by updates, " + betweenNanos + " ns between iterations (expected: at least 0)");
        }
    }

    private static boolean isShare(double share) {
        return share >= 0 && share < Double.POSITIVE_INFINITY;
    }

    /**
     * Starts a profile.
     *
     * @param key    what it holds for: network, batch shape, device, version
     * @param layers one per layer of the network description
     */
    public static Builder builder(String key, List<LayerProfile> layers) {
        return new Builder(key, layers);
    }

    /** What the profile holds for: network, batch shape, device and version, in one comparable text. */
    public String key() {
        return key;
    }

    /** True if measured on the device, false if estimated from a hardware description. */
    public boolean measured() {
        return measured;
    }

    /** One per layer of the network description. */
    public List<LayerProfile> layers() {
        return layers;
    }

    /** Rate of copies from host to device with nothing beside them; infinite if nothing limits them. */
    public double bytesPerSecondToDevice() {
        return bytesPerSecondToDevice;
    }

    /** Rate of copies from device to host with nothing beside them. */
    public double bytesPerSecondToHost() {
        return bytesPerSecondToHost;
    }

    /**
     * Time that a copy to the device loses per time that a read in place takes of the link: 0 where the two do not touch each other, 1 where
     * they share one link.
     */
    public double readShare() {
        return readShare;
    }

    /** Time that a copy to the host loses per time that a write in place takes of the link, as {@link #readShare()}. */
    public double writeShare() {
        return writeShare;
    }

    /** Rate of copies to the device beside which as many bytes are read in place; {@link #bytesPerSecondToDevice()} where they lose nothing. */
    public double bytesPerSecondToDeviceBesideReads() {
        return bytesPerSecondToDevice / (1 + readShare);
    }

    /** Rate of copies to the host beside which as many bytes are written in place. */
    public double bytesPerSecondToHostBesideWrites() {
        return bytesPerSecondToHost / (1 + writeShare);
    }

    /** Share by which a running copy lengthens the computation beside it; 0 beside a GPU. */
    public double copySlowdown() {
        return copySlowdown;
    }

    /** Share by which a running optimizer step lengthens the computation beside it; 0 beside a GPU. */
    public double updateSlowdown() {
        return updateSlowdown;
    }

    /** What an iteration takes beside its layers: data, loss, layers without parameters that no layer's time holds, listeners. */
    public long betweenNanos() {
        return betweenNanos;
    }

    /** Collects a profile. */
    public static final class Builder {

        private final String key;
        private final List<LayerProfile> layers;
        private boolean measured;
        private double bytesPerSecondToDevice = Double.POSITIVE_INFINITY;
        private double bytesPerSecondToHost = Double.POSITIVE_INFINITY;
        private double readShare = 1;
        private double writeShare = 1;
        private double copySlowdown;
        private double updateSlowdown;
        private long betweenNanos;

        private Builder(String key, List<LayerProfile> layers) {
            this.key = key;
            this.layers = layers;
        }

        /** See {@link Profile#measured()}; estimated if not called. */
        public Builder measured() {
            measured = true;
            return this;
        }

        /** Rates of the link in bytes per second; infinite if not set. */
        public Builder link(double toDevice, double toHost) {
            bytesPerSecondToDevice = toDevice;
            bytesPerSecondToHost = toHost;
            return this;
        }

        /** See {@link Profile#readShare()} and {@link Profile#writeShare()}; 1 if not set, one link for all. */
        public Builder shares(double reads, double writes) {
            readShare = reads;
            writeShare = writes;
            return this;
        }

        /** See {@link Profile#copySlowdown()} and {@link Profile#updateSlowdown()}; 0 if not set. */
        public Builder slowdown(double byCopy, double byUpdate) {
            copySlowdown = byCopy;
            updateSlowdown = byUpdate;
            return this;
        }

        /** See {@link Profile#betweenNanos()}; 0 if not set. */
        public Builder between(long nanos) {
            betweenNanos = nanos;
            return this;
        }

        /** The profile. */
        public Profile build() {
            return new Profile(this);
        }
    }
}
