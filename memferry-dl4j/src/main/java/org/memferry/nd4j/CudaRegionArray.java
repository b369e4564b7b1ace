package org.memferry.nd4j;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.jcublas.JCublasNDArray;

/** An array of the CUDA backend over memory of ours. Cannot be closed: {@code net.close()} would take it from under the ferry. */
class CudaRegionArray extends JCublasNDArray {

    private static final long serialVersionUID = 1L;

    /** Null in a deserialised copy, which has memory of its own. */
    private final transient ArrayMemory memory;

    CudaRegionArray(DataBuffer buffer, ArrayFactory.Layout layout, ArrayMemory memory) {
        super(buffer, layout.shape, layout.stride, 0, layout.ordering, memory.type());
        this.memory = memory;
    }

    @Override
    public boolean closeable() {
        return false;
    }

    /** Says again which side is the latest: ND4J's counters know nothing of copies that are not its own. */
    final void tag() {
        Nd4j.getAffinityManager().tagLocation(data, memory.latest());
    }

    /** False once ND4J has moved the buffer, as it does for a thread that computes on another card. */
    final boolean isInPlace() {
        return data.platformAddress() == memory.special() && data.address() == memory.primary();
    }
}
