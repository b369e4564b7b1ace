package org.memferry.parity;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;

/**
 * With MemFerry's ND4J managers, where a slot is given back and overwritten with NaN as soon as DL4J closes a layer's workspace, networks
 * train like stock DL4J bit for bit, and no layer reads behind that. In one child program, since ND4J takes its managers once.
 */
class ManagedParityTest {

    private static final int STEPS = 3;
    private static final List<String> FAMILIES = List.of("zoo-lenet", "cnn-batch-norm", "mlp-weight-noise", "bidirectional-lstm",
            "graves-lstm-tbptt", "simple-rnn-last-step", "mask-zero", "time-distributed", "lstm-cached", "nested-wrappers", "samediff-layers",
            "frozen-cnn-prefix", "frozen-with-backprop", "frozen-in-graph", "residual", "multi-input-output", "dangling-branch", "self-attention",
            "attention-vertex-projected", "center-loss");

    private static String output;

    @BeforeAll
    static void run() throws IOException, InterruptedException {
        output = ChildJvm.with(ChildJvm.MANAGERS).run(Child.class);
    }

    static List<String> families() {
        return FAMILIES.stream().filter(name -> Families.runnable().contains(Families.named(name))).collect(Collectors.toList());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("families")
    void trainsBitIdenticallyToStockWithSlotsGivenBackWhenALayersWorkspaceCloses(String family) {
        assertThat(output).contains("PASSED " + family + System.lineSeparator());
    }

    /** The program. */
    static final class Child {

        private Child() {
        }

        /** @param args none */
        public static void main(String[] args) {
            for (String family : families()) {
                try {
                    train(Families.named(family));
                    System.out.println("PASSED " + family);
                } catch (Throwable e) {
                    System.out.println("FAILED " + family);
                    e.printStackTrace(System.out);
                }
            }
        }

        private static void train(Family family) {
            Model stock = family.newNetwork();
            ParityTest.initialise(stock);
            List<Snapshot> expected = new ArrayList<>();
            for (int step = 0; step < STEPS; step++) {
                family.fit(stock, step);
                expected.add(Snapshot.of(stock, family));
            }
            Model net = family.newNetwork();
            MemFerryConfig config = MemFerryConfig.builder().device("emulated:256MB,poison,delay=" + family.name().hashCode() + "/200")
                    .place("*", Placement.PREFETCH).placeGradient("*", GradientHome.SLOT).build();
            try (MemFerry ferry = MemFerry.init(net, config)) {
                for (int step = 0; step < STEPS; step++) {
                    family.fit(net, step);
                    expected.get(step).assertIdentical(Snapshot.of(net, family), "after step " + (step + 1));
                }
                assertThat(ferry.metrics().layerEndsTold()).as("ends of layers").isPositive();
                assertThat(ferry.metrics().planDeviations()).as("reads behind the end of a layer, or out of order").isZero();
            }
        }
    }
}
