package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.AddLifecycleHook;
import net.jqwik.api.lifecycle.BeforeTry;
import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.device.cuda.NeedsFakeCuda;
import org.memferry.device.cuda.KernelStream;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;

/**
 * Case A65. The rule of who wrote last: the master in host memory is the truth, whoever writes it raises its version, and a copy in a slot counts only
 * with the present one. Kernels on a stream, reads on the host and steps of the CPU, in any order, see what plain arrays would hold.
 */
@AddLifecycleHook(NeedsFakeCuda.class)
class WhoWroteLastTest {

    private static final int LAYERS = 3;
    private static final int COUNT = 64;

    /** What happens next. */
    enum Action {
        /** A kernel reads a layer's parameters, in a pass of inference. */
        KERNEL,
        /** The host reads all parameters. */
        READ,
        /** The host writes a layer's parameters. */
        WRITE,
        /** A training iteration: kernels read all layers and write gradients, the CPU takes the step. */
        STEP,
        /** A training iteration that is given up in the middle. */
        GIVEN_UP
    }

    /** An action on a layer. */
    static final class Move {

        final Action action;
        final int layer;

        Move(Action action, int layer) {
            this.action = action;
            this.layer = layer;
        }

        @Override
        public String toString() {
            return action + " " + layer;
        }
    }

    @Provide
    Arbitrary<List<Move>> moves() {
        return Combinators.combine(Arbitraries.of(Action.class), Arbitraries.integers().between(0, LAYERS - 1)).as(Move::new).list().ofMinSize(1)
                .ofMaxSize(12);
    }

    @BeforeTry
    void startRuntime() {
        FakeCuda.start();
    }

    @Property(tries = 1000)
    @Label("whoever reads parameters or gradients, on the card or on the host, sees what was written last")
    void everybody_sees_what_was_written_last(@ForAll("moves") List<Move> moves, @ForAll Placement placement, @ForAll boolean direct, @ForAll long seed) {
        FakeCuda.delays(seed, 20);
        try (KernelStream kernels = new KernelStream(); World world = new World(placement, direct ? GradientHome.DIRECT : GradientHome.SLOT, kernels)) {
            for (Move move : moves) {
                world.make(move);
            }
            world.hostReads();
        }
        FakeCuda.assertNothingWrong();
        FakeCuda.assertNothingHeld();
    }

    /** The engine on a card, and beside it plain arrays. */
    private static final class World implements AutoCloseable {

        private final KernelStream kernels;
        private final CudaDevice device;
        private final Plan plan;
        private final Program program;
        private final Region master;
        private final Region gradients;
        private final Region slab;
        private final Region activation;
        private final Region seen;
        private final IterationEngine engine;
        private final int[][] model = new int[LAYERS][COUNT];
        private int stamp;

        World(Placement placement, GradientHome home, KernelStream kernels) {
            this.kernels = kernels;
            plan = Scenario.chain(LAYERS, COUNT, placement, home, 2);
            program = Program.compile(plan);
            device = CudaDevice.builder(0).memory(1 << 20).compute(kernels).poison().build();
            master = device.allocateHost(plan.network().parameterBytes(), "parameters");
            gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
            slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
            activation = device.allocateSlab(4 * COUNT, "activation");
            seen = device.allocateHost(4 * COUNT, "seen");
            engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> { });
        }

        void make(Move move) {
            switch (move.action) {
                case KERNEL:
                    engine.openInference();
                    kernelSees(move.layer);
                    break;
                case READ:
                    hostReads();
                    break;
                case WRITE:
                    hostWrites(move.layer);
                    break;
                case STEP:
                    step(LAYERS);
                    break;
                default:
                    step(move.layer);
                    break;
            }
        }

        private int offset(int layer) {
            return Math.toIntExact(plan.network().layers().get(layer).offset());
        }

        private IntBuffer ints(Region region) {
            return RegionBytes.of(region).asIntBuffer();
        }

        private long addressOf(int layer, int slot) {
            return slot >= 0 ? slab.address() + program.slotOffset(slot) : master.address() + 4L * offset(layer);
        }

        /** What a kernel reads now is brought to the host and compared. */
        private void kernelSees(int layer) {
            kernels.kernel(addressOf(layer, engine.read(layer)), activation.address(), 4 * COUNT);
            kernels.kernel(activation.address(), seen.address(), 4 * COUNT);
            kernels.synchronize();
            FakeCuda.hostReads(seen.address(), seen.bytes());
            int[] found = new int[COUNT];
            ints(seen).get(found);
            assertThat(found).as("layer %d as a kernel sees it", layer).isEqualTo(model[layer]);
        }

        void hostReads() {
            int[] found = new int[LAYERS * COUNT];
            ints(master).get(found);
            for (int layer = 0; layer < LAYERS; layer++) {
                assertThat(Arrays.copyOfRange(found, offset(layer), offset(layer) + COUNT)).as("layer %d on the host", layer).isEqualTo(model[layer]);
            }
        }

        private void hostWrites(int layer) {
            engine.masterWritten(layer);
            for (int i = 0; i < COUNT; i++) {
                model[layer][i] = ++stamp;
            }
            write(layer);
        }

        private void write(int layer) {
            for (int i = 0; i < COUNT; i++) {
                ints(master).put(offset(layer) + i, model[layer][i]);
            }
        }

        /** Each gradient is the parameters as the kernel saw them, so that the step shows whether it saw the right ones. */
        private void step(int layersBeforeGivingUp) {
            List<Integer> order = new ArrayList<>();
            engine.openTraining();
            for (int layer : plan.network().forwardOrder()) {
                kernelSees(layer);
            }
            engine.forwardEnded();
            for (int layer : plan.network().backwardOrder()) {
                if (order.size() == layersBeforeGivingUp) {
                    engine.abort();
                    return;
                }
                order.add(layer);
                long from = addressOf(layer, engine.read(layer));
                int home = program.gradientSlot(layer);
                kernels.kernel(from, home >= 0 ? slab.address() + program.slotOffset(home) : gradients.address() + 4L * offset(layer), 4 * COUNT);
            }
            engine.awaitGradients();
            FakeCuda.hostReads(gradients.address(), gradients.bytes());
            for (int layer : order) {
                for (int i = 0; i < COUNT; i++) {
                    int gradient = ints(gradients).get(offset(layer) + i);
                    assertThat(gradient).as("gradient %d of layer %d", i, layer).isEqualTo(model[layer][i]);
                    model[layer][i] = 3 * model[layer][i] + gradient + ++stamp;
                }
                write(layer);
                engine.stepTaken(layer);
            }
            engine.closeTraining();
        }

        @Override
        public void close() {
            engine.close();
            if (slab != null) {
                slab.close();
            }
            for (Region region : new Region[] {seen, activation, gradients, master}) {
                region.close();
            }
            device.close();
        }
    }
}
