package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.HostBytes;
import org.memferry.device.HostMemory;
import org.memferry.device.HostMemoryMetrics;
import org.memferry.device.Region;
import org.memferry.report.Verification;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** When there is no room for a stock copy, and how a difference is named. */
class VerifierTest {

    private static final int INPUTS = 30;
    private static final int UNITS = 20;
    private static final int CLASSES = 4;
    private static final int PARAMETERS = INPUTS * UNITS + UNITS + UNITS * CLASSES + CLASSES;

    @TempDir
    Path empty;

    private static MultiLayerNetwork network() {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().updater(new Adam(0.1)).list()
                .layer(new DenseLayer.Builder().nOut(UNITS).build())
                .layer(new OutputLayer.Builder(LossFunction.MSE).nOut(CLASSES).updater(new Nesterovs(0.1)).build())
                .setInputType(InputType.feedForward(INPUTS)).build());
        net.init();
        net.setInput(Nd4j.ones(5, INPUTS));
        return net;
    }

    @ParameterizedTest
    @EnumSource(HostMemory.Kind.class)
    void a_host_without_room_for_the_copy_is_told_with_its_numbers_and_nothing_is_taken(HostMemory.Kind kind) {
        NetworkAdapter adapter = NetworkAdapter.of(network());
        HostMemory memory = HostMemory.read(empty).with(new HostMemory.Limit(kind, 40 << 20, 16 << 20));
        BlockLayout layout = HostBlocks.layoutOf(adapter.stockUpdater(null));
        long before = HostMemoryMetrics.peakAllocatedBytes();
        try (Verifier verifier = new Verifier(adapter, 2, () -> memory)) {
            verifier.opening(adapter.units(), null, null, null, layout, adapter.stockUpdater(null), null);
            verifier.closing(null, null);
            Verification found = verifier.verification();
            // Parameters and gradients, two moments of the first layer and one of the second; activations beside them.
            long arrays = 4L * (2 * PARAMETERS + 2 * (INPUTS * UNITS + UNITS) + UNITS * CLASSES + CLASSES);
            assertThat(found.notVerified()).hasValueSatisfying(reason -> assertThat(reason).contains("no room for a stock copy",
                    "updater state " + Sizes.exact(arrays), "margin 16.0 MB (16,777,216 bytes)",
                    kind.title() + " leaves 16.0 MB (16,777,216 bytes) of 40.0 MB"));
            assertThat(found.steps()).isZero();
            assertThat(found.difference()).isEmpty();
        }
        assertThat(HostMemoryMetrics.peakAllocatedBytes()).isEqualTo(before);
    }

    /** [m of W and b of layer 0 | v of them | velocity of W and b of layer 1]. */
    @Test
    void an_element_of_updater_state_is_named_by_rule_component_parameter_and_element() {
        NetworkAdapter adapter = NetworkAdapter.of(network());
        BlockLayout layout = HostBlocks.layoutOf(adapter.stockUpdater(null));
        StepComparison comparison = new StepComparison(adapter.units(), layout, Float.BYTES);
        int first = INPUTS * UNITS + UNITS;
        try (Device host = Devices.open("host");
                Region params = host.allocateHost(4L * PARAMETERS, "parameters"); Region same = host.allocateHost(4L * PARAMETERS, "the same");
                Region state = host.allocateHost(4 * layout.stateCount(), "state"); Region other = host.allocateHost(4 * layout.stateCount(), "other")) {
            assertThat(comparison.difference(params, same, state, other)).isNull();
            assertThat(comparison.difference(params, same, state, other, 0.5, 0.5)).isNull();
            assertThat(comparison.difference(params, same, state, other, Double.NaN, Double.NaN)).isNull();
            assertThat(comparison.difference(params, same, state, other, 0.5, 0.25))
                    .isEqualTo("the score is 0.5, in stock DL4J 0.25, while parameters and updater state are equal");
            assertThat(comparison.difference(params, same, state, other, 0.0, -0.0)).startsWith("the score is 0.0, in stock DL4J -0.0");
            for (Object[] at : List.of(new Object[] {2, "1 of 2 of parameter W of layer 0 (DenseLayer) differs first at element 2 of 600"},
                    new Object[] {first + INPUTS * UNITS + 3, "2 of 2 of parameter b of layer 0 (DenseLayer) differs first at element 3 of 20"},
                    new Object[] {2 * first + 79, "1 of 1 of parameter W of layer 1 (OutputLayer) differs first at element 79 of 80"},
                    new Object[] {2 * first + 83, "1 of 1 of parameter b of layer 1 (OutputLayer) differs first at element 3 of 4"})) {
                put(state, (Integer) at[0], 1.5f);
                assertThat(comparison.difference(params, same, state, other)).isEqualTo("updater state " + at[1] + ": 1.5 (bits 3fc00000), in "
                        + "stock DL4J 0.0 (bits 0); 0 of 704 parameters and 1 of 1324 values of updater state differ");
                put(state, (Integer) at[0], 0);
            }
            // Bits and not values: NaN is NaN, and zero has a sign.
            put(params, 7, Float.NaN);
            put(same, 7, Float.NaN);
            assertThat(comparison.difference(params, same, state, other)).isNull();
            put(params, 650, -0f);
            assertThat(comparison.difference(params, same, state, other)).startsWith("parameter W of layer 1 (OutputLayer) differs first at "
                    + "element 30 of 80: -0.0 (bits 80000000), in stock DL4J 0.0 (bits 0); 1 of 704 parameters");
        }
    }

    private static void put(Region region, int element, float value) {
        FloatPointer at = new FloatPointer(new PagedPointer(region.address() + 4L * element));
        at.put(0, value);
    }

    @Test
    void the_first_byte_that_differs_is_found_in_any_place() {
        HostBytes bytes = new HostBytes();
        int length = (1 << 20) + 333;
        try (Device host = Devices.open("host"); Region a = host.allocateHost(length, "a"); Region b = host.allocateHost(length, "b")) {
            assertThat(bytes.firstDifference(a.address(), b.address(), length)).isEqualTo(-1);
            BytePointer at = new BytePointer(new PagedPointer(a.address()));
            long whole = bytes.hash(a.address(), length);
            for (int place : new int[] {length - 1, (1 << 20) + 1, 1 << 20, (1 << 20) - 1, 4097, 1, 0}) {
                at.put(place, (byte) 1);
                assertThat(bytes.firstDifference(a.address(), b.address(), length)).isEqualTo(place);
                assertThat(bytes.hash(a.address(), length)).isNotEqualTo(whole);
            }
            assertThat(bytes.firstDifference(a.address(), b.address(), 0)).isEqualTo(-1);
            bytes.copy(a.address(), b.address(), length);
            assertThat(bytes.firstDifference(a.address(), b.address(), length)).isEqualTo(-1);
        }
    }
}
