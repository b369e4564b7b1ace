package org.memferry.network;

import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.update.UpdateEngine;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory and threads of one attachment, which outlive it unless they are given back: by closing it, or, where that is forgotten, once
 * its network has become unreachable. Refers to nothing that leads to the network, and neither do the threads.
 */
final class Remains implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Remains.class);

    private final Device device;
    private final boolean ownsDevice;
    private final Set<Region> regions = ConcurrentHashMap.newKeySet();
    private final UpdateEngine updateEngine;
    private volatile LayerSteps steps;

    /**
     * @param device       where the memory is taken
     * @param updateEngine the threads of the optimizer step; null if there are none
     * @param ownsDevice   whether the device is given back too
     */
    Remains(Device device, UpdateEngine updateEngine, boolean ownsDevice) {
        this.device = device;
        this.updateEngine = updateEngine;
        this.ownsDevice = ownsDevice;
    }

    /** Takes host memory. */
    Region host(long bytes, String purpose) {
        return keep(device.allocateHost(bytes, purpose));
    }

    /** Takes device memory. */
    Region slab(long bytes, String purpose) {
        return keep(device.allocateSlab(bytes, purpose));
    }

    private Region keep(Region region) {
        regions.removeIf(r -> !r.isOpen());
        regions.add(region);
        return region;
    }

    /** The thread that takes steps, in place of the one before; null for none. */
    void steps(LayerSteps present) {
        steps = present;
    }

    /** Gives everything back. A second call does nothing. */
    void giveBack() {
        LayerSteps present = steps;
        if (present != null) {
            present.close();
        }
        if (updateEngine != null) {
            updateEngine.close();
        }
        regions.forEach(Region::close);
        regions.clear();
        if (ownsDevice) {
            device.close();
        }
    }

    /** The attachment became unreachable. */
    @Override
    public void run() {
        if (regions.stream().anyMatch(Region::isOpen)) {
            LOG.warn("a network attached to {} was never closed and became unreachable: {} of memory in {} regions ({}) are given back", device.name(),
                    Sizes.exact(regions.stream().mapToLong(Region::bytes).sum()), regions.size(), regions);
        }
        giveBack();
    }
}
