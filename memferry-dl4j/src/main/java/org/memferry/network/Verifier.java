package org.memferry.network;

import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.memferry.base.DifferenceException;
import org.memferry.base.Sizes;
import org.memferry.device.HostMemory;
import org.memferry.device.JavaCppLimits;
import org.memferry.device.Region;
import org.memferry.nd4j.RegionArrays;
import org.memferry.report.Verification;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Trains the first iterations of an attached network on a stock copy as well, and compares: whoever does not believe that offloading leaves
 * the numbers alone need not. At the opening of an iteration the copy takes over what the iteration begins from; when the network has closed
 * it the copy trains the same, and score, parameters and updater state must be the same bits. In between nothing may have changed them but
 * the constraints, which the copy applies too, and whoever was given the network's arrays.
 *
 * <p>What cannot be verified ends the verification with one line of the log, and is told in {@link #verification()}: never an alarm, and never
 * counted as equal.
 */
final class Verifier implements AutoCloseable {

    static final String WAY_OUT = "Close the ferry and go on from a model that was saved before with plain DL4J, and please report this "
            + "with the plan's table; without verifyFirstSteps nobody compares.";
    private static final Logger LOG = LoggerFactory.getLogger(Verifier.class);

    private final NetworkAdapter network;
    private final int asked;
    private final Supplier<HostMemory> host;
    private StockTwin twin;
    private BlockLayout layout;
    private boolean ended;
    /** An iteration was opened and is not closed yet. */
    private boolean within;
    /** The copy ended an iteration from which the next one should begin. */
    private boolean continues;
    private boolean writtenBefore;
    private volatile boolean arraysGiven;
    private boolean rulesReplaced;
    private int steps;
    private int writtenBetween;
    private volatile Verification verification;

    /**
     * @param network the attached network
     * @param asked   iterations to verify, at least 1
     */
    Verifier(NetworkAdapter network, int asked) {
        this(network, asked, () -> JavaCppLimits.addTo(HostMemory.read(Path.of("/"))));
    }

    /** @param host what the host has when the copy is made */
    Verifier(NetworkAdapter network, int asked, Supplier<HostMemory> host) {
        this.network = network;
        this.asked = asked;
        this.host = host;
        this.verification = Verification.of(asked).build();
    }

    /** What was found so far. */
    Verification verification() {
        return verification;
    }

    /** The program is given arrays over parameters or updater state and may write to them. Called by any thread, at any time. */
    void arraysGiven() {
        arraysGiven = true;
    }

    /** The network has a new updater, with what rules and whose state ever. */
    void rulesReplaced() {
        arraysGiven = true;
        rulesReplaced = true;
    }

    /**
     * An iteration opens.
     *
     * @param units   the network's
     * @param params  its host master
     * @param grads   its host gradients
     * @param state   its updater state
     * @param blocks  how that is laid out
     * @param updater the network's updater
     * @param ours    its listener, which writes nothing
     * @throws DifferenceException if parameters or updater state have changed since the last iteration though nobody was given them
     */
    void opening(List<NetworkUnit> units, Region params, Region grads, Region state, BlockLayout blocks,
            BaseMultiLayerUpdater<?> updater, TrainingListener ours) {
        if (ended) {
            return;
        }
        // What is made here must outlive whatever workspace is open.
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            Optional<String> obstacle = Verifiable.obstacle(network, updater, blocks, ours);
            if (obstacle.isPresent()) {
                end(obstacle.get());
                return;
            }
            compareBetween(params, state, blocks);
            if ((twin == null || rulesReplaced || !blocks.equals(layout)) && !makeTwin(units, blocks, updater)) {
                return;
            }
            Optional<String> otherRules = Verifiable.otherRules(updater, twin.updater());
            if (otherRules.isPresent()) {
                end(otherRules.get());
                return;
            }
            twin.take(network, params, grads, state);
            within = true;
        }
    }

    /** Looks whether the iteration begins from what the last one ended with. */
    private void compareBetween(Region params, Region state, BlockLayout blocks) {
        boolean follows = continues && blocks.equals(layout);
        writtenBefore = continues && !follows;
        continues = false;
        String difference = follows ? twin.differenceFrom(params, state) : null;
        if (difference == null) {
            return;
        }
        if (!arraysGiven) {
            throw different("before step " + (steps + 1) + " parameters or updater state have changed since the step before, though nobody was "
                    + "given the network's arrays since, nor wrote by a constraint: " + difference
                    + " (rule: between two iterations nothing changes but by the program's own doing; a view that was cut out of params() and "
                    + "kept is not watched)");
        }
        writtenBefore = true;
    }

    private boolean makeTwin(List<NetworkUnit> units, BlockLayout blocks, BaseMultiLayerUpdater<?> updater) {
        closeTwin();
        try {
            Optional<String> obstacle = Verifiable.ownPart(network).or(() -> shortage(blocks));
            if (obstacle.isPresent()) {
                end(obstacle.get());
                return false;
            }
            twin = new StockTwin(network, blocks);
        } catch (RuntimeException | OutOfMemoryError e) {
            end("a stock copy could not be made: " + e);
            return false;
        }
        layout = blocks;
        rulesReplaced = false;
        if (!twin.kinds().equals(StockTwin.kinds(units)) || !HostBlocks.layoutOf(twin.updater()).equals(blocks)) {
            end("the network has other layers or rules than its configuration makes: " + StockTwin.kinds(units) + ", a stock copy "
                    + twin.kinds());
            return false;
        }
        return true;
    }

    /** Whether the host has too little for a copy: its parameters, gradients and state, and one more iteration's activations. */
    private Optional<String> shortage(BlockLayout blocks) {
        long width = RegionArrays.elementBytes(network.dataType());
        long arrays = Math.multiplyExact(Math.addExact(Math.multiplyExact(blocks.parameterCount(), 2L), blocks.stateCount()), width);
        long activations = activations();
        long needed = Math.addExact(Math.addExact(arrays, activations), Preflight.MARGIN);
        for (HostMemory.Limit limit : host.get().limits()) {
            if (needed > limit.freeBytes()) {
                return Optional.of("the host has no room for a stock copy: " + Sizes.exact(needed) + " are needed (parameters, gradients and "
                        + "updater state " + Sizes.exact(arrays) + ", activations " + Sizes.exact(activations) + ", margin "
                        + Sizes.exact(Preflight.MARGIN) + "), " + limit.kind().title() + " leaves " + Sizes.exact(limit.freeBytes()) + " of "
                        + Sizes.format(limit.totalBytes()) + ". Verify a smaller network of the same kinds of layers");
            }
        }
        return Optional.empty();
    }

    private long activations() {
        InputType[] types = network.presentInputTypes();
        INDArray input = network.inputs()[0];
        try {
            return types == null ? 0 : TrainingMemory.of(network, types).of(Math.toIntExact(input.size(0)), 0).totalBytes();
        } catch (RuntimeException e) {
            LOG.debug("DL4J does not tell the shapes of this network's layers: the stock copy's activations are not counted", e);
            return 0;
        }
    }

    /**
     * An iteration was closed.
     *
     * @param params the network's host master
     * @param state  its updater state
     * @throws DifferenceException if it is not what stock DL4J computes
     */
    void closing(Region params, Region state) {
        if (!within) {
            return;
        }
        within = false;
        try (MemoryWorkspace none = Nd4j.getMemoryManager().scopeOutOfWorkspaces()) {
            if (!twin.hasItsData()) {
                end("the iteration has written into its own inputs or labels, so that stock DL4J would be given others");
                return;
            }
            String difference;
            try {
                difference = twin.train(network, params, state);
            } catch (RuntimeException | OutOfMemoryError e) {
                end("stock DL4J failed in the iteration: " + e);
                return;
            }
            if (difference != null) {
                throw different("step " + (steps + 1) + " (iteration " + network.iteration() + ", epoch " + network.epoch() + ") is not what "
                        + "stock DL4J computes from the same start: " + difference
                        + " (rule: on ND4J's CPU backends every bit is stock DL4J's)");
            }
        }
        equal();
    }

    private void equal() {
        steps++;
        writtenBetween += writtenBefore ? 1 : 0;
        continues = true;
        arraysGiven = false;
        verification = Verification.of(asked).steps(steps, writtenBetween).build();
        if (steps == asked) {
            LOG.info("{}", verification);
            close();
        }
    }

    private DifferenceException different(String what) {
        verification = Verification.of(asked).steps(steps, writtenBetween).difference(what).build();
        LOG.error("{}", verification);
        close();
        return new DifferenceException(what + ". " + WAY_OUT);
    }

    private void end(String reason) {
        verification = Verification.of(asked).steps(steps, writtenBetween).notVerified(reason).build();
        LOG.warn("{}", verification);
        close();
    }

    /** No more is verified; gives the copy's memory back. */
    @Override
    public void close() {
        ended = true;
        within = false;
        closeTwin();
    }

    private void closeTwin() {
        if (twin != null) {
            twin.close();
            twin = null;
        }
    }
}
