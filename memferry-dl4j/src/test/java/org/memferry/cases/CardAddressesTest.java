package org.memferry.cases;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.device.cuda.FakeCuda;
import org.nd4j.linalg.api.concurrency.AffinityManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/** Arrays over pinned memory stay where they are, whatever a user asks ND4J to do with them, and show what was written last. */
class CardAddressesTest {

    private static MemFerryConfig config() {
        return MemFerryConfig.builder().device("cuda:0,memory=1MB,poison").build();
    }

    /** Case A64. */
    @Test
    void ensureLocationDupAndAssignMoveNoArrayOfTheNetwork() {
        FakeCuda.start();
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config())) {
            long params = address(net.params());
            long weights = address(net.getParam("2_W"));
            for (int step = 0; step < 3; step++) {
                for (AffinityManager.Location location : AffinityManager.Location.values()) {
                    Nd4j.getAffinityManager().ensureLocation(net.params(), location);
                    Nd4j.getAffinityManager().ensureLocation(net.getParam("2_W"), location);
                }
                net.getParam("2_W").assign(net.getParam("2_W").dup());
                assertThat(address(net.params())).isEqualTo(params);
                assertThat(address(net.getParam("2_W"))).isEqualTo(weights);
                Nets.train(net, step, 1);
                Nets.train(stock, step, 1);
                assertThat(address(net.params())).as("after step %d", step).isEqualTo(params);
                Numbers.assertSame(stock, net, "after step " + step);
            }
            assertThat(ferry.isOpen()).isTrue();
        }
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    private static long address(INDArray array) {
        return array.data().pointer().address() + array.offset() * array.data().getElementSize();
    }

    /** Case A65 through DL4J: what the network computes, what a user reads, what a user writes, and steps, in random order. */
    @Test
    void computationReadsWritesAndStepsInAnyOrderSeeWhatWasWrittenLast() {
        FakeCuda.start();
        FakeCuda.delays(7, 100);
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        Random random = new Random(7);
        try (MemFerry ferry = MemFerry.attach(net, config())) {
            for (int i = 0; i < 200; i++) {
                String key = random.nextInt(4) + (random.nextBoolean() ? "_W" : "_b");
                switch (random.nextInt(4)) {
                    case 0:
                        Numbers.assertSame(stock.output(Nets.batch(i).getFeatures()), net.output(Nets.batch(i).getFeatures()), "output " + i);
                        break;
                    case 1:
                        Numbers.assertSame(stock.getParam(key), net.getParam(key), key + " at " + i);
                        break;
                    case 2:
                        stock.getParam(key).muli(1.01);
                        net.getParam(key).muli(1.01);
                        break;
                    default:
                        Nets.train(stock, i, 1);
                        Nets.train(net, i, 1);
                        break;
                }
            }
            Numbers.assertSame(stock.params(), net.params(), "parameters at the end");
            assertThat(ferry.isOpen()).isTrue();
        }
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }
}
