package org.memferry.network;

import org.memferry.device.Device;
import org.memferry.device.Direction;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Copies in one direction of a device's link, and a computation that uses host memory in place in the same direction: one that reads beside
 * copies to the device, one that writes beside copies to the host. Copies take the first bytes of the memory, the computation the last. Where
 * the device models what is used in place nothing is computed; elsewhere ND4J computes where it computes the network.
 */
final class LinkTraffic {

    /** In place of a time: the copy was over before the computation. */
    static final long NOT_TELLING = -1;
    private static final Ticket[] NOTHING = {};

    private final Device device;
    private final Direction direction;
    private final Region host;
    private final Region slab;
    private final DataType type;
    private final Ticket done;
    private INDArray used;

    /**
     * @param host copied from and read, or copied to and overwritten
     * @param slab device memory; overwritten by copies to the device
     * @param type of the numbers that are computed with
     */
    LinkTraffic(Device device, Direction direction, Region host, Region slab, DataType type) {
        this.device = device;
        this.direction = direction;
        this.host = host;
        this.slab = slab;
        this.type = type;
        this.done = device.newTicket();
    }

    /** The largest size of whole numbers that is not more. */
    long aligned(long bytes) {
        return bytes - bytes % RegionArrays.elementBytes(type);
    }

    /** Nanoseconds of a copy. */
    long copy(long bytes) {
        long start = System.nanoTime();
        submit(bytes);
        device.hostWaits(done);
        return System.nanoTime() - start;
    }

    /** Nanoseconds of the computation. */
    long use(long bytes) {
        prepare(bytes);
        long start = System.nanoTime();
        compute(bytes);
        return System.nanoTime() - start;
    }

    /** Nanoseconds of a copy beside which the computation uses other memory in place; {@link #NOT_TELLING} if the copy did not outlast it. */
    long copyBesideUse(long bytes, long usedBytes) {
        prepare(usedBytes);
        long start = System.nanoTime();
        submit(bytes);
        compute(usedBytes);
        boolean outlasts = !done.isDone();
        device.hostWaits(done);
        return outlasts ? System.nanoTime() - start : NOT_TELLING;
    }

    private void submit(long bytes) {
        if (direction == Direction.TO_DEVICE) {
            device.copyToDevice(host, 0, slab, 0, bytes, NOTHING, done);
        } else {
            device.copyToHost(slab, 0, host, 0, bytes, NOTHING, done);
        }
    }

    private void prepare(long bytes) {
        long width = RegionArrays.elementBytes(type);
        if (!device.modelsInPlace() && (used == null || used.length() * width != bytes)) {
            used = RegionArrays.vector(host, (host.bytes() - bytes) / width, type, bytes / width, Support.rank2());
        }
    }

    private void compute(long bytes) {
        boolean reads = direction == Direction.TO_DEVICE;
        device.visitStarted(Device.NO_LAYER, !reads, reads ? bytes : 0, reads ? 0 : bytes);
        if (used != null) {
            // Whatever workspace is open is the network's.
            try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
                if (reads) {
                    used.sumNumber();
                } else {
                    used.assign(0);
                }
                RegionArrays.awaitComputation();
            }
        }
        device.visitEnded();
    }
}
