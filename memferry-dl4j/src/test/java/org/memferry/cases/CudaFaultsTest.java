package org.memferry.cases;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.bytedeco.cuda.global.cudart;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.MemFerryException;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Every call of the CUDA runtime fails once, at every index it has in attaching, three iterations and closing. Whoever is hit says so clearly or
 * goes on by a fall-back; the network then is what the last complete step made it, the failed step can be taken again, nothing stays
 * taken, and the network can be attached anew.
 */
class CudaFaultsTest {

    private static final int STEPS = 3;
    /** {@code cudaErrorUnknown}: nothing that a fall-back exists for. */
    private static final int UNKNOWN = 999;
    private static final Set<String> ALLOCATIONS = Set.of("cudaMalloc", "cudaHostAlloc");

    private final List<INDArray> parameters = new ArrayList<>();
    private final List<INDArray> moments = new ArrayList<>();

    @BeforeEach
    void trainStock() {
        FakeCuda.start();
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        parameters.add(stock.params().dup());
        moments.add(null);
        for (int i = 0; i <= STEPS; i++) {
            Nets.train(stock, i, 1);
            parameters.add(stock.params().dup());
            moments.add(Nets.updaterState(stock).dup());
        }
    }

    private static MemFerryConfig config(boolean shapesKnown, boolean eager) {
        MemFerryConfig.Builder config = MemFerryConfig.builder().device("cuda:0,memory=1MB,poison")
                .place("0", Placement.RESIDENT).place("1", Placement.PREFETCH).place("2", Placement.DIRECT, Placement.PREFETCH)
                .place("3", Placement.PREFETCH).placeGradient("*", GradientHome.SLOT).placeGradient("2", GradientHome.DIRECT).eagerUpdate(eager).updateThreads(1);
        return shapesKnown ? config.expect(Nets.BATCH, InputType.feedForward(Nets.INPUTS)).build() : config.build();
    }

    @Test
    void everyCallFailsOnceAndNothingIsLost() throws IOException {
        Count count = new Count();
        // The plan is final at once; steps are taken after backward, so that a step that fails changes nothing at all.
        everyIndex(config(true, false), UNKNOWN, 1, count);
        // The plan is made final by the first iteration: the same calls, later.
        everyIndex(config(false, false), UNKNOWN, 9, count);
        for (String call : ALLOCATIONS) {
            everyIndexOf(call, callsOf(config(true, false)).get(call), config(true, false), FakeCuda.OUT_OF_MEMORY, 1, count);
        }
        String line = "RESULT name=cuda-faults calls=" + count.calls.size() + " indexes=" + count.indexes + " survived=" + count.survived
                + " leaked_bytes=" + FakeCuda.bytesHeld() + System.lineSeparator();
        Path target = Paths.get("target");
        Files.createDirectories(target);
        Files.writeString(target.resolve("cuda-faults.result"), line);
        assertThat(count.failures).isEmpty();
        assertThat(count.survived).isEqualTo(count.indexes);
        assertThat(count.indexes).isGreaterThan(100);
    }

    /** A step once taken cannot be taken back: then the network says that it is torn, trains no further and can be closed. */
    @Test
    void whereStepsAreTakenBesideBackwardTheNetworkIsAsItWasOrSaysThatItIsTorn() {
        MemFerryConfig config = config(true, true);
        Map<String, Integer> calls = callsOf(config);
        int hit = 0;
        for (String call : List.of("cudaMemcpyAsync", "cudaEventRecord", "cudaEventQuery", "cudaMemset")) {
            for (int index = 2; index <= calls.get(call); index += 5) {
                FakeCuda.start();
                FakeCuda.failOnce(call, index, UNKNOWN);
                surviveEagerly(config, call);
                hit += FakeCuda.faultsHit();
            }
        }
        assertThat(hit).isGreaterThan(20);
    }

    private void surviveEagerly(MemFerryConfig config, String call) {
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = attach(net, config, call)) {
            for (int step = 0; step < STEPS; step++) {
                try {
                    Nets.train(net, step, 1);
                } catch (MemFerryException e) {
                    assertClear(e, call);
                    if (!trainsAgain(net, step)) {
                        break;
                    }
                }
                assertState(net, step + 1, "after step " + step);
            }
        }
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    private boolean trainsAgain(MultiLayerNetwork net, int step) {
        boolean torn = isTorn(net, step);
        try {
            Nets.train(net, step, 1);
            assertThat(torn).as("a torn network trains on").isFalse();
            return true;
        } catch (MemFerryException e) {
            assertThat(e).hasMessageContaining("eagerUpdate(false)");
            return false;
        }
    }

