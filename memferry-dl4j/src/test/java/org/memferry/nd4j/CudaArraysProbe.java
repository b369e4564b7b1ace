package org.memferry.nd4j;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;

import org.bytedeco.javacpp.BytePointer;
import org.memferry.device.Address;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Makes arrays as for ND4J's CUDA backend while the CPU's computes: of a buffer's two sides that one keeps the primary alone, and its
 * operations do not ask what class an array is of. Loaded beside {@link CudaClassesTest}'s own classes.
 */
public final class CudaArraysProbe implements Callable<Map<String, Object>> {

    private final CudaArrays arrays = new CudaArrays();
    private final Map<String, Object> found = new LinkedHashMap<>();

    @Override
    public Map<String, Object> call() {
        try (EmulatedDevice device = EmulatedDevice.builder(4096).build(); Region master = device.allocateHost(1024, "parameters");
                Region slab = device.allocateSlab(1024, "slots"); Region scratch = device.allocateHost(256, "scratch")) {
            direct(master);
            tracked(master);
            slot(slab, scratch);
        }
        return found;
    }

    private static ArrayFactory.Layout matrix() {
        return new ArrayFactory.Layout(new long[] {3, 4}, new long[] {1, 3}, 'f');
    }

    private void direct(Region master) {
        INDArray array = arrays.host(master, 16, DataType.FLOAT, matrix(), null);
        array.assign(2.5);
        ByteBuffer memory = new BytePointer(new Address().at(master.address())).capacity(1024).asByteBuffer().order(ByteOrder.nativeOrder());
        found.put("before", memory.getFloat(60));
        found.put("first", memory.getFloat(64));
        found.put("last", memory.getFloat(108));
        found.put("behind", memory.getFloat(112));
        found.put("type", array.getClass().getSimpleName());
        found.put("closeable", array.closeable());
        found.put("in place", arrays.isInPlace(array));
        found.put("host address", arrays.hostAddress(array) - master.address());
        found.put("first element", arrays.firstElement(array) - master.address());
        found.put("buffer start", arrays.bufferStart(array) - master.address());
        found.put("copy can be closed", array.dup().closeable());
    }

    private void tracked(Region master) {
        AtomicInteger uses = new AtomicInteger();
        INDArray array = arrays.host(master, 64, DataType.FLOAT, matrix(), uses::incrementAndGet);
        int made = uses.get();
        array.putScalar(0, 0, 1.0);
        int written = uses.get();
        array.getRow(0).muli(2);
        found.put("uses told", made == 0 && written > made && uses.get() > written);
    }

    private void slot(Region slab, Region scratch) {
        INDArray array = arrays.slot(slab, 0, scratch, 8, DataType.FLOAT, matrix());
        array.assign(1);
        arrays.written(array);
        found.put("slot's primary side", array.data().address() - scratch.address());
        // This backend dropped the special side, as the other one does when it moves an array.
        found.put("slot in place", arrays.isInPlace(array));
    }
}
