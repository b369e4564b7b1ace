package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

import org.assertj.core.api.SoftAssertions;
import org.bytedeco.javacpp.FloatPointer;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.api.Updater;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.EmbeddingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.MemFerryProperties;
import org.memferry.MemFerryRuntime;
import org.memferry.base.DifferenceException;
import org.memferry.base.OutOfMemoryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.Device;
import org.memferry.device.Devices;
import org.memferry.device.HostMemory;
import org.memferry.device.LinkRates;
import org.memferry.device.Region;
import org.memferry.device.Ticket;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.device.cuda.FakeCuda;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.device.host.HostDevice;
import org.memferry.device.virtual.VirtualDevice;
import org.memferry.engine.AccessTrace;
import org.memferry.engine.IterationEngine;
import org.memferry.engine.Program;
import org.memferry.nd4j.CudaBuild;
import org.memferry.nd4j.RegionArrays;
import org.memferry.plan.Budget;
import org.memferry.plan.GradientHome;
import org.memferry.plan.Hardware;
import org.memferry.plan.IterationMemory;
import org.memferry.plan.LayerDescription;
import org.memferry.plan.LayerProfile;
import org.memferry.plan.LayerWork;
import org.memferry.plan.NetworkDescription;
import org.memferry.plan.Placement;
import org.memferry.plan.Plan;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;
import org.memferry.plan.Strategy;
import org.memferry.plan.Workload;
import org.memferry.planner.DefaultPlanner;
import org.memferry.planner.Forecast;
import org.memferry.planner.PlacementRules;
import org.memferry.planner.StrategyPlanner;
import org.memferry.update.ElementType;
import org.memferry.update.RuleStep;
import org.memferry.update.UpdateRange;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.pointers.PagedPointer;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.lossfunctions.LossFunctions;

/**
 * Walks the texts of refusals: each names the thing, the value that was wrong, and a way out. The last test finds, in the sources, every
 * place that refuses, so that no new one stays out of the walk by oversight.
 */
class RefusalTextTest {

    private static final List<String> WAYS_OUT = List.of("expected", "use ", "set ", "call", "place ", "give", "close", "train", "restore",
            "raise", "load", "convert");

    /** Refusals that take a training run, a foreign DL4J or a broken network to provoke; their own tests read them. */
    private static final List<String> ELSEWHERE = List.of("this DL4J does not have the fields", "the loaded DL4J cannot make its own rule",
            ": workspace \" + workspace + \" needs",
            ": data sets that are fetched ahead hold", "workspace \" + id + \" of \"", "the CUDA runtime cannot be loaded",
            " cards and gives each thread another one");

    @TempDir
    Path directory;

    private final Map<String, Throwable> refused = new LinkedHashMap<>();

    private final SoftAssertions softly = new SoftAssertions();

    private interface Action {
        void run() throws Exception;
    }

    /** Provokes a refusal whose text must contain what was wrong. */
    private void refuses(String wrong, Action action) {
        Throwable thrown = catchThrowable(action::run);
        assertThat(thrown).as("provoked with %s", wrong).isInstanceOfAny(RefusedException.class, OutOfMemoryException.class,
                DifferenceException.class);
        String text = thrown.getMessage();
        softly.assertThat(text).contains(wrong);
        softly.assertThat(text.length()).as("length of '%s'", text).isGreaterThan(60);
        softly.assertThat(WAYS_OUT.stream().anyMatch(text.toLowerCase(Locale.ROOT)::contains)).as("a way out in '%s'", text).isTrue();
        refused.put(text, thrown);
    }

