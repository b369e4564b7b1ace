package org.memferry.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

import org.memferry.device.Region;
import org.memferry.device.RegionBytes;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.Plan;

/**
 * Stands in for DL4J: reads parameters, writes gradients and steps in the order that DL4J does, and in the disorders that users cause
 * (layers not read, read again, iterations given up, masters written in between). Checks every slot it is handed: by the model of
 * {@link OrderCheckingDevice}, and byte for byte where the device has real memory.
 */
final class TrainingDouble implements AutoCloseable {

    private final OrderCheckingDevice device;
    private final boolean realMemory;
    private final Program program;
    private final Plan plan;
    private final Region master;
    private final Region gradients;
    private final Region slab;
    private final ByteBuffer masterBytes;
    private final ByteBuffer gradientBytes;
    private final ByteBuffer slabBytes;
    private final IterationEngine engine;
    private final Random random;
    private final long ticketsAtStart;
    private final int[] expectedGradient;

    private Accesses accesses = Accesses.UNSEEN;
    private int stamp;
    private int presentLayer = -1;
    private int presentSlot = Program.MASTER;
    private long slotReads;

    /** Who is told where the computation and the host read and write. */
    interface Accesses {

        Accesses UNSEEN = new Accesses() {
            @Override
            public void reads(long address, long bytes) {
                // Nobody looks.
            }

            @Override
            public void writes(long address, long bytes) {
                // Nobody looks.
            }
        };

        void reads(long address, long bytes);

        void writes(long address, long bytes);
    }

    TrainingDouble(Plan plan, OrderCheckingDevice device, boolean realMemory, long seed) {
        this.plan = plan;
        this.device = device;
        this.realMemory = realMemory;
        this.program = Program.compile(plan);
        this.random = new Random(seed);
        device.serve(program);
        master = device.allocateHost(plan.network().parameterBytes(), "parameters");
        gradients = device.allocateHost(plan.network().parameterBytes(), "gradients");
        slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
        masterBytes = realMemory ? RegionBytes.of(master) : null;
        gradientBytes = realMemory ? RegionBytes.of(gradients) : null;
        slabBytes = realMemory && slab != null ? RegionBytes.of(slab) : null;
        engine = new IterationEngine(program, device, master, gradients, slab, (layer, slot) -> { });
        ticketsAtStart = device.metrics().tickets();
        expectedGradient = new int[Math.toIntExact(plan.network().parameterCount())];
        for (int layer = 0; layer < plan.layers().size(); layer++) {
            writeMaster(layer);
        }
    }

    TrainingDouble tell(Accesses told) {
        accesses = told;
        return this;
    }

    IterationEngine engine() {
        return engine;
    }

    /** Reads that were answered with a slot so far. */
    long slotReads() {
        return slotReads;
    }

    /** Runs a number of iterations with everything that can happen around them. */
    void run(int iterations) {
        for (int i = 0; i < iterations; i++) {
            if (random.nextInt(4) == 0) {
                infer();
            }
            if (random.nextInt(4) == 0) {
                userWrites();
            }
            if (random.nextInt(6) == 0) {
                gradientOutsideOfAnIteration();
            }
            iteration();
            assertThat(device.metrics().tickets()).as("tickets after construction").isEqualTo(ticketsAtStart);
        }
    }

    // ------------------------------------------------------------------------------------------------------- one iteration

    private void iteration() {
        engine.openTraining();
        int giveUpAt = random.nextInt(5) == 0 ? random.nextInt(2 * plan.layers().size() + 1) : Integer.MAX_VALUE;
        int visit = 0;
        for (int layer : plan.network().forwardOrder()) {
            if (visit++ == giveUpAt) {
                giveUp();
                return;
            }
            forward(layer);
        }
        leaves();
        engine.forwardEnded();
        Arrays.fill(expectedGradient, 0);
        boolean[] written = new boolean[plan.layers().size()];
        for (int layer : plan.network().backwardOrder()) {
            if (visit++ == giveUpAt) {
                giveUp();
                return;
            }
            written[layer] = backward(layer);
        }
        leaves();
        score();
        engine.awaitGradients();
        checkGradients(written);
        score();
        step();
    }

