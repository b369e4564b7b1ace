package org.memferry.planner;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;

import org.memferry.plan.Budget;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.Strategy;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * How long planning a network of 1,000 layers that all differ takes, in 0.4 of the memory that ZeRO-Offload needs. No test: to be run by
 * hand, {@code mvn -pl memferry-dl4j test-compile exec:exec -Dexec.executable=java -Dexec.classpathScope=test
 * -Dexec.args="-cp %classpath org.memferry.planner.PlanningSpeed"}. Ends in a RESULT line with the searches' error bounds.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 4, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class PlanningSpeed {

    /** Layers of the network. */
    @Param("1000")
    public int layers;

    private NetworkDescription network;
    private Profile profile;
    private Budget budget;

    /** Makes the network. */
    @Setup
    public void setUp() {
        Random random = new Random(1);
        network = RandomNetworks.chain(random.longs(layers, 1000, 4_000_000).toArray());
        profile = RandomProfiles.random(network, random);
        budget = new Budget(StrategyPlanner.smallestBudget(Strategy.ZERO_OFFLOAD, network, profile) * 2 / 5, 0, true, 0, true);
    }

    /** The exact schedule, with its bound. */
    @Benchmark
    public ForwardSchedule forward() {
        return ForwardScheduler.schedule(forwardLayers());
    }

    /** The gradients that stay on the device under a reserve factor of 0.3. */
    @Benchmark
    public GradientChoice gradients() {
        long[] bytes = network.layers().stream().mapToLong(LayerDescription::gradientBytes).toArray();
        long[] extra = profile.layers().stream().mapToLong(l -> l.gradientDirectNanos() - l.backwardNanos()).toArray();
        return GradientPlanner.choose(bytes, extra, GradientPlanner.reserveBytes(bytes, 0.3));
    }

    /** The plan from sizes alone. */
    @Benchmark
    public Plan sizesAlone() {
        return DefaultPlanner.plan(network, budget, PlacementRules.none(), 2);
    }

    /** The paper's strategy, simulations included. */
    @Benchmark
    public Plan memferry() {
        return StrategyPlanner.plan(Strategy.MEMFERRY, network, profile, budget, PlacementRules.none());
    }

    /** All strategies and mixtures, simulations included. */
    @Benchmark
    public Plan auto() {
        return StrategyPlanner.plan(Strategy.AUTO, network, profile, budget, PlacementRules.none());
    }

    private List<ForwardLayer> forwardLayers() {
        List<ForwardLayer> all = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            all.add(ForwardLayer.of(profile.layers().get(i).forwardNanos(), profile.layers().get(i).forwardDirectNanos(),
                    (long) (network.layers().get(i).parameterBytes() / profile.bytesPerSecondToDevice() * 1e9)));
        }
        return all;
    }

    /**
     * Runs all of them.
     *
     * @throws RunnerException if a benchmark fails
     */
    public static void main(String[] args) throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder().include(PlanningSpeed.class.getName()).build()).run();
        StringBuilder line = new StringBuilder("RESULT name=planning-speed layers=1000");
        for (RunResult result : results) {
            String name = result.getPrimaryResult().getLabel();
            line.append(String.format(Locale.ROOT, " %s_ms=%.1f", name, result.getPrimaryResult().getScore()));
        }
        PlanningSpeed speed = new PlanningSpeed();
        speed.layers = 1000;
        speed.setUp();
        ForwardSchedule schedule = speed.forward();
        GradientChoice choice = speed.gradients();
        line.append(String.format(Locale.ROOT, " forward_epsilon=%.5f gradients_epsilon=%.5f",
                (double) schedule.epsilonNanos() / schedule.makespanNanos(),
                (double) choice.epsilonNanos() / Math.max(1, choice.lostNanos())));
        System.out.println(line);
    }
}
