package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.nd4j.linalg.learning.config.Adam;

import java.util.Random;
import java.util.function.IntFunction;

/**
 * B70: copies that are late at random, in any plan, change no number. The network has so little arithmetic that the computation is always
 * ahead of the copies, slots are poisoned with NaN as soon as they are free, and steps are taken while backward goes on.
 */
class LateCopiesTest {

    private static final int RUNS = 500;
    private static final int RUNS_ON_A_CARD = 100;
    private static final int STEPS = 3;

    @Test
    void fiveHundredRunsWithLateCopiesEqualTheSynchronousOne() {
        compare(RUNS, seed -> "emulated:1MB,poison,delay=" + seed + "/300");
    }

    /** On the CUDA runtime for tests, which also checks that copies, fills and what is given back are ordered by events. */
    @Test
    void aHundredRunsWithLateCopiesOnACardEqualTheSynchronousOne() {
        FakeCuda.start();
        compare(RUNS_ON_A_CARD, seed -> {
            FakeCuda.assertNothingHeld();
            FakeCuda.delays(seed, 300);
            // Every tenth run the streams are held up by the device's own option.
            return "cuda:0,memory=1MB,poison" + (seed % 10 == 0 ? ",delay=" + seed + "/300" : "");
        });
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    private static void compare(int runs, IntFunction<String> device) {
        Model synchronous = Nets.Kind.LAYERS.create(new Adam(1e-2));
        try (MemFerry ferry = MemFerry.attach(synchronous, MemFerryConfig.defaults())) {
            Nets.train(synchronous, 0, STEPS);
        }
        for (int seed = 0; seed < runs; seed++) {
            Model net = Nets.Kind.values()[seed % 2].create(new Adam(1e-2));
            try (MemFerry ferry = MemFerry.attach(net, config(seed, device.apply(seed)))) {
                Nets.train(net, 0, STEPS);
                Numbers.assertSame(synchronous, net, "run " + seed);
            }
        }
    }

    private static MemFerryConfig config(int seed, String device) {
        Random random = new Random(seed);
        MemFerryConfig.Builder config = MemFerryConfig.builder().device(device);
        for (int layer = 0; layer < 4; layer++) {
            Placement forward = Placement.values()[random.nextInt(3)];
            Placement backward = forward == Placement.RESIDENT ? forward : Placement.values()[1 + random.nextInt(2)];
            config.place(String.valueOf(layer), forward, backward)
                    .placeGradient(String.valueOf(layer), random.nextInt(4) == 0 ? GradientHome.DIRECT : GradientHome.SLOT);
        }
        return config.parameterSlots(2 + random.nextInt(2)).updateThreads(1 + random.nextInt(2)).build();
    }
}