    private void forward(int layer) {
        if (random.nextInt(12) == 0) {
            return;
        }
        read(layer);
        if (random.nextInt(25) == 0) {
            // A forward pass that begins anew: DL4J runs one more output() without a word.
            read(plan.network().forwardOrder()[0]);
        }
    }

    /** Returns whether a gradient was written. */
    private boolean backward(int layer) {
        int slot = program.gradientSlot(layer);
        boolean silent = random.nextInt(8) == 0;
        if (!silent) {
            read(layer);
        } else {
            leaves();
        }
        if (silent && slot >= 0) {
            // Nobody saw it being entered: a layer that does this must have its gradient written in place.
            return false;
        }
        if (slot != Program.NONE) {
            device.writesGradient(layer, slot);
            writeGradient(layer, slot);
        }
        if (!silent && random.nextInt(3) == 0) {
            readOnce(layer);
        }
        return slot != Program.NONE;
    }

    private void read(int layer) {
        leaves();
        int reads = 1 + random.nextInt(3);
        for (int i = 0; i < reads; i++) {
            readOnce(layer);
            if (random.nextInt(30) == 0) {
                userWritesLayer(layer);
                readOnce(layer);
            }
        }
    }

    private void readOnce(int layer) {
        int slot = engine.read(layer);
        device.reads(layer, slot);
        check(layer, slot);
        presentLayer = layer;
        presentSlot = slot;
        slotReads += slot >= 0 ? 1 : 0;
    }

    /**
     * Until the computation goes on to the next layer, or says that it is done with this one, what it reads must not change under it. Says so
     * of every other layer, and reads some all the same while nothing of the pass is final.
     */
    private void leaves() {
        if (presentLayer >= 0) {
            device.reads(presentLayer, presentSlot);
            check(presentLayer, presentSlot);
            if (random.nextBoolean()) {
                engine.computed();
                if (random.nextInt(8) == 0 && (engine.phase() == Phase.FORWARD || engine.phase() == Phase.INFERENCE)) {
                    readOnce(presentLayer);
                    device.reads(presentLayer, presentSlot);
                    check(presentLayer, presentSlot);
                }
            }
        }
        presentLayer = -1;
        presentSlot = Program.MASTER;
    }

    /** DL4J's last reads: regularisation and loss. */
    private void score() {
        if (random.nextBoolean()) {
            engine.backwardEnded();
            assertThat(engine.phase()).isEqualTo(Phase.UPDATE);
            for (int i = random.nextInt(3); i > 0; i--) {
                readOnce(random.nextInt(plan.layers().size()));
            }
            if (random.nextInt(3) == 0) {
                restage(random.nextInt(plan.layers().size()));
            }
            leaves();
        }
    }

    /** A SameDiff graph computes once more with the arrays of its slot. */
    private void restage(int layer) {
        int[] slots = program.slotsOf(layer);
        if (slots.length > 0) {
            engine.restage(layer, slots[0]);
            device.reads(layer, slots[0]);
            check(layer, slots[0]);
        }
    }

    private void step() {
        for (int layer = 0; layer < plan.layers().size(); layer++) {
            if (plan.network().layers().get(layer).gradientWritten()) {
                writeMaster(layer);
                engine.masterWritten(layer);
            }
        }
        engine.closeTraining();
        if (random.nextInt(3) == 0) {
            // A constraint.
            userWritesLayer(random.nextInt(plan.layers().size()));
        }
    }

    private void giveUp() {
        leaves();
        if (random.nextBoolean()) {
            engine.abort();
            assertThat(engine.phase()).isEqualTo(Phase.IDLE);
        }
    }

    // --------------------------------------------------------------------------------------------------- between iterations

    private void infer() {
        engine.openInference();
        for (int pass = 1 + random.nextInt(2); pass > 0; pass--) {
            for (int layer : plan.network().inferenceOrder()) {
                if (random.nextInt(10) != 0) {
                    read(layer);
                }
                if (random.nextInt(20) == 0) {
                    leaves();
                    userWrites();
                }
            }
            leaves();
        }
        if (random.nextInt(4) == 0) {
            readOnce(random.nextInt(plan.layers().size()));
            leaves();
        }
    }

