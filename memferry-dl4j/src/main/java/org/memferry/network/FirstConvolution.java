package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.nd4j.DeviceUse;
import org.memferry.plan.NetworkDescription;

/**
 * How much of the device was free when the first convolution began. If ND4J's log says that cuDNN found no scratch, and a slow convolution was
 * taken, this is the figure that explains it.
 */
final class FirstConvolution {

    static final long NOT_YET = -1;

    private final Device device;
    private final int layer;
    private long freeBytes = NOT_YET;

    FirstConvolution(Device device, NetworkDescription network) {
        this.device = device;
        this.layer = device.hasOwnMemory() ? first(network) : -1;
    }

    private static int first(NetworkDescription network) {
        for (int layer : network.forwardOrder()) {
            if (Headroom.isConvolution(network.layers().get(layer).type())) {
                return layer;
            }
        }
        return -1;
    }

    /** The computation reads a layer. */
    void read(int index) {
        if (index == layer && freeBytes == NOT_YET) {
            freeBytes = Math.max(0, Math.min(device.freeBytes(), device.totalBytes() - DeviceUse.of(device).bytes()));
        }
    }

    /** Bytes of the device, or of its budget, that nobody used; {@link #NOT_YET} before, and where there is no convolution. */
    long freeBytes() {
        return freeBytes;
    }
}
