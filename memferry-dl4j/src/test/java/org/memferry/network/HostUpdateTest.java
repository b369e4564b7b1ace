package org.memferry.network;

import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DepthwiseConvolution2D;
import org.deeplearning4j.nn.conf.layers.SeparableConvolution2D;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.updater.BaseMultiLayerUpdater;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.device.Region;
import org.memferry.device.host.HostDevice;
import org.memferry.nd4j.RegionArrays;
import org.memferry.update.ElementType;
import org.memferry.update.UpdateEngine;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaBelief;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.WeightDecay;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ScheduleType;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.Map;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The step of a whole network equals stock DL4J's updater bit for bit: every rule with every regularisation and every gradient
 * normalisation, each on a layer of its own, with every kernel of this machine. Gradients are handed in, so that they can be anything.
 */
class HostUpdateTest {

    private static final int STEPS = 20;
    /** Outputs of one layer are inputs of the next: parameters of 2 to 21,000, which begin anywhere in a cache line. */
    private static final int[] SIZES = {1, 3, 65, 7, 31, 129, 5, 1, 63, 9};
    private static final int LARGE = 163;

    private static List<IUpdater> rules() {
        List<IUpdater> rules = new ArrayList<>(List.of(new Adam(0.003), new AMSGrad(0.003), new AdaMax(0.003), new Nadam(0.003),
                new Nesterovs(new ExponentialSchedule(ScheduleType.ITERATION, 0.05, 0.97), 0.9), new RmsProp(0.01), new AdaGrad(0.05),
                new AdaDelta(), new Sgd(0.03), new NoOp()));
        if (Support.rank2()) {
            // In M2.1 a network of stock DL4J with this rule fails when it makes its updater.
            rules.add(new AdaBelief(0.003));
        }
        return rules;
    }

    private static List<List<Regularization>> regularisations() {
        return List.of(List.of(), List.of(new L1Regularization(0.013)), List.of(new L2Regularization(0.021)),
                List.of(new WeightDecay(0.017, false)), List.of(new WeightDecay(0.31, true)));
    }

    private static DenseLayer.Builder layer(IUpdater rule, List<Regularization> terms, List<Regularization> ofBias,
            GradientNormalization kind) {
        DenseLayer.Builder layer = new DenseLayer.Builder();
        layer.updater(rule);
        layer.regularization(terms);
        layer.regularizationBias(ofBias);
        layer.gradientNormalization(kind);
        // Values that bite in some layers and not in others.
        layer.gradientNormalizationThreshold(kind == GradientNormalization.ClipElementWiseAbsoluteValue ? 0.02 : 0.3);
        return layer;
    }

    /** All combinations: neighbours with one rule are one block, with different regularisations and normalisations. */
    private static MultiLayerConfiguration configuration(DataType type) {
        List<DenseLayer.Builder> layers = new ArrayList<>();
        for (List<Regularization> terms : regularisations()) {
            for (GradientNormalization kind : GradientNormalization.values()) {
                for (IUpdater rule : rules()) {
                    layers.add(layer(rule, terms, layers.size() % 2 == 0 ? terms : List.of(), kind));
                }
            }
        }
        Collections.shuffle(layers, new Random(1));
        // One half sorted by rule and one mixed, so that blocks are of one parameter and of many.
        layers.subList(0, layers.size() / 2).sort(Comparator.comparing(l -> l.build().getIUpdater().getClass().getName()));
        NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().seed(3).dataType(type).list();
        int in = 2;
        for (int i = 0; i < layers.size(); i++) {
            int out = i % 41 == 0 ? LARGE : SIZES[i % SIZES.length];
            list.layer(layers.get(i).nIn(in).nOut(out).build());
            in = out;
        }
        return list.build();
    }

