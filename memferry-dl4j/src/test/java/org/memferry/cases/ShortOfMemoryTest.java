package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.HostMemoryMetrics;
import org.memferry.device.Region;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.device.host.HostDevice;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Where memory is short or an evaluation is larger than training. Cases A10, A13, B44. */
class ShortOfMemoryTest {

    private static final InputType INPUT = InputType.feedForward(Nets.INPUTS);

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    /** Case A13. */
    @Test
    void memory_that_is_not_there_is_refused_without_a_collection_and_nothing_stays_behind() {
        try (HostDevice device = new HostDevice()) {
            long allocated = HostMemoryMetrics.allocatedBytes();
            int regions = HostMemoryMetrics.liveRegions();
            long before = collections();
            assertThatThrownBy(() -> device.allocateHost(1L << 60, "parameters")).isInstanceOf(OutOfMemoryException.class);
            assertThat(collections() - before).as("collections that the failure asked for").isLessThanOrEqualTo(1);
            assertThat(HostMemoryMetrics.allocatedBytes()).isEqualTo(allocated);
            assertThat(HostMemoryMetrics.liveRegions()).isEqualTo(regions);
            assertThat(device.metrics().hostBytes()).isZero();
        }
    }

    /** Case B44. */
    @Test
    void a_region_of_no_bytes_is_no_error() {
        try (HostDevice device = new HostDevice(); Region region = device.allocateHost(0, "nothing")) {
            assertThat(region.bytes()).isZero();
            assertThat(region.isOpen()).isTrue();
        }
    }

    @Test
    void a_device_too_small_for_the_activations_of_an_evaluation_is_refused_with_nothing_taken() {
        Model net = Nets.layers(new Adam(1e-2));
        INDArray before = net.params().dup();
        try (Device device = EmulatedDevice.builder(24 << 10).build()) {
            MemFerryConfig fits = MemFerryConfig.builder().device(device).expect(Nets.BATCH, INPUT).build();
            MemFerry.attach(net, fits).close();
            assertThatThrownBy(() -> MemFerry.attach(net, MemFerryConfig.builder().device(device).expect(Nets.BATCH, INPUT)
                    .evaluate(100 * Nets.BATCH).build())).isInstanceOf(OutOfMemoryException.class).hasMessageContaining("Train with a smaller batch");
            assertThat(device.metrics().hostBytes()).isZero();
            assertThat(device.metrics().slabBytes()).isZero();
            assertThat(device.metrics().openRegions()).isZero();
        }
        assertThat(net.params()).isEqualTo(before);
    }

    /** Case A10. */
    @Test
    void evaluating_larger_batches_in_the_middle_of_training_takes_no_second_copy_and_changes_no_number() {
        MultiLayerNetwork stock = (MultiLayerNetwork) Nets.layers(new Adam(1e-2));
        MultiLayerNetwork net = (MultiLayerNetwork) Nets.layers(new Adam(1e-2));
        INDArray features = Nets.gaussian(5, 2 * Nets.BATCH, Nets.INPUTS);
        MemFerryConfig config = MemFerryConfig.builder().device("emulated:64KB").expect(Nets.BATCH, INPUT).evaluate(2 * Nets.BATCH).build();
        try (MemFerry ferry = MemFerry.attach(net, config)) {
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            long slab = ferry.metrics().device().slabBytes();
            long host = ferry.metrics().device().hostBytes();
            assertThat(net.output(features)).isEqualTo(stock.output(features));
            assertThat(ferry.metrics().device().peakSlabBytes()).as("slab").isEqualTo(slab);
            assertThat(ferry.metrics().device().peakHostBytes()).as("host regions").isEqualTo(host);
            Nets.train(stock, 2, 2);
            Nets.train(net, 2, 2);
            Numbers.assertSame(stock, net, "after an evaluation in between");
        }
    }
}
