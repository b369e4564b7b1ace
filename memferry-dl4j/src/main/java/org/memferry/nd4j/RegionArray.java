package org.memferry.nd4j;

import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.cpu.nativecpu.NDArray;

/** An array of the CPU backend over memory of ours. Cannot be closed: {@code net.close()} would take it from under the ferry. */
class RegionArray extends NDArray {

    private static final long serialVersionUID = 1L;

    RegionArray(DataBuffer buffer, long[] shape, long[] stride, char ordering, DataType type) {
        super(buffer, shape, stride, 0, ordering, type);
    }

    @Override
    public boolean closeable() {
        return false;
    }
}