    // A25
    @ParameterizedTest
    @EnumSource(value = DataType.class, names = {"FLOAT", "DOUBLE"})
    void everyCombinationEqualsStockBitForBit(DataType type) {
        try (Comparison all = new Comparison(configuration(type), type)) {
            assertThat(all.layers()).isGreaterThanOrEqualTo(300);
            for (int step = 0; step < STEPS; step++) {
                Random random = new Random(step);
                all.step("normal", step, step / 7, 32 - step, step % 2 == 0, (layer, i) -> random.nextGaussian() * 0.6);
            }
        }
    }

    /** A25. Norms of nothing, of infinities and of squares that overflow or vanish. */
    @ParameterizedTest
    @EnumSource(value = DataType.class, names = {"FLOAT", "DOUBLE"})
    void specialGradientsAreTreatedAsInStock(DataType type) {
        Map<String, double[]> kinds = new LinkedHashMap<>();
        kinds.put("zero", new double[] {0, -0.0});
        kinds.put("denormal", new double[] {1e-45, -1e-40, 4.9e-324, 0, -2e-310});
        kinds.put("some infinite", new double[] {0.1, Double.POSITIVE_INFINITY, -0.2, 0});
        kinds.put("mostly infinite", new double[] {Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY, 1});
        kinds.put("some NaN", new double[] {0.3, -0.0, Double.NaN, 1e-30});
        kinds.put("overflowing", new double[] {3e38, -1e30, 1e200, 1e-30, 5});
        try (Comparison all = new Comparison(configuration(type), type)) {
            kinds.forEach((name, values) -> {
                all.reset();
                for (int step = 0; step < 3; step++) {
                    int at = step;
                    all.step(name, step, 0, 7, true, (layer, i) -> values[(int) ((layer + i + at) % values.length)]);
                }
            });
        }
    }

    /** DL4J names the parameters of these convolutions in another order than it lays them out: a norm is of what lies under the name. */
    @ParameterizedTest
    @EnumSource(value = GradientNormalization.class, names = "None", mode = EnumSource.Mode.EXCLUDE)
    void parametersThatLieInAnotherOrderThanTheirNamesAreNormalisedAsInStock(GradientNormalization kind) {
        MultiLayerConfiguration configuration = new NeuralNetConfiguration.Builder().seed(3).updater(new Adam(0.01)).l2(0.1)
                .gradientNormalization(kind).gradientNormalizationThreshold(0.02).list()
                .layer(new SeparableConvolution2D.Builder(3, 3).nOut(5).build())
                .layer(new DepthwiseConvolution2D.Builder().kernelSize(2, 2).depthMultiplier(3).build())
                .layer(new BatchNormalization.Builder().build())
                .setInputType(InputType.convolutional(8, 8, 2)).build();
        try (Comparison all = new Comparison(configuration, DataType.FLOAT)) {
            for (int step = 0; step < 3; step++) {
                Random random = new Random(step);
                all.step("normal", step, 0, 4, step == 1, (layer, i) -> random.nextGaussian() * (1 + i % 7));
            }
        }
    }

    /** What a backward pass leaves: each layer's arrays in its shapes, over the network's flat gradients. */
    private static Gradient gradientOf(NetworkAdapter adapter) {
        Gradient gradient = new DefaultGradient(adapter.flattenedGradients());
        for (NetworkUnit unit : adapter.units()) {
            Layer layer = unit.layer;
            layer.conf().getLayer().initializer().getGradientsFromFlattened(layer.conf(), layer.getGradientsViewArray())
                    .forEach((key, array) -> gradient.setGradientFor(unit.name + "_" + key, array));
        }
        return gradient;
    }

    private interface Values {

        double at(int layer, long element);
    }

    /** A stock network and one for each kernel, with the same parameters. */
    private static final class Comparison implements AutoCloseable {

        private final DataType type;
        private final NetworkAdapter stock;
        private final Gradient gradient;
        private final INDArray initial;
        private final INDArray initialState;
        private final List<Ours> ours = new ArrayList<>();