    /** Each parameter is of the last complete step or of the one that failed. */
    private boolean isTorn(MultiLayerNetwork net, int step) {
        double[] before = Numbers.values(parameters.get(step));
        double[] after = Numbers.values(parameters.get(step + 1));
        double[] now = Numbers.values(net.params());
        boolean torn = false;
        for (int i = 0; i < now.length; i++) {
            assertThat(now[i]).as("parameter %d after step %d failed", i, step).isIn(before[i], after[i]);
            torn |= now[i] != before[i];
        }
        return torn;
    }

    private void everyIndex(MemFerryConfig config, int code, int stride, Count count) {
        for (Map.Entry<String, Integer> entry : callsOf(config).entrySet()) {
            everyIndexOf(entry.getKey(), entry.getValue(), config, code, stride, count);
        }
    }

    private void everyIndexOf(String call, int calls, MemFerryConfig config, int code, int stride, Count count) {
        for (int index = 1; index <= calls; index += stride) {
            String where = call + " " + index + " of " + calls + ", code " + code;
            FakeCuda.start();
            FakeCuda.failOnce(call, index, code);
            try {
                survive(config, call);
                if (FakeCuda.faultsHit() == 1) {
                    count.calls.add(call);
                    count.indexes++;
                    count.survived++;
                }
            } catch (RuntimeException | AssertionError e) {
                count.indexes++;
                count.failures.add(where + ": " + e);
            }
        }
    }

    /** How often each call is made if none fails. */
    private Map<String, Integer> callsOf(MemFerryConfig config) {
        FakeCuda.start();
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        try (MemFerry ferry = MemFerry.attach(net, config)) {
            Nets.train(net, 0, STEPS);
        }
        Map<String, Integer> calls = FakeCuda.calls();
        assertThat(calls).containsKeys("cudaMalloc", "cudaHostAlloc", "cudaMemcpyAsync", "cudaEventRecord", "cudaEventQuery");
        return calls;
    }

    private void survive(MemFerryConfig config, String call) {
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        MemFerry ferry = attach(net, config, call);
        try {
            for (int step = 0; step < STEPS; step++) {
                train(net, step, call);
            }
        } finally {
            ferry.close();
        }
        // How often the host has to block is a matter of pace: a call that was not reached must not fail in what follows.
        FakeCuda.failOnce(call, Integer.MAX_VALUE, UNKNOWN);
        assertState(net, STEPS, "after close");
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
        try (MemFerry again = MemFerry.attach(net, config)) {
            Nets.train(net, STEPS, 1);
        }
        assertState(net, STEPS + 1, "attached anew");
        assertThat(cudart.cudaPeekAtLastError()).as("error kept by the runtime").isZero();
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    private MemFerry attach(MultiLayerNetwork net, MemFerryConfig config, String call) {
        try {
            return MemFerry.attach(net, config);
        } catch (MemFerryException e) {
            assertClear(e, call);
            assertThat(MemFerry.of(net)).isNull();
            assertState(net, 0, "after attaching failed");
            FakeCuda.assertNothingHeld();
            return MemFerry.attach(net, config);
        }
    }

    private void train(MultiLayerNetwork net, int step, String call) {
        try {
            Nets.train(net, step, 1);
        } catch (RuntimeException e) {
            assertClear(e, call);
            assertState(net, step, "after step " + step + " failed");
            Nets.train(net, step, 1);
        }
        assertState(net, step + 1, "after step " + step);
    }

    private static void assertClear(RuntimeException e, String call) {
        assertThat(e).isInstanceOf(MemFerryException.class).hasMessageContaining(call);
        assertThat(e.getMessage()).containsPattern("\\d+ cudaError|refused it");
        assertThat(cudart.cudaPeekAtLastError()).as("error kept by the runtime").isZero();
    }

    private void assertState(MultiLayerNetwork net, int steps, String when) {
        assertThat(net.getIterationCount()).as("iteration count %s", when).isEqualTo(steps);
        Numbers.assertSame(parameters.get(steps), net.params(), "parameters " + when);
        if (steps > 0) {
            Numbers.assertSame(moments.get(steps), Nets.updaterState(net), "updater state " + when);
        }
    }

    private static final class Count {

        private final Set<String> calls = new TreeSet<>();
        private final List<String> failures = new ArrayList<>();
        private int indexes;
        private int survived;
    }
}
