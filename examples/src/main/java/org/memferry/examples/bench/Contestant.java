package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.base.RefusedException;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.memferry.planner.Simulator;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A network that trains by one strategy, or with all layers in one placement, on an emulated device of its own, and the time that takes. Timed in blocks of iterations: copies of
 * one iteration go on beside the next, so contestants that took turns iteration by iteration would be given that time for nothing.
 */
final class Contestant implements AutoCloseable {

    private static final int COUNTED = 4;

    private final String title;
    private final NeuralNetwork network;
    private final List<DataSet> batches;
    private final MemFerry ferry;
    private final boolean profileFound;
    private final Stopwatch blocks = new Stopwatch();
    private int iterations;
    private Plan plan;
    private Profile profile;

    private Contestant(OffloadModel model, List<DataSet> batches, String title, MemFerryConfig.Builder config) {
        this.title = title;
        this.batches = batches;
        this.network = model.configured();
        this.ferry = MemFerry.init((Model) network, config.expect(model.minibatch, model.input).updateThreads(1).build());
        this.profileFound = ferry.profile() != null;
    }

    /**
     * Makes a network and attaches it with all layers in one placement.
     *
     * @param batches taken in turns
     * @param device  specification of the emulated device
     */
    static Contestant placed(OffloadModel model, List<DataSet> batches, Placement placement, String device) {
        Contestant contestant = new Contestant(model, batches, placement.name(),
                MemFerryConfig.builder().device(device).place("*", placement));
        contestant.fit();
        contestant.plan = contestant.ferry.plan();
        return contestant;
    }

    /**
     * Makes a network and attaches it; trains it until its times are measured, unless they were before.
     *
     * @param batches taken in turns
     * @param device  specification of the emulated device
     * @param profile where to keep the times, or to take them from; null for nowhere
     */
    static Contestant attach(OffloadModel model, List<DataSet> batches, Strategy strategy, String device, File profile) {
        MemFerryConfig.Builder config = MemFerryConfig.builder().device(device).strategy(strategy);
        Contestant contestant = new Contestant(model, batches, strategy.name(), profile == null ? config : config.profile(profile));
        if (contestant.ferry.plan().budget().deviceBytes() == Long.MAX_VALUE) {
            contestant.close();
            throw new RefusedException("--device: '" + device + "' has no memory of its own, where strategies are without effect (expected: "
                    + "emulated:<size> or cuda)");
        }
        while (contestant.ferry.profile() == null) {
            contestant.fit();
        }
        contestant.plan = contestant.ferry.plan();
        contestant.profile = contestant.ferry.profile();
        return contestant;
    }

    /** The strategy or placement. */
    String title() {
        return title;
    }

    /** What it trains. */
    NeuralNetwork network() {
        return network;
    }

    /** The plan. */
    Plan plan() {
        return plan;
    }

    /** What it was made from; null without a strategy. */
    Profile profile() {
        return profile;
    }

    /** Whether the plan was given up since, as the computation became much faster or slower: the times are then of several plans. */
    boolean isReplanned() {
        return ferry.plan() != plan || ferry.profile() != profile;
    }

    /** Whether the times were read from a file. */
    boolean isProfileFound() {
        return profileFound;
    }

    /** Device bytes taken now. */
    long slabBytes() {
        return ferry.metrics().device().slabBytes();
    }

    /** Trains an iteration that does not count. */
    void fit() {
        network.fit(batches.get(iterations % batches.size()));
        iterations++;
    }

    /** Trains iterations one after another; all but the first, which finds the device idle, are timed. */
    void block() {
        fit();
        blocks.time(() -> {
            for (int i = 0; i < COUNTED; i++) {
                fit();
            }
        });
    }

    /** Trains as many iterations as a block has, not timed. */
    void warmUp() {
        for (int i = 0; i <= COUNTED; i++) {
            fit();
        }
    }

    /** Median over the blocks of the time of an iteration. */
    double measuredMillis() {
        return blocks.median() / COUNTED / 1e6;
    }

    /** How many times as long as another contestant's iterations these take: the median over the blocks. */
    double times(Contestant other) {
        return blocks.times(other.blocks);
    }

    /** Whether the parameters of all equal, to the bit, those of a plain network after as many iterations on the same batches. */
    static boolean areLikePlain(OffloadModel model, List<DataSet> batches, List<Contestant> contestants) {
        NeuralNetwork plain = model.configured();
        plain.init();
        List<Contestant> byIterations = new ArrayList<>(contestants);
        byIterations.sort(Comparator.comparingInt(c -> c.iterations));
        boolean identical = true;
        int trained = 0;
        for (Contestant c : byIterations) {
            for (; trained < c.iterations; trained++) {
                plain.fit(batches.get(trained % batches.size()));
            }
            identical &= Bits.maxUlp(plain.params(), c.network.params()) == 0;
        }
        return identical;
    }

    /** Blocks of all, in turns, another one first each time. */
    static void takeTurns(List<Contestant> contestants, int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < contestants.size(); i++) {
                contestants.get((round + i) % contestants.size()).block();
            }
        }
    }

    /** What the simulator makes of the plan. */
    Simulation simulation() {
        return Simulator.simulate(plan, profile);
    }

    @Override
    public void close() {
        ferry.close();
        ((Model) network).close();
    }
}
