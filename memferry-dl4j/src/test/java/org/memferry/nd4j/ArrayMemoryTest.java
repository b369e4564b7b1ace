package org.memferry.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.concurrency.AffinityManager.Location;

/** Where both sides of an array of the CUDA backend are, and which of them is the latest. */
class ArrayMemoryTest {

    private final Device device = EmulatedDevice.builder(4096).build();
    private final Region master = device.allocateHost(1000, "parameters");
    private final Region slab = device.allocateSlab(2048, "slots");
    private final Region scratch = device.allocateHost(400, "host side of parameter slots");

    @AfterEach
    void close() {
        scratch.close();
        slab.close();
        master.close();
        device.close();
    }

    @Test
    void whatIsReadInPlaceHasOneAddressAndBothSidesAreTheLatest() {
        ArrayMemory memory = ArrayMemory.direct(master, 30, 20, DataType.FLOAT);
        assertThat(memory.primary()).isEqualTo(memory.special()).isEqualTo(master.address() + 120);
        assertThat(memory.isDirect()).isTrue();
        assertThat(memory.latest()).isEqualTo(Location.EVERYWHERE);
    }

    @Test
    void aSlotsHostSideIsScratchAndNeverTheMaster() {
        ArrayMemory memory = ArrayMemory.slot(slab, 64, scratch, 10, 40, DataType.DOUBLE);
        assertThat(memory.special()).isEqualTo(slab.address() + 512);
        assertThat(memory.primary()).isEqualTo(scratch.address() + 80);
        assertThat(memory.isDirect()).isFalse();
        assertThat(memory.latest()).isEqualTo(Location.DEVICE);
    }

    @Test
    void neitherSideReachesBeyondItsRegion() {
        assertThat(ArrayMemory.direct(master, 249, 1, DataType.FLOAT).primary()).isEqualTo(master.address() + 996);
        assertThatThrownBy(() -> ArrayMemory.direct(master, 249, 2, DataType.FLOAT)).hasMessageContaining("'parameters' of 1000 bytes");
        assertThatThrownBy(() -> ArrayMemory.direct(master, -1, 2, DataType.FLOAT)).hasMessageContaining("-1 to 1");
        assertThatThrownBy(() -> ArrayMemory.slot(slab, 0, scratch, 61, 40, DataType.FLOAT)).hasMessageContaining("'host side of parameter slots'");
        assertThatThrownBy(() -> ArrayMemory.slot(slab, 256, scratch, 0, 1, DataType.DOUBLE)).hasMessageContaining("'slots'");
        assertThatThrownBy(() -> ArrayMemory.direct(master, Long.MAX_VALUE / 2, 1, DataType.DOUBLE)).isInstanceOf(ArithmeticException.class);
    }

    @Test
    void aPointerCountsElements() {
        Pointer pointer = ArrayMemory.pointer(master.address(), 20, DataType.FLOAT);
        assertThat(pointer).isInstanceOf(FloatPointer.class);
        assertThat(pointer.address()).isEqualTo(master.address());
        assertThat(pointer.capacity()).isEqualTo(20);
    }
}
