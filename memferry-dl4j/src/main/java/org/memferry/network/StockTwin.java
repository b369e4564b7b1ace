package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.memferry.base.MemFerryException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.HostBytes;
import org.memferry.device.Region;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A stock copy of an attached network, so that DL4J itself says what an iteration should have come to. It is DL4J's own code on ordinary host
 * memory: no ferry, no hooks, DL4J's own updater. It shares the configuration's objects with the network, as a copy of them would lose some,
 * and nothing else.
 *
 * <p>It computes on a thread of its own, which ends with each iteration: that thread has its own random generator, so that the network's draws
 * what it would have drawn, and its own workspaces, so that none of them counts against the device of the network.
 */
final class StockTwin implements AutoCloseable {

    private final NetworkAdapter twin;
    private final DataType type;
    private final Device memory = Devices.open("host");
    private final HostBytes bytes = new HostBytes();
    private final Region params;
    private final Region gradients;
    private final Region state;
    private final StepComparison comparison;
    private IterationData data;
    private long rootState;
    private long nodeState;

    /**
     * @param network the attached network, between two iterations
     * @param layout  of its updater state
     * @throws OutOfMemoryException if the host has no memory for it
     */
    StockTwin(NetworkAdapter network, BlockLayout layout) {
        twin = network.twin();
        type = network.dataType();
        long width = RegionArrays.elementBytes(type);
        try {
            params = memory.allocateHost(Math.multiplyExact(layout.parameterCount(), width), "parameters of the stock copy");
            gradients = memory.allocateHost(params.bytes(), "gradients of the stock copy");
            state = memory.allocateHost(Math.multiplyExact(layout.stateCount(), width), "updater state of the stock copy");
            onOwnThread(() -> build(layout));
        } catch (RuntimeException | Error e) {
            memory.close();
            throw e;
        }
        comparison = new StepComparison(twin.units(), layout, (int) width);
    }

    private void build(BlockLayout layout) {
        boolean rank2 = Support.rank2();
        INDArray flat = RegionArrays.vector(params, 0, type, layout.parameterCount(), rank2);
        twin.init(flat);
        List<NetworkUnit> units = twin.units();
        List<UnitBinding> bindings = Ferry.bindings(twin, units, flat);
        for (int i = 0; i < bindings.size(); i++) {
            bindings.get(i).bindGradients(RegionArrays.vector(gradients, units.get(i).offset, type, units.get(i).length, rank2));
        }
        twin.setFlattenedGradients(RegionArrays.vector(gradients, 0, type, layout.parameterCount(), true));
        twin.setUpdater(twin.stockUpdater(layout.stateCount() == 0 ? null
                : RegionArrays.vector(state, 0, type, layout.stateCount(), rank2)));
    }

    /** The copy's updater, DL4J's own. */
    BaseMultiLayerUpdater<?> updater() {
        return twin.updater();
    }

    /** What the copy's units are, by name and kinds of layer, for comparing with the network's. */
    Map<String, String> kinds() {
        return kinds(twin.units());
    }

    /** Name and kinds of layer of units. */
    static Map<String, String> kinds(List<NetworkUnit> units) {
        return units.stream().collect(Collectors.toMap(u -> u.name, u -> u.trainable.getClass().getName() + " " + u.type()));
    }

    /**
     * An iteration begins: takes over what it begins from.
     *
     * @param network    the attached network, with data and masks in place
     * @param fromParams its host master
     * @param fromGradients its host gradients: DL4J goes on with them where backward does not come
     * @param fromState  its updater state
     */
    void take(NetworkAdapter network, Region fromParams, Region fromGradients, Region fromState) {
        bytes.copy(fromParams.address(), params.address(), params.bytes());
        bytes.copy(fromGradients.address(), gradients.address(), gradients.bytes());
        bytes.copy(fromState.address(), state.address(), state.bytes());
        data = network.data();
        network.copyMasks(twin);
        Random random = Nd4j.getRandom();
        rootState = random.rootState();
        nodeState = random.nodeState();
    }

    /** The first difference between what the copy ended its last iteration with and what a network has now; null if there is none. */
    String differenceFrom(Region masterParams, Region masterState) {
        return comparison.difference(masterParams, params, masterState, state);
    }

    /** True unless the network has written into its own data since {@link #take}. */
    boolean hasItsData() {
        return data.isUnchanged();
    }

    /**
     * Trains the iteration that was taken over. The network's count of iterations, which is the copy's too, stays as it is.
     *
     * @param network      the attached network, which has trained it already; its constraints are not applied yet
     * @param masterParams its host master
     * @param masterState  its updater state
     * @return the first difference; null if there is none
     * @throws RuntimeException whatever DL4J throws
     */
    String train(NetworkAdapter network, Region masterParams, Region masterState) {
        Comparing atTheStep = new Comparing(masterParams, masterState, network.network().score());
        int iteration = network.iteration();
        NativeOps ops = NativeOpsHolder.getInstance().getDeviceNativeOps();
        int threads = ops.ompGetMaxThreads();
        try {
            onOwnThread(() -> {
                // The number of threads is each thread's own, and the last bits of a sum depend on it.
                ops.setOmpNumThreads(threads);
                Nd4j.getRandom().setStates(rootState, nodeState);
                twin.setListeners(List.of(atTheStep));
                twin.fit(data);
            });
        } finally {
            network.setIteration(iteration);
            data = null;
        }
        if (!atTheStep.done) {
            throw new MemFerryException("DL4J's fit returned without an iteration");
        }
        return atTheStep.difference;
    }

    /** Runs work to its end on a new thread, whatever interrupts the calling one. */
    private static void onOwnThread(Runnable work) {
        Throwable[] failed = new Throwable[1];
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (RuntimeException | Error e) {
                failed[0] = e;
            } finally {
                Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
            }
        }, "memferry-verify");
        thread.setDaemon(true);
        thread.start();
        boolean interrupted = false;
        while (true) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (failed[0] instanceof Error) {
            throw (Error) failed[0];
        }
        if (failed[0] != null) {
            throw (RuntimeException) failed[0];
        }
    }

    /** Gives the memory back. */
    @Override
    public void close() {
        params.close();
        gradients.close();
        state.close();
        memory.close();
    }

    /** Compares when DL4J has taken the step and has not applied constraints yet, which is when the network closes its iteration. */
    private final class Comparing extends BaseTrainingListener {

        private final Region masterParams;
        private final Region masterState;
        private final double score;
        private boolean done;
        private String difference;

        Comparing(Region masterParams, Region masterState, double score) {
            this.masterParams = masterParams;
            this.masterState = masterState;
            this.score = score;
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            done = true;
            difference = comparison.difference(masterParams, params, masterState, state, score, model.score());
        }
    }
}
