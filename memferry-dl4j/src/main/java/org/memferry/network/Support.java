package org.memferry.network;

import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.accumulation.GradientsAccumulator;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.nd4j.CudaBuild;
import org.memferry.nd4j.Nd4jBuild;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.rng.Random;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;

/** What is served and what is refused by name, before anything is touched. */
final class Support {

    /** Simple name of the class of ND4J's CPU backend. */
    static final String CPU_BACKEND = "CpuBackend";
    /** Simple name of the class of ND4J's CUDA backend. */
    static final String CUDA_BACKEND = "JCublasBackend";

    private static final Logger LOG = LoggerFactory.getLogger(Support.class);

    private Support() {
    }

    /** Checks an initialised network. */
    static void check(NetworkAdapter adapter) {
        checkConfiguration(adapter);
        if (Ferry.of(adapter.network()) != null) {
            throw new RefusedException("the network is attached already: use MemFerry.of(network), or close that ferry first");
        }
        GradientsAccumulator other = adapter.solver() == null ? null : adapter.solver().getOptimizer().getGradientsAccumulator();
        if (other != null) {
            throw new RefusedException("the network has a gradients accumulator (" + other.getClass().getName()
                    + "): gradient accumulation and gradient sharing between workers are not served. Call setGradientsAccumulator(null) "
                    + "first, or train with plain DL4J.");
        }
    }

    /** Checks what the configuration alone tells. */
    static void checkConfiguration(NetworkAdapter adapter) {
        List<String> missing = Dl4jFields.missing();
        if (!missing.isEmpty()) {
            throw new RefusedException("this DL4J does not have the fields " + missing + ". MemFerry knows 1.0.0-M1.1 and 1.0.0-M2.1: use"
                    + " one of these.");
        }
        checkBackend(Nd4j.getBackend().getClass().getSimpleName());
        RegionArrays.elementBytes(adapter.dataType());
        checkAlgorithm(adapter.defaultConfiguration(), "the network");
        for (NeuralNetConfiguration conf : adapter.configurations()) {
            checkAlgorithm(conf, "layer " + conf.getLayer().getLayerName());
        }
        adapter.parametersOfLayers().forEach(Support::checkSize);
        if (adapter.countParameters() == 0) {
            throw new RefusedException("the network has no parameters (0 in " + adapter.configurations().size()
                    + " layers): there is nothing to ferry. Train it with plain DL4J.");
        }
    }

    /** A network may have more parameters than an {@code int} counts, and so may its updater state; one layer may not. */
    private static void checkSize(String layer, long parameters) {
        if (parameters < 0 || parameters > Integer.MAX_VALUE) {
            throw new RefusedException("layer " + layer + " has " + parameters + " parameters: DL4J counts those of one layer in int "
                    + "(expected: at most " + Integer.MAX_VALUE + " in a layer, while the network and its updater state may have more). "
                    + "Give it fewer inputs or outputs, or use several layers, each with a part of them.");
        }
    }

    /** DL4J is about to put an updater of its own in place of one that is too large for it. */
    static void refuseToReplace(BlockLayout layout) {
        throw new RefusedException("setting a learning rate through the network makes DL4J lay out an updater of its own, which cannot hold "
                + layout.parameterCount() + " parameters with " + layout.stateCount() + " elements of state (expected: at most "
                + Integer.MAX_VALUE + " of either). The updater was kept; the new rate is in the configuration already and is used from "
                + "the next iteration on. Call MemFerry.of(network).setLearningRate(rate) to set one without this.");
    }

    static void checkBackend(String backend) {
        if (!CPU_BACKEND.equals(backend) && !CUDA_BACKEND.equals(backend)) {
            throw new RefusedException("ND4J backend " + backend + " (expected: CpuBackend, that is nd4j-native on the class path, or JCublasBackend, "
                    + "that is nd4j-cuda). Remove the other backend from the class path or train with plain DL4J.");
        }
    }

    /** Checks that ND4J computes where the device is: its CUDA backend on the card, with a build that has code for it. */
    static void checkDevice(String backend, Device device) {
        if (!CUDA_BACKEND.equals(backend)) {
            return;
        }
        if (!(device instanceof CudaDevice)) {
            throw new RefusedException("device '" + device.name() + "' with ND4J's CUDA backend, which computes on a card (expected: cuda or cuda:0, "
                    + "with options; or nd4j-native on the class path in place of nd4j-cuda)");
        }
        CudaDevice card = (CudaDevice) device;
        if (CudaBuild.check(Nd4jBuild.version(), card.computeCapability()) == CudaBuild.Support.COMPILED_AT_FIRST_USE) {
            LOG.warn("{}: ND4J {} has no machine code for this card. Its driver compiles it at first use, which takes tens of minutes of processor"
                    + " time; the result is kept for the next start only with the environment variable CUDA_CACHE_MAXSIZE=4294967296.",
                    device.name(), Nd4jBuild.version());
        }
        RegionArrays.useCard(card.index());
    }

    private static void checkAlgorithm(NeuralNetConfiguration conf, String where) {
        OptimizationAlgorithm algorithm = conf.getOptimizationAlgo();
        if (algorithm != null && algorithm != OptimizationAlgorithm.STOCHASTIC_GRADIENT_DESCENT) {
            throw new RefusedException(where + " is optimised by " + algorithm + ", which takes steps of its own past the updater "
                    + "(expected: STOCHASTIC_GRADIENT_DESCENT, with any updater). Set optimizationAlgo(STOCHASTIC_GRADIENT_DESCENT).");
        }
    }

    /** True where DL4J's flat arrays have shape [1, n] (1.0.0-M1.1); later releases have [n]. */
    static boolean rank2() {
        return Rank.ROW;
    }

    /** Whether ND4J's arrays are memory of this process. */
    static boolean computesOnCpu() {
        return CPU_BACKEND.equals(Nd4j.getBackend().getClass().getSimpleName());
    }

    /** The backend for a log line, such as {@code CpuBackend, ND4J 1.0.0-M2.1}. */
    static String backend() {
        return Nd4j.getBackend().getClass().getSimpleName() + ", ND4J " + Nd4jBuild.version();
    }

    /** Found out once, from what a network of one parameter pair makes of a row. */
    private static final class Rank {

        static final boolean ROW = row();

        private static boolean row() {
            // Building a configuration sets the seed of ND4J's generator, which is the program's.
            Random random = Nd4j.getRandom();
            long rootState = random.rootState();
            long nodeState = random.nodeState();
            try {
                return rowOfNetwork();
            } finally {
                random.setStates(rootState, nodeState);
            }
        }

        private static boolean rowOfNetwork() {
            MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                    .layer(new OutputLayer.Builder(LossFunctions.LossFunction.MSE).nIn(1).nOut(1)
                            .activation(Activation.IDENTITY).build()).build());
            net.init(Nd4j.zeros(net.getLayerWiseConfigurations().getDataType(), 1, 2), false);
            return net.params().rank() == 2;
        }
    }
}
