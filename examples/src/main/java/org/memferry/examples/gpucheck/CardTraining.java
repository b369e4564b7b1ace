package org.memferry.examples.gpucheck;

import org.memferry.device.Device;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.engine.GradientListener;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.IterationEngine.Phase;
import org.memferry.engine.Program;
import org.memferry.engine.ReplayListener;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.UpdateTiming;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Stands in for DL4J and for the optimizer around the real engine and a real device: where the trace says that a layer was read, the products
 * of a dense layer of its size are given to the card, which read the weights where the engine says and write the gradient where the plan
 * says. Forward is one product. Backward is three: DL4J computes the activations anew, then the gradient of the input, then that of the
 * weights. After each layer the host waits for the card, as ND4J's operations do.
 */
final class CardTraining implements GradientListener, ReplayListener, AutoCloseable {

    private final TracedNetwork traced;
    private final NetworkDescription network;
    private final Plan plan;
    private final Device device;
    private final Kernels kernels;
    private final HostMemory memory;
    private final Region slab;
    private final Program program;
    private final IterationEngine engine;
    private final ExecutorService steps = Executors.newSingleThreadExecutor(work -> {
        Thread thread = new Thread(work, "gpu-check-steps");
        thread.setDaemon(true);
        return thread;
    });
    /** Per layer of the present iteration: done once its gradient is on the host; null if it has none. */
    private final Ticket[] arrived;
    private final boolean[] given;
    private final List<Future<?>> underWay = new ArrayList<>();
    private final List<Double> millis = new ArrayList<>();
    private int presentLayer;
    private Phase presentPhase;
    private long begun;

    CardTraining(TracedNetwork traced, Plan plan, Device device, Kernels kernels, HostMemory memory) {
        this.traced = traced;
        this.network = plan.network();
        this.plan = plan;
        this.device = device;
        this.kernels = kernels;
        this.memory = memory;
        this.program = Program.compile(plan);
        this.slab = plan.slabBytes() > 0 ? device.allocateSlab(plan.slabBytes(), "slots") : null;
        this.engine = new IterationEngine(program, device, memory.parameters(), memory.gradients(), slab, (layer, slot) -> { }, this);
        this.arrived = new Ticket[network.layers().size()];
        this.given = new boolean[network.layers().size()];
    }

    /** Runs through the trace until enough time has passed, and at least twice; the first run does not count. */
    void run(double seconds) {
        traced.trace().replay(engine, this);
        millis.clear();
        long start = System.nanoTime();
        do {
            traced.trace().replay(engine, this);
        } while (System.nanoTime() - start < seconds * 1e9);
    }

    /** Median time of an iteration. */
    double medianMillis() {
        double[] sorted = millis.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    /** Iterations that count. */
    int iterations() {
        return millis.size();
    }

    // ----------------------------------------------------------------------------------------------------------- the network

    @Override
    public void read(int layer, int slot) {
        Phase phase = engine.phase();
        if (layer == presentLayer && phase == presentPhase) {
            return;
        }
        presentLayer = layer;
        presentPhase = phase;
        long weights = slot == Program.MASTER ? memory.parameters().address() + bytesBefore(layer) : slab.address() + program.slotOffset(slot);
        Kernels.Shape shape = traced.shape(layer);
        kernels.forward(weights, shape);
        if (phase == Phase.BACKWARD) {
            kernels.inputGradient(weights, shape);
            writeGradient(layer, shape);
        }
        kernels.synchronize();
    }

    private void writeGradient(int layer, Kernels.Shape shape) {
        int slot = program.gradientSlot(layer);
        if (slot != Program.NONE) {
            kernels.weightGradient(slot == Program.MASTER ? memory.gradients().address() + bytesBefore(layer)
                    : slab.address() + program.slotOffset(slot), shape);
        }
    }

    private long bytesBefore(int layer) {
        return network.layers().get(layer).offset() * Float.BYTES;
    }

    // --------------------------------------------------------------------------------------------------------- the optimizer

    @Override
    public void passBegins() {
        awaitSteps();
        Arrays.fill(arrived, null);
        Arrays.fill(given, false);
        presentLayer = -1;
        begun = System.nanoTime();
    }

    @Override
    public boolean coming(int layer, Ticket ticket) {
        LayerDescription description = network.layers().get(layer);
        if (description.gradientCount() == 0) {
            return false;
        }
        arrived[layer] = ticket;
        boolean early = plan.updateTiming() == UpdateTiming.EAGER && !description.readAfterBackward();
        if (early) {
            give(layer);
        }
        return early;
    }

    private void give(int layer) {
        if (arrived[layer] != null && !given[layer]) {
            given[layer] = true;
            Ticket gradient = arrived[layer];
            underWay.add(steps.submit(() -> {
                device.hostWaits(gradient);
                memory.step(network.layers().get(layer));
                engine.updated(layer);
            }));
        }
    }

    /** All steps of the iteration are taken when this returns. */
    @Override
    public void stepsBegin() {
        engine.backwardEnded();
        int[] order = network.backwardOrder();
        if (plan.updateTiming() == UpdateTiming.EAGER) {
            Arrays.stream(order).forEach(this::give);
        }
        engine.awaitGradients();
        if (plan.updateTiming() == UpdateTiming.IN_CHUNKS) {
            // The next forward needs the first layers first.
            for (int i = order.length - 1; i >= 0; i--) {
                give(order[i]);
            }
        }
        awaitSteps();
        for (int layer = 0; layer < arrived.length; layer++) {
            if (arrived[layer] != null && !given[layer]) {
                memory.step(network.layers().get(layer));
            }
        }
    }

    private void awaitSteps() {
        try {
            for (Future<?> step : underWay) {
                step.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while steps were under way", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("a step failed: " + e.getCause().getMessage(), e.getCause());
        }
        underWay.clear();
    }

    @Override
    public void closed() {
        millis.add((System.nanoTime() - begun) / 1e6);
    }

    @Override
    public void close() {
        steps.shutdown();
        engine.close();
        if (slab != null) {
            slab.close();
        }
    }
}
