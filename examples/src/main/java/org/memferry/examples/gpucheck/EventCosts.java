package org.memferry.examples.gpucheck;

import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;

/** What ordering costs the host: the calls that MemFerry makes for each layer it serves. */
final class EventCosts {

    private final Runtime runtime;
    private final Pace pace;

    EventCosts(Runtime runtime, Pace pace) {
        this.runtime = runtime;
        this.pace = pace;
    }

    void run(Report report) {
        CUstream_st first = runtime.stream();
        CUstream_st second = runtime.stream();
        CUevent_st event = runtime.event();
        long host = runtime.pinnedMemory(4096);
        long device = runtime.deviceMemory(4096);
        Report.Table table = report.table("Calls", "Nanoseconds of the host's time. Round trip: record, wait for the event on the other stream, copy 4 KB"
                + " there, and block until that is done.", "call", "nanoseconds");
        Runnable record = () -> Runtime.check("cudaEventRecord", cudart.cudaEventRecord(event, first));
        Runnable await = () -> {
            Runtime.synchronize(first);
            Runtime.synchronize(second);
        };
        table.row("cudaEventRecord", pace.nanos(record, await));
        Runnable wait = () -> Runtime.check("cudaStreamWaitEvent", cudart.cudaStreamWaitEvent(second, event, 0));
        table.row("cudaStreamWaitEvent", pace.nanos(wait, await));
        table.row("cudaEventQuery of a reached event", pace.nanos(() -> Runtime.check("cudaEventQuery", cudart.cudaEventQuery(event)), await));
        table.row("cudaMemcpyAsync of 4 KB, given to the stream", pace.nanos(() -> Runtime.copy(host, device, 4096, first), await));
        table.row("round trip", pace.nanos(() -> {
            record.run();
            wait.run();
            Runtime.copy(host, device, 4096, second);
            Runtime.synchronize(second);
        }, await));
    }
}
