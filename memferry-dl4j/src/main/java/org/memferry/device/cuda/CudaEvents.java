package org.memferry.device.cuda;

import java.lang.ref.Cleaner;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.global.cudart;

/**
 * The events of one device: made without timing, which is what makes them cheap, used again for later tickets, destroyed with the device.
 * A plan makes its tickets once, so that a plan that takes another's place finds the events of the one before here.
 */
final class CudaEvents {

    private static final Cleaner CLEANER = Cleaner.create();
    /** Whoever waits on the host sleeps: beside it the optimizer needs the processor. */
    private static final int FLAGS = cudart.cudaEventDisableTiming | cudart.cudaEventBlockingSync;

    private final CudaCalls calls;
    private final List<CUevent_st> all = new ArrayList<>();
    private final Deque<CUevent_st> unused = new ArrayDeque<>();

    CudaEvents(CudaCalls calls) {
        this.calls = calls;
    }

    /** An event for a new ticket of a device. */
    synchronized CudaTicket ticketOf(CudaDevice device) {
        CUevent_st event = unused.isEmpty() ? make() : unused.pop();
        CudaTicket ticket = new CudaTicket(device, event);
        CLEANER.register(ticket, () -> giveBack(event));
        return ticket;
    }

    private CUevent_st make() {
        CUevent_st event = new CUevent_st();
        int code = cudart.cudaEventCreateWithFlags(event, FLAGS);
        if (code != cudart.cudaSuccess) {
            throw calls.failed(code, "cudaEventCreateWithFlags(without timing)");
        }
        all.add(event);
        return event;
    }

    private synchronized void giveBack(CUevent_st event) {
        unused.push(event);
    }

    /** Destroys all of them; no ticket is used after that. */
    synchronized void close() {
        for (CUevent_st event : all) {
            calls.giveBack("cudaEventDestroy", () -> cudart.cudaEventDestroy(event));
        }
        all.clear();
        unused.clear();
    }
}
