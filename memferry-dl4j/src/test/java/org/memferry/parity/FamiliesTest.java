package org.memferry.parity;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Every family trains in stock DL4J and does so twice alike: without that, no comparison with MemFerry would mean anything. */
class FamiliesTest {

    private static final int STEPS = 5;

    static List<Family> families() {
        return Families.runnable();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("families")
    void twoStockNetworksTrainedAlikeMoveTheirParametersAndAgreeInEveryBit(Family family) {
        Model first = initialised(family);
        Model second = initialised(family);
        INDArray before = first.params().dup();

        train(first, family);
        train(second, family);

        assertThat(differing(before, first.params())).as("parameters that moved").isPositive();
        assertSameBits(first.params(), second.params(), "parameters");
        assertSameBits(updaterState(first), updaterState(second), "updater state");
        assertThat(first.score()).as("score").isEqualTo(second.score());

        INDArray output = family.output(first);
        assertThat(output.sumNumber().doubleValue()).as("sum of the output").isFinite();
        assertSameBits(output, family.output(second), "output");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("families")
    void aFamilyIsSmallAndSpreadsItsParametersOverAtLeastFourLayers(Family family) {
        Model network = initialised(family);

        assertThat(network.numParams()).isBetween(1_000L, 200_000L);
        assertThat(layersWithParameters(network)).isGreaterThanOrEqualTo(4);
    }

    @Test
    void namesAreUniqueAndFindTheirFamily() {
        assertThat(Families.all()).extracting(Family::name).doesNotHaveDuplicates();
        assertThat(Families.all()).allSatisfy(family -> assertThat(Families.named(family.name())).isSameAs(family));
    }

    private static Model initialised(Family family) {
        Model network = family.newNetwork();
        network.init();
        return network;
    }

    private static void train(Model network, Family family) {
        for (int step = 0; step < STEPS; step++) {
            family.fit(network, step);
            assertThat(network.score()).as("score of step %d", step).isFinite();
        }
    }

    private static long layersWithParameters(Model network) {
        return network instanceof MultiLayerNetwork
                ? Arrays.stream(((MultiLayerNetwork) network).getLayers()).filter(layer -> layer.numParams() > 0).count()
                : Arrays.stream(((ComputationGraph) network).getVertices()).filter(vertex -> vertex.numParams() > 0).count();
    }

    private static INDArray updaterState(Model network) {
        return network instanceof MultiLayerNetwork
                ? ((MultiLayerNetwork) network).getUpdater().getStateViewArray()
                : ((ComputationGraph) network).getUpdater().getStateViewArray();
    }

    private static void assertSameBits(INDArray first, INDArray second, String what) {
        if (first == null || second == null) {
            assertThat(first).as(what).isSameAs(second);
            return;
        }
        assertThat(first.shape()).as("shape of the " + what).isEqualTo(second.shape());
        assertThat(differing(first, second)).as(what + " that differ").isZero();
    }

    /** Elements whose bits differ. Widening FLOAT to double is exact, so one comparison serves both types. */
    private static long differing(INDArray first, INDArray second) {
        double[] left = first.dup('c').data().asDouble();
        double[] right = second.dup('c').data().asDouble();
        long count = 0;
        for (int i = 0; i < left.length; i++) {
            if (Double.doubleToRawLongBits(left[i]) != Double.doubleToRawLongBits(right[i])) {
                count++;
            }
        }
        return count;
    }
}