    /** The user computes a gradient without a step: it is written in place, and no copy of an earlier iteration may run over it. */
    private void gradientOutsideOfAnIteration() {
        engine.abort();
        for (int layer = 0; layer < plan.layers().size(); layer++) {
            if (program.gradientSlot(layer) != Program.NONE) {
                device.writesGradient(layer, Program.MASTER);
                writeGradient(layer, Program.MASTER);
            }
        }
    }

    private void userWrites() {
        if (random.nextBoolean()) {
            userWritesLayer(random.nextInt(plan.layers().size()));
            return;
        }
        engine.masterWritten();
        for (int layer = 0; layer < plan.layers().size(); layer++) {
            writeMaster(layer);
        }
    }

    private void userWritesLayer(int layer) {
        engine.masterWritten(layer);
        writeMaster(layer);
    }

    // ------------------------------------------------------------------------------------------------------------------ bytes

    private void writeMaster(int layer) {
        device.masterChanged(layer);
        stamp++;
        if (realMemory) {
            LayerDescription d = plan.network().layers().get(layer);
            for (int i = 0; i < d.parameterCount(); i++) {
                masterBytes.putInt((int) (d.offset() + i) * 4, value(layer, i));
            }
        }
    }

    /** No two layers, indices or times share a value, and none is a poisoned one. */
    private int value(int layer, int index) {
        return layer * 100_003 + index * 31 + (stamp & 0xFFF) * 500_000;
    }

    private void writeGradient(int layer, int slot) {
        stamp++;
        LayerDescription d = plan.network().layers().get(layer);
        accesses.writes(slot >= 0 ? slab.address() + program.slotOffset(slot) : gradients.address() + d.offset() * 4, d.parameterBytes());
        if (!realMemory) {
            return;
        }
        for (int i = 0; i < d.parameterCount(); i++) {
            expectedGradient[(int) d.offset() + i] = value(layer, i);
            if (slot >= 0) {
                slabBytes.putInt((int) program.slotOffset(slot) + i * 4, value(layer, i));
            } else {
                gradientBytes.putInt((int) (d.offset() + i) * 4, value(layer, i));
            }
        }
    }

    private void check(int layer, int slot) {
        if (slot < 0 || !realMemory) {
            return;
        }
        LayerDescription d = plan.network().layers().get(layer);
        accesses.reads(slab.address() + program.slotOffset(slot), d.parameterBytes());
        for (int i = 0; i < d.parameterCount(); i++) {
            int found = slabBytes.getInt((int) program.slotOffset(slot) + i * 4);
            if (found != masterBytes.getInt((int) (d.offset() + i) * 4)) {
                throw new AssertionError("element " + i + " of layer " + layer + " in slot " + slot + " is " + found + ", its master "
                        + masterBytes.getInt((int) (d.offset() + i) * 4));
            }
        }
    }

    private void checkGradients(boolean[] written) {
        device.readsGradients();
        accesses.reads(gradients.address(), gradients.bytes());
        for (int layer = 0; layer < written.length; layer++) {
            LayerDescription d = plan.network().layers().get(layer);
            boolean slot = program.gradientSlot(layer) >= 0;
            if (slot) {
                assertThat(engine.gradientTaken(layer)).as("gradient of layer %d taken", layer).isEqualTo(written[layer]);
            }
            long arrived = slot ? d.gradientCount() : d.parameterCount();
            for (int i = 0; realMemory && written[layer] && i < arrived; i++) {
                int at = (int) d.offset() + i;
                if (gradientBytes.getInt(at * 4) != expectedGradient[at]) {
                    throw new AssertionError("element " + i + " of the gradient of layer " + layer + " is " + gradientBytes.getInt(at * 4)
                            + " in the host gradients (expected: " + expectedGradient[at] + ")");
                }
            }
        }
    }

    @Override
    public void close() {
        engine.close();
        if (slab != null) {
            slab.close();
        }
        gradients.close();
        master.close();
    }
}