    private void settings() {
        refuses("1.2.3MB", () -> Sizes.parse("1.2.3MB", "deviceMemory"));
        refuses("null", () -> MemFerryConfig.builder().device((Device) null));
        refuses("expect(0, 0", () -> MemFerryConfig.builder().expect(0));
        refuses("strategy NONE", () -> MemFerryConfig.builder().strategy(Strategy.NONE));
        refuses("evaluate: 0", () -> MemFerryConfig.builder().evaluate(0));
        refuses("parameterSlots: 1", () -> MemFerryConfig.builder().parameterSlots(1));
        refuses("'lots'", () -> MemFerryConfig.builder().headroom("lots"));
        // Two layers from four inputs.
        MultiLayerNetwork dense = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list().layer(new DenseLayer.Builder().nIn(4).nOut(3).build())
                .layer(new OutputLayer.Builder().nIn(3).nOut(2).build()).build());
        dense.init();
        for (InputType[] types : new InputType[][] {{InputType.feedForward(5)}, {InputType.feedForward(4), InputType.feedForward(4)},
                {InputType.convolutional(2, 2, 1)}}) {
            refuses("expect(2, " + Arrays.toString(types), () -> MemFerry.attach(dense, MemFerryConfig.builder().device("emulated:1MB").expect(2, types).build()));
        }
        refuses("updateThreads: 100000", () -> MemFerryConfig.builder().updateThreads(100_000));
        refuses("parameterSlots: 65", () -> MemFerryConfig.builder().parameterSlots(65));
        refuses("without a strategy", () -> MemFerryConfig.builder().profile(new File("p.json")).build());
        refuses("place('1', null", () -> MemFerryConfig.builder().place("1", null));
        refuses("config null", () -> MemFerry.attach(null, null));
        refuses("NONE", () -> MemFerryConfig.builder().strategy(Strategy.NONE));
        refuses("verifyFirstSteps: -1", () -> MemFerryConfig.builder().verifyFirstSteps(-1));
        refuses("RESIDENT, DIRECT", () -> PlacementRules.none().place("0", Placement.RESIDENT, Placement.DIRECT));
        refuses("NONE", () -> PlacementRules.none().placeGradient("0", GradientHome.NONE));
    }

    private void properties() {
        with(Map.of(MemFerryProperties.DEVICE_MEMORY, "6GB"), () -> refuses("'6GB'", MemFerryConfig::fromProperties));
        with(Map.of(MemFerryProperties.STRATEGY, "fast"), () -> refuses("'fast'", MemFerryConfig::fromProperties));
        with(Map.of(MemFerryProperties.VERIFY_FIRST_STEPS, "a few"), () -> refuses("'a few'", MemFerryConfig::fromProperties));
        with(Map.of(MemFerryProperties.EAGER_UPDATE, "yes"), () -> refuses("'yes'", MemFerryConfig::fromProperties));
    }

    private void managers() {
        with(Map.of("memorymanager", "com.example.Theirs"), () -> refuses("com.example.Theirs", MemFerryRuntime::install));
        refuses("in use already, with CpuMemoryManager", MemFerryRuntime::install);
        refuses("a MultiLayerNetwork begins", () -> {
            throw CallStack.unknown(MultiLayerNetwork.class, "not built");
        });
    }

    private static void with(Map<String, String> properties, Runnable action) {
        properties.forEach(System::setProperty);
        try {
            action.run();
        } finally {
            properties.keySet().forEach(System::clearProperty);
        }
    }

    private void updates() {
        refuses("updateThreads: 0", () -> MemFerryConfig.builder().updateThreads(0));
        refuses("config: null", () -> MemFerryListener.builder().config(null));
        refuses("epochFrequency: -1", () -> MemFerryListener.builder().epochFrequency(-1));
        refuses("INT", () -> ElementType.of(DataType.INT));
        IUpdater own = new Sgd(0.1) {
        };
        refuses(own.getClass().getName(), () -> RuleStep.of(own, ElementType.FLOAT, 0, 0));
        Regularization terms = new L2Regularization(0.1) {
        };
        refuses("egularisation", () -> UpdateRange.of(1).regularization(List.of(terms)).build());
    }

    private void plans() {
        NetworkDescription network = oneLayer(1 << 20);
        PlacementRules none = PlacementRules.none();
        refuses("'typo'", () -> DefaultPlanner.plan(network, new Budget(1 << 20, 0, true, 0, true),
                none.place("typo", Placement.DIRECT, Placement.DIRECT), 2));
        refuses("2,097,152 bytes", () -> DefaultPlanner.plan(network, new Budget(1 << 20, 2 << 20, true, 0, true), none, 2));
        refuses("4,194,304 bytes", () -> DefaultPlanner.plan(network, new Budget(1 << 20, 0, true, 0, true),
                none.place("*", Placement.RESIDENT, Placement.RESIDENT), 2));
    }

    private void strategies() throws IOException {
        NetworkDescription network = oneLayer(1 << 20);
        Profile profile = Profile.builder("key", List.of(LayerProfile.builder(1, 1).build())).build();
        Workload workload = new Workload("key", network, List.of(new LayerWork(1, 1, 0)), IterationMemory.none());
        refuses("plain training needs", () -> Forecast.of(Strategy.NONE, workload, profile, Hardware.named("V100-32-PCIe3"),
                workload.budget(1 << 20, 0)));
        MultiLayerNetwork series = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                .layer(new LSTM.Builder().nIn(3).nOut(2).build())
                .layer(new RnnOutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(2).nOut(2).build()).build());
        refuses("does not fit the network", () -> MemFerry.describe(series, 4, InputType.feedForward(3)));
        refuses("unknown length", () -> MemFerry.describe(series, 4, InputType.recurrent(3)));
        refuses("NONE", () -> StrategyPlanner.plan(Strategy.NONE, network, profile, new Budget(1 << 20, 0, true, 0, true),
                PlacementRules.none()));
        refuses("12.0 MB (12,582,912 bytes)", () -> StrategyPlanner.plan(Strategy.ZERO_OFFLOAD, oneLayer(3 << 19), profile,
                new Budget(1 << 20, 0, true, 0, true), PlacementRules.none()));
        refuses("batch: 0", () -> MemFerry.estimate(series, 0, Hardware.named("H200"), InputType.recurrent(3, 2)));
        refuses("-1 bytes", () -> Hardware.named("H200").withDeviceBytes(-1));
        refuses("'GTX9000'", () -> Hardware.named("GTX9000"));
        Path broken = Files.write(directory.resolve("broken.json"), new byte[] {1, 2, 3});
        refuses("broken.json", () -> ProfileFile.read(broken.toFile()));
    }

    private static NetworkDescription oneLayer(long parameters) {
        LayerDescription layer = LayerDescription.builder("dense", "Dense").parameters(0, parameters).build();
        return new NetworkDescription(List.of(layer), new int[] {0}, new int[] {0}, new int[] {0}, parameters, 0, 4);
    }

    private void devices() {
        refuses("'gpu'", () -> Devices.open("gpu"));
        refuses("org.memferry.deviceMemory", () -> Devices.open("emulated"));
        refuses("'h2d=0'", () -> Devices.open("emulated:1MB,h2d=0"));
        refuses("'delay=x'", () -> Devices.open("emulated:1MB,delay=x"));
        refuses("unknown option 'fast'", () -> Devices.open("emulated:1MB,fast"));
        refuses("'poison' is given twice", () -> Devices.open("emulated:1MB,poison,poison"));
        refuses("-1.0", () -> LinkRates.of(1, -1));
        refuses("lose to writes in place: -0.25", () -> LinkRates.UNLIMITED.shares(1, -0.25));
        refuses("0", () -> new VirtualDevice(0, LinkRates.UNLIMITED, (layer, backward) -> 0));
        refuses("-5", () -> EmulatedDevice.builder(-5).build());
        refuses("0.5", () -> EmulatedDevice.builder(5).computeDilation(0.5).build());
        Profile oneLayer = Profile.builder("key", List.of(LayerProfile.builder(1, 1).build())).build();
        refuses("compute dilation 2.0 with a pace", () -> EmulatedDevice.builder(5).computeDilation(2).pace(oneLayer).build());
        refuses("a profile of 1 layers, and layer 1 computes", () -> {
            try (Device paced = EmulatedDevice.builder(5).pace(oneLayer).build()) {
                paced.visitStarted(1, false, 0, 0);
                paced.visitEnded();
            }
        });
        refuses("0", () -> EmulatedDevice.builder(5).randomDelays(1, 0));
        refuses("4,611,686,018,427,387,904 bytes", () -> new HostDevice().allocateHost(1L << 62, "parameters"));
        VirtualDevice device = new VirtualDevice(1000, LinkRates.UNLIMITED, (layer, backward) -> -7);
        try (device; HostDevice host = new HostDevice(); EmulatedDevice other = EmulatedDevice.builder(1000).build()) {
            refuses("2,000 bytes", () -> device.allocateSlab(2000, "slots"));
            refuses("-1 bytes", () -> device.allocateHost(-1, "parameters"));
            refuses("100 bytes", () -> host.allocateSlab(100, "slots"));
            refuses("-7 ns", () -> {
                device.visitStarted(3, false, 0, 0);
                device.visitEnded();
            });
            regions(device, other, host);
        }
    }

    private void cards() {
        FakeCuda.start();
        refuses("memory: 0", () -> CudaDevice.builder(0).memory(0));
        refuses("0", () -> CudaDevice.builder(0).randomDelays(1, 0));
        refuses("'cuda:3'", () -> Devices.open("cuda:3"));
        FakeCuda.machine(1, 11060, 10020);
        refuses("driver is for CUDA 10.2", () -> Devices.open("cuda:0"));
        FakeCuda.start();
        FakeCuda.attribute(41, 0);
        refuses("unified addressing", () -> Devices.open("cuda"));
        FakeCuda.start();
        FakeCuda.deviceMemoryOutOfReach();
        refuses("nd4j-native", () -> Devices.open("cuda"));
        FakeCuda.start();
        FakeCuda.limits(1000, 1 << 20, 1 << 20);
        try (Device card = Devices.open("cuda:0,memory=1MB"); Device other = Devices.open("host")) {
            refuses("2,000 bytes", () -> card.allocateSlab(2000, "slots"));
            refuses("ticket", () -> card.recordCompute(other.newTicket()));
        }
        FakeCuda.start();
    }

    private void regions(VirtualDevice device, EmulatedDevice other, HostDevice host) {
        Ticket[] none = {};
        Region region = device.allocateHost(100, "parameters");
        Region slab = device.allocateSlab(100, "slots");
        Region closed = device.allocateHost(100, "gradients");
        closed.close();
        refuses("'parameters'", () -> device.copyToDevice(region, 0, region, 0, 10, none, device.newTicket()));
        refuses("'gradients'", () -> device.copyToDevice(closed, 0, slab, 0, 10, none, device.newTicket()));
        refuses("offset 95, length 10", () -> device.copyToDevice(region, 95, slab, 0, 10, none, device.newTicket()));
        refuses("ticket", () -> device.recordCompute(other.newTicket()));
        refuses("ticket", () -> other.recordCompute(device.newTicket()));
        refuses("10 bytes", () -> host.copyToDevice(region, 0, slab, 0, 10, none, host.newTicket()));
        slab.close();
        region.close();
    }

    private void preflights() {
        Plan plan = Plan.inPlace(oneLayer(1 << 20), new Budget(Long.MAX_VALUE, 0, true, 0, true));
        for (HostMemory.Kind kind : HostMemory.Kind.values()) {
            HostMemory memory = HostMemory.read(directory).with(new HostMemory.Limit(kind, 3 << 20, 1 << 20));
            refuses(kind.title() + " leaves 1.00 MB (1,048,576 bytes) of 3.00 MB",
                    () -> Preflight.of(plan, 0, true, "host", memory, false).check());
            System.setProperty(Preflight.PROPERTY, "off");
            try (Device device = Devices.open("host")) {
                refuses("'off'", () -> Preflight.of(plan, 0, device));
            } finally {
                System.clearProperty(Preflight.PROPERTY);
            }
        }
    }

    private void networks() {
        refuses("null", () -> MemFerry.attach(null, MemFerryConfig.defaults()));
        refuses("HALF", () -> RegionArrays.elementBytes(DataType.HALF));
        refuses("OtherBackend", () -> Support.checkBackend("OtherBackend"));
        try (HostDevice host = new HostDevice()) {
            refuses("'host'", () -> Support.checkDevice(Support.CUDA_BACKEND, host));
        }
        refuses("sm_90", () -> CudaBuild.check("1.0.0-M2.1", 90));
        refuses("sm_30", () -> CudaBuild.check("1.0.0-M1.1", 30));
        refuses("not initialised", () -> MemFerry.attach(network(configuration()), MemFerryConfig.defaults()));
        MultiLayerNetwork initialised = network(configuration());
        initialised.init();
        refuses("initialised already", () -> MemFerry.init(initialised, MemFerryConfig.defaults()));
        try (Device device = Devices.open("emulated:1MB")) {
            refuses("parameters of 24 B (24 bytes) could not be pinned", () -> MemFerry.attach(initialised, MemFerryConfig.builder()
                    .device(withoutPinning(device)).place("*", Placement.DIRECT).build()));
        }
        try (MemFerry ferry = MemFerry.attach(initialised, MemFerryConfig.defaults())) {
            refuses("attached already", () -> MemFerry.attach(initialised, MemFerryConfig.defaults()));
            refuses("recordTimeline: 0", () -> ferry.recordTimeline(0));
            refuses("-0.5", () -> ferry.setLearningRate(-0.5));
            initialised.setGradientsAccumulator(accumulator());
            refuses("attached network was given a gradients accumulator", () -> ferry.setLearningRate(0.1));
            initialised.setGradientsAccumulator(null);
        }
        MultiLayerNetwork grown = network(configuration());
        grown.init();
        try (MemFerry ferry = MemFerry.attach(grown, MemFerryConfig.builder().device("emulated:4KB").expect(2, InputType.feedForward(2)).build())) {
            INDArray many = Nd4j.ones(1000, 2);
            refuses("train on 1000 examples of [InputTypeFeedForward(2)] at once", () -> grown.fit(many, many));
            refuses("evaluate 1000 examples of [InputTypeFeedForward(2)] at once beside training on [2 examples", () -> grown.output(many));
        }
        MultiLayerNetwork shared = network(configuration());
        shared.init();
        shared.setGradientsAccumulator(accumulator());
        refuses("gradients accumulator", () -> MemFerry.attach(shared, MemFerryConfig.defaults()));
        MultiLayerNetwork own = network(configuration());
        own.init();
        own.setUpdater((Updater) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Updater.class},
                (proxy, method, arguments) -> null));
        refuses("updater is a ", () -> MemFerry.attach(own, MemFerryConfig.defaults()));
        MultiLayerConfiguration still = configuration();
        ((OutputLayer) still.getConf(0).getLayer()).setIUpdater(null);
        refuses("no updater: layer", () -> MemFerry.init(network(still), MemFerryConfig.defaults()));
        MultiLayerConfiguration adaGrad = configuration();
        ((OutputLayer) adaGrad.getConf(0).getLayer()).setIUpdater(new AdaGrad(0.1));
        MultiLayerNetwork damaged = network(adaGrad);
        damaged.init();
        damaged.getUpdater().getStateViewArray().putScalar(2, -0.75);
        refuses("-0.75", () -> MemFerry.attach(damaged, MemFerryConfig.defaults()));
        MultiLayerConfiguration notANumber = configuration();
        ((OutputLayer) notANumber.getConf(0).getLayer()).setIUpdater(new Sgd(Double.NaN));
        refuses("is NaN", () -> MemFerry.init(network(notANumber), MemFerryConfig.defaults()));
        MultiLayerConfiguration other = new NeuralNetConfiguration.Builder().optimizationAlgo(OptimizationAlgorithm.LBFGS).list()
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(2).nOut(2).build()).build();
        refuses("LBFGS", () -> MemFerry.init(network(other), MemFerryConfig.defaults()));
        MultiLayerConfiguration empty = new NeuralNetConfiguration.Builder().list().layer(new ActivationLayer.Builder().build()).build();
        refuses("0 in 1 layers", () -> MemFerry.init(network(empty), MemFerryConfig.defaults()));
    }

    private static Device withoutPinning(Device device) {
        return (Device) Proxy.newProxyInstance(Device.class.getClassLoader(), new Class<?>[] {Device.class},
                (proxy, method, arguments) -> method.getName().equals("canUseInPlace") ? Boolean.FALSE : method.invoke(device, arguments));
    }

    private void differences() {
        MultiLayerNetwork damaged = network(configuration());
        damaged.init();
        try (MemFerry ferry = MemFerry.attach(damaged, MemFerryConfig.builder().verifyFirstSteps(2).build())) {
            FloatPointer memory = new FloatPointer(new PagedPointer(RegionArrays.firstElement(damaged.params())));
            INDArray data = Nd4j.ones(3, 2);
            damaged.fit(data, data);
            memory.put(3, memory.get(3) + 1);
            refuses("parameter W of layer 0 (OutputLayer) differs first at element 3 of 4", () -> damaged.fit(data, data));
        }
    }

    private void sizes() {
        MultiLayerConfiguration wide = new NeuralNetConfiguration.Builder().list()
                .layer(new EmbeddingLayer.Builder().nIn(60_000_000).nOut(40).build())
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(40).nOut(2).build()).build();
        refuses("layer 0 (EmbeddingLayer) has 2400000000 parameters", () -> MemFerry.init(network(wide), MemFerryConfig.defaults()));
        BlockLayout layout = BlockLayout.builder().add(1_080_000_000, 2_160_000_000L, false).add(5, 10, false).build();
        refuses("1080000005 parameters with 2160000010", () -> Support.refuseToReplace(layout));
        LargeBlock block = new LargeBlock(layout, 1, List.of());
        refuses("2160000000", block::getUpdaterViewOffsetStart);
        refuses("2160000010", () -> block.updateExternalGradient(0, 0, null, null));
    }

    /** Of a user: gradients are shared between workers. */
    private static GradientsAccumulator accumulator() {
        return (GradientsAccumulator) Proxy.newProxyInstance(RefusalTextTest.class.getClassLoader(),
                new Class<?>[] {GradientsAccumulator.class}, (proxy, method, arguments) -> null);
    }

    private static MultiLayerConfiguration configuration() {
        return new NeuralNetConfiguration.Builder().list()
                .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(2).nOut(2).build()).build();
    }

    private static MultiLayerNetwork network(MultiLayerConfiguration configuration) {
        return new MultiLayerNetwork(configuration);
    }

    private void files() throws IOException {
        File missing = directory.resolve("missing.zip").toFile();
        refuses("missing.zip", () -> ModelArchive.open(missing));
        Path broken = Files.write(directory.resolve("broken.zip"), new byte[] {1, 2, 3});
        refuses("broken.zip", () -> ModelArchive.open(broken.toFile()));
        refuses("[2, 3]", () -> HostArray.of(8, DataType.FLOAT, 2, 3));
        refuses("[4] values at address 0", () -> HostArray.of(0, DataType.FLOAT, 4));
        refuses("LONG", () -> HostArray.of(8, DataType.LONG, 4));
        File target = directory.resolve("out.zip").toFile();
        refuses("out.zip", () -> ModelArchive.write(target, "{}", HostArray.NONE, HostArray.NONE, Map.of()));
        refuses("coefficients.bin", () -> ModelArchive.write(target, configuration().toJson(), HostArray.NONE, HostArray.NONE,
                Map.of("coefficients.bin", new byte[0])));
        MultiLayerNetwork saved = network(configuration());
        saved.init();
        File file = directory.resolve("model.zip").toFile();
        saved.save(file, false);
        try (ModelArchive archive = ModelArchive.open(file)) {
            refuses("holds 6 values", () -> archive.readParameters(8, 7, DataType.FLOAT));
            refuses("FLOAT", () -> archive.readParameters(8, 6, DataType.DOUBLE));
        }
        damagedFiles(file.toPath());
        refuses("MultiLayerNetwork", () -> MemFerry.restoreComputationGraph(file, false, MemFerryConfig.defaults()));
    }

    private void damagedFiles(Path whole) throws IOException {
        Path cut = rewritten(whole, "cut.zip", "coefficients.bin", bytes -> Arrays.copyOf(bytes, bytes.length - 4));
        refuses("cut.zip", () -> ModelArchive.open(cut.toFile()));
        Path without = rewritten(whole, "without.zip", "configuration.json", bytes -> null);
        refuses("no entry configuration.json", () -> ModelArchive.open(without.toFile()));
        File empty = directory.resolve("empty.zip").toFile();
        ModelArchive.write(empty, configuration().toJson(), HostArray.NONE, HostArray.NONE, Map.of());
        try (ModelArchive archive = ModelArchive.open(empty)) {
            refuses("empty.zip", archive::parameterType);
        }
    }

    /** A copy of a zip with one entry changed, or left out where the change is null. */
    private Path rewritten(Path whole, String name, String entry, UnaryOperator<byte[]> change) throws IOException {
        Path copy = directory.resolve(name);
        try (ZipFile from = new ZipFile(whole.toFile()); ZipOutputStream to = new ZipOutputStream(Files.newOutputStream(copy))) {
            for (ZipEntry each : Collections.list(from.entries())) {
                byte[] bytes = from.getInputStream(each).readAllBytes();
                byte[] changed = each.getName().equals(entry) ? change.apply(bytes) : bytes;
                if (changed != null) {
                    to.putNextEntry(new ZipEntry(each.getName()));
                    to.write(changed);
                }
            }
        }
        return copy;
    }

    private void traces() {
        refuses("'layers'", () -> AccessTrace.parse("layers"));
        Plan plan = Plan.inPlace(oneLayer(1), new Budget(Long.MAX_VALUE, 0, true, 0, true));
        try (HostDevice device = new HostDevice();
                IterationEngine engine = new IterationEngine(Program.compile(plan), device, null, null, null, (layer, slot) -> { })) {
            refuses("7 layers", () -> new AccessTrace(7).replay(engine));
        }
    }

    @Test
    void every_refusal_names_the_thing_the_value_and_a_way_out() throws IOException {
        settings();
        properties();
        updates();
        plans();
        strategies();
        devices();
        if (FakeCuda.isThere()) {
            cards();
        }
        preflights();
        networks();
        differences();
        sizes();
        files();
        traces();
        // By now ND4J is in use.
        managers();
        softly.assertThat(missingFromTheWalk()).as("places that refuse and are not walked").isEmpty();
        softly.assertAll();
    }

    /** Places in the sources that make a refusal, without those whose refusal was provoked, by the line it was made in. */
    private List<String> missingFromTheWalk() throws IOException {
        Set<String> walked = new HashSet<>();
        for (Throwable thrown : refused.values()) {
            StackTraceElement origin = thrown.getStackTrace()[0];
            walked.add(origin.getFileName() + ":" + origin.getLineNumber());
        }
        List<String> missing = new ArrayList<>();
        try (Stream<Path> sources = Files.walk(Path.of("src/main/java"))) {
            for (Path source : sources.filter(p -> p.toString().endsWith(".java")).sorted().collect(Collectors.toList())) {
                List<String> lines = Files.readAllLines(source, StandardCharsets.UTF_8);
                for (int i = 0; i < lines.size(); i++) {
                    boolean makes = lines.get(i).matches(".*new (RefusedException|OutOfMemoryException|DifferenceException)\\(.*");
                    if (makes && !walked(walked, source, lines, i)) {
                        missing.add(source.getFileName() + ": " + lines.get(i).trim());
                    }
                }
            }
        }
        missing.removeIf(place -> ELSEWHERE.stream().anyMatch(place::contains) || !FakeCuda.isThere() && place.startsWith("Cuda"));
        return missing;
    }

    /** A text of several lines is made in any line of its statement. */
    private static boolean walked(Set<String> walked, Path source, List<String> lines, int start) {
        int line = start;
        while (!walked.contains(source.getFileName() + ":" + (line + 1))) {
            if (lines.get(line).endsWith(";")) {
                return false;
            }
            line++;
        }
        return true;
    }
}