        Comparison(MultiLayerConfiguration configuration, DataType type) {
            this.type = type;
            stock = NetworkAdapter.of(network(configuration));
            ((MultiLayerNetwork) stock.network()).init();
            stock.initGradientsView();
            gradient = gradientOf(stock);
            initial = stock.flattenedParams().dup();
            ((MultiLayerNetwork) stock.network()).getUpdater();
            initialState = stock.updater().getStateViewArray().dup();
            for (String kernel : new String[] {"java", "native-baseline", "native-avx2", "native-avx512"}) {
                Ours o = new Ours(network(configuration), type, kernel);
                if (ours.stream().anyMatch(other -> other.engine.toString().equals(o.engine.toString()))) {
                    o.close();
                } else {
                    ours.add(o);
                }
            }
            reset();
        }

        /** Every network has rules of its own. */
        private static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
            return new MultiLayerNetwork(configuration.clone());
        }

        int layers() {
            return ((MultiLayerNetwork) stock.network()).getnLayers();
        }

        void reset() {
            stock.flattenedParams().assign(initial);
            stock.updater().getStateViewArray().assign(initialState);
            for (Ours o : ours) {
                o.adapter.flattenedParams().assign(initial);
                o.updater.getStateViewArray().assign(initialState);
            }
        }

        void step(String kind, int iteration, int epoch, int batch, boolean writeUpdate, Values values) {
            double[] all = new double[(int) initial.length()];
            for (NetworkUnit unit : stock.units()) {
                for (int i = 0; i < unit.length; i++) {
                    all[(int) unit.offset + i] = values.at(Integer.parseInt(unit.name), i);
                }
            }
            INDArray given = Nd4j.createFromArray(all).castTo(type);
            stock.flattenedGradients().assign(given.reshape(stock.flattenedGradients().shape()));
            stock.updater().update(gradient, iteration, epoch, batch, LayerWorkspaceMgr.noWorkspaces());
            stock.flattenedParams().subi(stock.flattenedGradients().reshape(stock.flattenedParams().shape()));
            Object parameters = values(stock.flattenedParams());
            Object updates = values(stock.flattenedGradients());
            Object state = values(stock.updater().getStateViewArray());
            for (Ours o : ours) {
                String when = " with " + kind + " gradients, iteration " + iteration + ", " + type + ", " + o.engine;
                o.adapter.flattenedGradients().assign(given.reshape(o.adapter.flattenedGradients().shape()));
                Set<Trainable> alone = stepSome(o, iteration, epoch, batch, writeUpdate);
                o.update.run(o.gradient, iteration, epoch, batch, LayerWorkspaceMgr.noWorkspaces(), writeUpdate, alone::contains);
                same(parameters, o.adapter.flattenedParams(), "parameters" + when);
                assertThat(mismatch(state, values(o.updater.getStateViewArray()))).as("first of the state that differs%s", when).isEqualTo(-1);
                if (writeUpdate) {
                    same(updates, o.adapter.flattenedGradients(), "updates" + when);
                }
            }
        }

        /** Every other layer takes its step by itself, where that can be. */
        private static Set<Trainable> stepSome(Ours o, int iteration, int epoch, int batch, boolean writeUpdate) {
            Set<Trainable> alone = Collections.newSetFromMap(new IdentityHashMap<>());
            for (NetworkUnit unit : o.adapter.units()) {
                if ((Integer.parseInt(unit.name) + iteration) % 2 == 0 && o.update.isSeparable(unit.trainable)
                        && o.update.isReady(unit.trainable)) {
                    o.update.step(unit.trainable, iteration, epoch, batch, writeUpdate);
                    alone.add(unit.trainable);
                }
            }
            return alone;
        }

        private void same(Object expected, INDArray actual, String what) {
            int i = mismatch(expected, values(actual));
            if (i >= 0) {
                NetworkUnit unit = stock.units().stream().filter(u -> i >= u.offset && i < u.offset + u.length).findFirst().orElseThrow();
                throw new AssertionError(what + ": " + actual.getDouble(i) + ", stock has " + Array.get(expected, i) + " in layer "
                        + unit.name + ", element " + (i - unit.offset) + " of " + unit.length + ": " + unit.layer.conf().getLayer());
            }
        }

