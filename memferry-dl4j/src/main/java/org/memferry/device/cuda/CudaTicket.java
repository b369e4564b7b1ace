package org.memferry.device.cuda;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.memferry.device.Ticket;

/** An event of CUDA, borrowed from its device's pool: it goes back there once nobody can wait for the ticket any more. */
final class CudaTicket implements Ticket {

    private final CudaDevice device;
    private final CUevent_st event;
    /** False until the event is first recorded for this ticket, and where the ticket stands for what the host has done already. */
    private volatile boolean recorded;

    CudaTicket(CudaDevice device, CUevent_st event) {
        this.device = device;
        this.event = event;
    }

    boolean isOf(CudaDevice other) {
        return device == other;
    }

    CUevent_st event() {
        return event;
    }

    boolean isRecorded() {
        return recorded;
    }

    void recorded() {
        recorded = true;
    }

    void recordedDone() {
        recorded = false;
    }

    @Override
    public boolean isDone() {
        return !recorded || device.isReached(event);
    }
}
