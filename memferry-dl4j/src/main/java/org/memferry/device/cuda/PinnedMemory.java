package org.memferry.device.cuda;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.Pointer;
import org.memferry.device.Address;
import org.memferry.device.DeviceMetrics;
import org.memferry.device.NativeMemory;
import org.memferry.device.Regions;
import org.memferry.base.Sizes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Host memory that a card can address: pinned by {@code cudaHostAlloc} to the exact size; where the system refuses that, ordinary memory that
 * is registered with the card; where it refuses that too, ordinary memory. From the last the card can only copy, and slower, since the
 * driver stages it. Both fall-backs are counted, and logged once per device.
 */
final class PinnedMemory {

    private static final Logger LOG = LoggerFactory.getLogger(PinnedMemory.class);

    private final CudaCalls calls;
    private final String device;
    private final DeviceMetrics metrics;
    private final boolean registeredAddressesHold;
    private final Runnable beforeRelease;
    private final Set<Long> notAddressable = ConcurrentHashMap.newKeySet();
    private boolean registrationLogged;
    private boolean pageableLogged;

    /**
     * @param registeredAddressesHold whether the card addresses registered memory as the host does
     * @param beforeRelease           waits until nothing uses any memory any more
     */
    PinnedMemory(CudaCalls calls, String device, DeviceMetrics metrics, boolean registeredAddressesHold, Runnable beforeRelease) {
        this.calls = calls;
        this.device = device;
        this.metrics = metrics;
        this.registeredAddressesHold = registeredAddressesHold;
        this.beforeRelease = beforeRelease;
    }

    /** Whether the card can read and write a block in place, at the host's address. */
    boolean isAddressable(long address) {
        return !notAddressable.contains(address);
    }

    /** Takes zeroed memory; see the class. */
    Regions.Memory take(long bytes, String purpose) {
        Address pinned = new Address();
        int code = cudart.cudaHostAlloc(pinned, Math.max(1, bytes), cudart.cudaHostAllocMapped | cudart.cudaHostAllocPortable);
        if (code == cudart.cudaSuccess) {
            Pointer.memset(pinned, 0, bytes);
            return new Pinned(pinned);
        }
        if (code != cudart.cudaErrorMemoryAllocation && code != cudart.cudaErrorNotSupported) {
            throw calls.failed(code, "cudaHostAlloc(" + bytes + " bytes for " + purpose + ", mapped and portable)");
        }
        return register(bytes, purpose, CudaCalls.name(code));
    }

    private Regions.Memory register(long bytes, String purpose, String cause) {
        NativeMemory memory = NativeMemory.zeroed(bytes, purpose);
        int code = bytes == 0 ? cudart.cudaSuccess : cudart.cudaHostRegister(new Address().at(memory.address()), bytes,
                cudart.cudaHostRegisterMapped | cudart.cudaHostRegisterPortable);
        if (code != cudart.cudaSuccess) {
            String second = CudaCalls.name(code);
            metrics.pinningRefused();
            logPageable(bytes, purpose, cause, second);
            notAddressable.add(memory.address());
            return new Ordinary(memory, false);
        }
        metrics.pinnedByRegistration();
        logRegistration(bytes, purpose, cause);
        if (!registeredAddressesHold) {
            notAddressable.add(memory.address());
        }
        return new Ordinary(memory, bytes > 0);
    }

    private synchronized void logRegistration(long bytes, String purpose, String cause) {
        if (!registrationLogged) {
            registrationLogged = true;
            LOG.warn("{}: cudaHostAlloc refused {} for {} ({}): ordinary memory is registered with the card in its place, here and wherever that"
                    + " happens again", device, Sizes.exact(bytes), purpose, cause);
        }
    }

    private synchronized void logPageable(long bytes, String purpose, String first, String second) {
        if (!pageableLogged) {
            pageableLogged = true;
            LOG.warn("{}: {} for {} could not be pinned (cudaHostAlloc: {}, cudaHostRegister: {}): the driver stages its copies, which is slower, and"
                    + " nothing in it can be read in place. Raise the limit of locked memory (ulimit -l) or the container's memory.", device,
                    Sizes.exact(bytes), purpose, first, second);
        }
    }

    private final class Pinned implements Regions.Memory {

        private final Address block;

        Pinned(Address block) {
            this.block = block;
        }

        @Override
        public long address() {
            return block.address();
        }

        @Override
        public boolean isPinned() {
            return true;
        }

        @Override
        public void free() {
            beforeRelease.run();
            calls.giveBack("cudaFreeHost", () -> cudart.cudaFreeHost(block));
        }
    }

    private final class Ordinary implements Regions.Memory {

        private final NativeMemory memory;
        private final boolean registered;

        Ordinary(NativeMemory memory, boolean registered) {
            this.memory = memory;
            this.registered = registered;
        }

        @Override
        public long address() {
            return memory.address();
        }

        @Override
        public long allocatedBytes(long asked) {
            return memory.allocatedBytes(asked);
        }

        @Override
        public boolean isPinned() {
            return registered;
        }

        @Override
        public void free() {
            beforeRelease.run();
            if (registered) {
                calls.giveBack("cudaHostUnregister", () -> cudart.cudaHostUnregister(new Address().at(memory.address())));
            }
            notAddressable.remove(memory.address());
            memory.free();
        }
    }
}
