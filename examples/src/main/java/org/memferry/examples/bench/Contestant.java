package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Simulation;
import org.memferry.plan.Strategy;
import org.memferry.planner.Simulator;
import org.nd4j.linalg.dataset.DataSet;

import java.io.File;
import java.util.List;

/**
 * A network that trains by one strategy on an emulated device of its own, and the time that takes. Timed in blocks of iterations: copies of
 * one iteration go on beside the next, so contestants that took turns iteration by iteration would be given that time for nothing.
 */
final class Contestant implements AutoCloseable {

    private static final int COUNTED = 4;

    private final Strategy strategy;
    private final NeuralNetwork network;
    private final List<DataSet> batches;
    private final MemFerry ferry;
    private final boolean profileFound;
    private final Stopwatch blocks = new Stopwatch();
    private int iterations;
    private Plan plan;
    private Profile profile;

    private Contestant(OffloadModel model, List<DataSet> batches, Strategy strategy, String device, File profile) {
        this.strategy = strategy;
        this.batches = batches;
        this.network = model.configured();
        MemFerryConfig.Builder config = MemFerryConfig.builder().device(device).strategy(strategy).expect(model.minibatch, model.input)
                .updateThreads(1);
        this.ferry = MemFerry.init((Model) network, (profile == null ? config : config.profile(profile)).build());
        this.profileFound = ferry.profile() != null;
    }

    /**
     * Makes a network and attaches it; trains it until its times are measured, unless they were before.
     *
     * @param batches taken in turns
     * @param device  specification of the emulated device
     * @param profile where to keep the times, or to take them from; null for nowhere
     */
    static Contestant attach(OffloadModel model, List<DataSet> batches, Strategy strategy, String device, File profile) {
        Contestant contestant = new Contestant(model, batches, strategy, device, profile);
        while (contestant.ferry.profile() == null) {
            contestant.fit();
        }
        contestant.plan = contestant.ferry.plan();
        contestant.profile = contestant.ferry.profile();
        return contestant;
    }

    Strategy strategy() {
        return strategy;
    }

    /** The strategy's plan. */
    Plan plan() {
        return plan;
    }

    /** What it was made from. */
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

    NeuralNetwork network() {
        return network;
    }

    /** Iterations trained so far. */
    int iterations() {
        return iterations;
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
