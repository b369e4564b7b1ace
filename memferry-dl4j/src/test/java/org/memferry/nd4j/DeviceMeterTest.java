package org.memferry.nd4j;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.MirroringPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.concurrent.atomic.AtomicLong;

import static org.assertj.core.api.Assertions.assertThat;

class DeviceMeterTest {

    private static final int FLOATS = 1 << 20;
    private static final long BYTES = (long) FLOATS * Float.BYTES;
    /** What ND4J itself may allocate or collect meanwhile. */
    private static final long SLACK = 64 << 10;

    @BeforeEach
    void settle() {
        DeviceMeter.settle();
    }

    @Test
    void anOrdinaryArrayCountsFromItsCreationToItsEnd() {
        try (DeviceMeter meter = DeviceMeter.start(() -> 0)) {
            long before = meter.current().arrayBytes();
            INDArray array = Nd4j.create(DataType.FLOAT, FLOATS);
            meter.sample();
            assertThat(meter.current().arrayBytes() - before).isBetween(BYTES - SLACK, BYTES + SLACK);
            array.close();
            assertThat(meter.current().arrayBytes() - before).isLessThan(SLACK);
            assertThat(meter.peak().arrayBytes() - before).isBetween(BYTES - SLACK, BYTES + SLACK);
            meter.restart();
            assertThat(meter.peak().arrayBytes() - before).isLessThan(SLACK);
        }
    }

    @Test
    void aPeakBetweenTwoSamplesIsSeenByTheThread() throws InterruptedException {
        AtomicLong slab = new AtomicLong();
        try (DeviceMeter meter = DeviceMeter.start(slab::get)) {
            slab.set(BYTES);
            Thread.sleep(200);
            slab.set(0);
            assertThat(meter.current().slabBytes()).isZero();
            assertThat(meter.peak().slabBytes()).isEqualTo(BYTES);
            assertThat(meter.peak().totalBytes()).isGreaterThanOrEqualTo(BYTES);
        }
    }

    @Test
    void aWorkspaceCountsWithItsSizeAndWhileItLearnsWithWhatItHandedOut() {
        WorkspaceConfiguration learning = WorkspaceConfiguration.builder().initialSize(0).policyLearning(LearningPolicy.FIRST_LOOP).build();
        try (DeviceMeter meter = DeviceMeter.start(() -> 0)) {
            for (int round = 0; round < 2; round++) {
                try (MemoryWorkspace scope = Nd4j.getWorkspaceManager().getAndActivateWorkspace(learning, "METER")) {
                    Nd4j.create(DataType.FLOAT, FLOATS);
                    meter.sample();
                    assertThat(meter.current().workspaceBytes()).as("round %d", round).isBetween(BYTES, 2 * BYTES);
                }
            }
            assertThat(meter.current().workspaceBytes()).as("between two rounds").isBetween(BYTES, 2 * BYTES);
            DeviceMeter.settle();
            meter.sample();
            assertThat(meter.current().workspaceBytes()).as("destroyed").isZero();
        }
    }

    @Test
    void aWorkspaceInHostMemoryDoesNotCount() {
        WorkspaceConfiguration host = WorkspaceConfiguration.builder().initialSize(2 * BYTES).policyLearning(LearningPolicy.NONE)
                .policyMirroring(MirroringPolicy.HOST_ONLY).build();
        try (DeviceMeter meter = DeviceMeter.start(() -> 0);
                MemoryWorkspace scope = Nd4j.getWorkspaceManager().getAndActivateWorkspace(host, "METER_HOST")) {
            long before = meter.current().arrayBytes();
            Nd4j.create(DataType.FLOAT, FLOATS);
            meter.sample();
            assertThat(meter.current().workspaceBytes()).isZero();
            assertThat(meter.current().arrayBytes() - before).isLessThan(SLACK);
        }
    }
}
