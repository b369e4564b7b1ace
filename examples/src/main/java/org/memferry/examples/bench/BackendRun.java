package org.memferry.examples.bench;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.nd4j.DeviceMeter;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Placement;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/** One network on the ND4J backend that is loaded: in every placement compared with plain DL4J, and timed by every strategy. */
public final class BackendRun {

    /** Iterations of each training. */
    public static final int ITERATIONS = 5;

    private final OffloadModel model;
    private final String device;
    private final int rounds;
    private final List<DataSet> batches;

    BackendRun(OffloadModel model, String device, int rounds) {
        this.model = model;
        this.device = device;
        this.rounds = rounds;
        this.batches = model.batches();
    }

    /** A network that is trained in a moment. */
    public static BackendRun small(String device) {
        return new BackendRun(OffloadModel.TINY, device, 1);
    }

    /** What became of one placement. */
    public static final class Placed {

        private final Placement placement;
        private final GradientHome home;
        private boolean scoreEqual;
        private boolean gradientsEqual;
        private boolean likeOthers = true;
        private long ulps;
        private double difference;
        private INDArray parameters;

        private Placed(Placement placement, GradientHome home) {
            this.placement = placement;
            this.home = home;
        }

        Placement placement() {
            return placement;
        }

        GradientHome home() {
            return home;
        }

        boolean isScoreEqual() {
            return scoreEqual;
        }

        boolean areGradientsEqual() {
            return gradientsEqual;
        }

        /** Whether the parameters at the end are those of the first placement, to the bit. */
        boolean isLikeOthers() {
            return likeOthers;
        }

        /** The largest distance of a parameter at the end from plain DL4J's, in units in the last place. */
        long ulps() {
            return ulps;
        }

        /** The same as a number. */
        double difference() {
            return difference;
        }

        /** Whether the numbers are plain DL4J's: on the CPU all of them, on a card score and gradients. */
        public boolean isRight(boolean cpu) {
            return scoreEqual && gradientsEqual && likeOthers && (!cpu || ulps == 0);
        }
    }

    /** Trains in each placement, and in plain DL4J. */
    public List<Placed> placements() {
        Map<String, INDArray> gradients = new LinkedHashMap<>();
        double score = first(gradients);
        NeuralNetwork plain = model.configured();
        plain.init();
        train(plain, ITERATIONS);
        List<Placed> all = new ArrayList<>();
        for (Placement placement : Placement.values()) {
            for (GradientHome home : List.of(GradientHome.SLOT, GradientHome.DIRECT)) {
                all.add(place(new Placed(placement, home), gradients, score, plain.params()));
            }
        }
        for (Placed placed : all) {
            placed.likeOthers = Bits.maxUlp(all.get(0).parameters, placed.parameters) == 0;
        }
        return all;
    }

    /** Score and gradients that plain DL4J computes with the first parameters on the first batch, without a step. */
    private double first(Map<String, INDArray> gradients) {
        NeuralNetwork network = model.configured();
        network.init();
        DataSet batch = batches.get(0);
        if (network instanceof MultiLayerNetwork) {
            MultiLayerNetwork layers = (MultiLayerNetwork) network;
            layers.setInput(batch.getFeatures());
            layers.setLabels(batch.getLabels());
            layers.computeGradientAndScore();
        } else {
            ComputationGraph graph = (ComputationGraph) network;
            graph.setInputs(batch.getFeatures());
            graph.setLabels(batch.getLabels());
            graph.computeGradientAndScore();
        }
        ((Model) network).gradient().gradientForVariable().forEach((name, array) -> gradients.put(name, array.dup()));
        return ((Model) network).score();
    }

    private Placed place(Placed placed, Map<String, INDArray> gradients, double score, INDArray plain) {
        NeuralNetwork network = model.configured();
        MemFerryConfig config = MemFerryConfig.builder().device(device).place("*", placed.placement).placeGradient("*", placed.home)
                .expect(model.minibatch, model.input).build();
        try (MemFerry ferry = MemFerry.init((Model) network, config)) {
            train(network, 1);
            placed.scoreEqual = Double.compare(((Model) network).score(), score) == 0;
            placed.gradientsEqual = areEqual(gradients, ((Model) network).gradient().gradientForVariable());
            train(network, 1, ITERATIONS);
        }
        placed.parameters = network.params().dup();
        placed.ulps = Bits.maxUlp(plain, placed.parameters);
        placed.difference = plain.sub(placed.parameters.reshape(plain.shape())).amaxNumber().doubleValue();
        return placed;
    }

    private static boolean areEqual(Map<String, INDArray> expected, Map<String, INDArray> found) {
        return expected.keySet().equals(found.keySet()) && expected.entrySet().stream().allMatch(e -> {
            INDArray gradient = found.get(e.getKey()).dup(e.getValue().ordering());
            return Bits.maxUlp(e.getValue(), gradient) == 0;
        });
    }

    private void train(NeuralNetwork network, int iterations) {
        train(network, 0, iterations);
    }

    private void train(NeuralNetwork network, int from, int to) {
        for (int i = from; i < to; i++) {
            network.fit(batches.get(i % batches.size()));
        }
    }

    /** What training by one strategy takes. */
    static final class Timed {

        private final String title;
        private final double millis;
        private final long peakBytes;

        private Timed(String title, double millis, long peakBytes) {
            this.title = title;
            this.millis = millis;
            this.peakBytes = peakBytes;
        }

        String title() {
            return title;
        }

        /** Of an iteration. */
        double millis() {
            return millis;
        }

        /** Parameters, gradients, activations, and what else is on the device. */
        long peakBytes() {
            return peakBytes;
        }
    }

    /** Trains by plain DL4J, where nothing is ferried, and by each strategy. */
    List<Timed> strategies() {
        List<Timed> all = new ArrayList<>();
        NeuralNetwork plain = model.configured();
        plain.init();
        all.add(time("PLAIN", plain, () -> 0));
        ((Model) plain).close();
        for (Strategy strategy : ScheduleRun.STRATEGIES) {
            try (Contestant contestant = Contestant.attach(model, batches, strategy, device, null)) {
                all.add(time(strategy.name(), contestant.network(), contestant::slabBytes));
            }
        }
        return all;
    }

    private Timed time(String title, NeuralNetwork network, LongSupplier slabBytes) {
        train(network, ITERATIONS);
        DeviceMeter.settle();
        Stopwatch watch = new Stopwatch();
        try (DeviceMeter meter = DeviceMeter.start(slabBytes)) {
            for (int round = 0; round < rounds; round++) {
                watch.time(() -> train(network, ITERATIONS));
                meter.sample();
            }
            return new Timed(title, watch.median() / ITERATIONS / 1e6, meter.peak().totalBytes());
        }
    }
}