        private static Object values(INDArray array) {
            int n = (int) array.length();
            if (array.dataType() == DataType.FLOAT) {
                float[] values = new float[n];
                new FloatPointer(array.data().pointer()).position(array.offset()).get(values);
                return values;
            }
            double[] values = new double[n];
            new DoublePointer(array.data().pointer()).position(array.offset()).get(values);
            return values;
        }

        /** NaNs are equal to each other. */
        private static int mismatch(Object expected, Object actual) {
            return expected instanceof float[] ? Arrays.mismatch((float[]) expected, (float[]) actual)
                    : Arrays.mismatch((double[]) expected, (double[]) actual);
        }

        @Override
        public void close() {
            ours.forEach(Ours::close);
        }
    }

    /** A network over host regions, as a ferry has it, with one kernel. */
    private static final class Ours implements AutoCloseable {

        final NetworkAdapter adapter;
        final Gradient gradient;
        final UpdateEngine engine;
        final BaseMultiLayerUpdater<?> updater;
        final HostUpdate update;
        private final HostDevice device = new HostDevice();
        private final List<Region> regions = new ArrayList<>();

        Ours(MultiLayerNetwork network, DataType type, String kernel) {
            adapter = NetworkAdapter.of(network);
            long count = adapter.countParameters();
            boolean rank2 = Support.rank2();
            Region master = region(count, type, "parameters");
            Region gradients = region(count, type, "gradients");
            INDArray flat = RegionArrays.vector(master, 0, type, count, rank2);
            adapter.init(flat);
            adapter.setFlattenedGradients(RegionArrays.vector(gradients, 0, type, count, true));
            List<NetworkUnit> units = adapter.units();
            List<UnitBinding> bindings = new ArrayList<>();
            units.forEach(u -> bindings.add(new UnitBinding(u, (offset, length) -> MultiLayerAdapter.view(flat, u.offset + offset, length))));
            GradientHomes homes = new GradientHomes(units, bindings, gradients, type, rank2);
            homes.bind();
            long stateCount = UpdaterState.count(units);
            Region state = region(stateCount, type, "updater state");
            INDArray stateArray = RegionArrays.vector(state, 0, type, stateCount, rank2);
            HostBlocks blocks = HostBlocks.over(units, flat, adapter.flattenedGradients(), stateArray);
            updater = adapter.ferryUpdater(new StockHook(), blocks, stateArray);
            UpdaterState.initialise(updater);
            gradient = gradientOf(adapter);
            engine = engine(kernel);
            update = new HostUpdate(updater, blocks, engine, regions.toArray(new Region[0]), ElementType.of(type), true,
                    new UpdateUnits(units, homes, adapter.backwardOrder(), layer -> layer));
        }

        private Region region(long elements, DataType type, String purpose) {
            Region region = device.allocateHost(elements * RegionArrays.elementBytes(type), purpose);
            regions.add(region);
            return region;
        }

        private static UpdateEngine engine(String kernel) {
            String before = System.getProperty("org.memferry.update.kernel");
            System.setProperty("org.memferry.update.kernel", kernel);
            try {
                return UpdateEngine.start(2);
            } finally {
                if (before == null) {
                    System.clearProperty("org.memferry.update.kernel");
                } else {
                    System.setProperty("org.memferry.update.kernel", before);
                }
            }
        }

        @Override
        public void close() {
            engine.close();
            regions.forEach(Region::close);
            device.close();
        }
    }

    /** Nothing of the ferry: the step is taken by the test. */
    private static final class StockHook implements UpdateHook {

        @Override
        public boolean update(Gradient gradient, int iteration, int epoch, int batch, LayerWorkspaceMgr workspaces) {
            return false;
        }

        @Override
        public void stateIsRead() {
            // Nobody replaces the updater.
        }

        @Override
        public Trainable onHost(Trainable layer) {
            return layer;
        }
    }
}
