package org.memferry.examples.forecast;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.memferry.MemFerry;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.examples.HardwareNames;
import org.memferry.examples.bench.FitModel;
import org.memferry.examples.bench.KnownNetwork;
import org.memferry.network.ModelArchive;
import org.memferry.plan.Hardware;
import org.memferry.plan.Workload;
import org.memferry.planner.Estimate;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The part of the command line that says what is planned, and on what. */
final class Subject {

    @Parameters(index = "0", arity = "0..1", paramLabel = "MODEL",
            description = "A model file, or a built-in network: mlp60m, lstm, cnn, lenet, alexnet, vgg16_64, vgg16_224, resnet50, unet, "
                    + "text_lstm, lstm1024, transformer, tinyyolo; of published shapes, not for estimate: bert-base, bert-large, "
                    + "roberta-base, gpt2-medium, txl-0.7b, txl-1.3b, txl-2.7b, txl-6.7b.")
    private String model;

    @Option(names = "--model", paramLabel = "MODEL", description = "The same as MODEL.")
    private void setModel(String value) {
        model = value;
    }

    @Option(names = "--input", paramLabel = "TYPE", split = ",",
            description = "Input types of a model file: 784 (features), 77x50 (features x steps of time), 3x32x32 (channels x height x "
                    + "width); one per network input. For a network that begins with a dense layer it is known.")
    private List<String> inputs = new ArrayList<>();

    @Option(names = "--batch", paramLabel = "N", defaultValue = "32",
            description = "Examples in an iteration; those of published shapes have their own. Default: ${DEFAULT-VALUE}.")
    private int batch;

    @Option(names = "--hardware", paramLabel = "NAME", defaultValue = "V100-32-PCIe3", completionCandidates = HardwareNames.class,
            description = "${COMPLETION-CANDIDATES}, or a .json file of the same form. Default: ${DEFAULT-VALUE}.")
    private String hardware;

    @Option(names = "--device-memory", paramLabel = "SIZE", description = "Memory of the device; that of the hardware if not given.")
    private String deviceMemory;

    @Option(names = "--headroom", paramLabel = "SIZE", defaultValue = "0", description = "Device memory to leave alone.")
    private String headroom;

    boolean isNamed() {
        return model != null;
    }

    String name() {
        return model;
    }

    File file() {
        return new File(model);
    }

    Hardware hardware() throws IOException {
        return hardware.endsWith(".json") ? Hardware.read(new File(hardware)) : Hardware.named(hardware);
    }

    long deviceBytes(Hardware described) {
        return deviceMemory == null ? described.deviceBytes() : Sizes.parse(deviceMemory, "--device-memory");
    }

    long headroomBytes() {
        return Sizes.parse(headroom, "--headroom");
    }

    /**
     * What is planned.
     *
     * @throws RefusedException if there is no such model, or its inputs are not known
     */
    Workload workload() {
        if (batch < 1) {
            throw new RefusedException("--batch: " + batch + " (expected: >= 1)");
        }
        for (PaperModel known : PaperModel.values()) {
            if (known.title().equals(model)) {
                refuseInput(inputs, model);
                return known.workload();
            }
        }
        Named named = named();
        return MemFerry.describe(named.network, batch, named.types);
    }

    /**
     * What training it takes.
     *
     * @throws RefusedException if there is no such model, or its inputs are not known
     */
    Estimate estimate() throws IOException {
        Hardware described = hardware();
        for (PaperModel known : PaperModel.values()) {
            if (known.title().equals(model)) {
                throw new RefusedException(model + " is a list of shapes and no DL4J network: its activations are assumed, not estimated "
                        + "(expected: a model file, or another built-in network)");
            }
        }
        Named named = named();
        return MemFerry.estimate(named.network, batch, described.withDeviceBytes(deviceBytes(described)), named.types);
    }

    /** What goes into a built-in network is its own. */
    static void refuseInput(List<String> inputs, String model) {
        if (!inputs.isEmpty()) {
            throw new RefusedException("--input: " + String.join(",", inputs) + " beside the built-in network " + model + ", which has its own input "
                    + "(expected: --input for a model file only)");
        }
    }

    private Named named() {
        for (FitModel known : FitModel.values()) {
            if (known.toString().equalsIgnoreCase(model)) {
                refuseInput(inputs, model);
                return new Named(known.network(), known.input());
            }
        }
        for (KnownNetwork known : KnownNetwork.values()) {
            if (known.title().equalsIgnoreCase(model)) {
                refuseInput(inputs, model);
                return new Named(known.network(), known.input());
            }
        }
        if (!file().exists()) {
            throw new RefusedException(model + ": there is no such file (expected: a model file, or a built-in network, which --help lists)");
        }
        try (ModelArchive archive = ModelArchive.open(file())) {
            Model network = archive.isGraph() ? new ComputationGraph(ComputationGraphConfiguration.fromJson(archive.configurationJson()))
                    : new MultiLayerNetwork(MultiLayerConfiguration.fromJson(archive.configurationJson()));
            return new Named(network, types(network, inputs, model));
        }
    }

    /** A network that is not initialised, and what goes into it. */
    private static final class Named {

        private final Model network;
        private final InputType[] types;

        Named(Model network, InputType... types) {
            this.network = network;
            this.types = types;
        }
    }

    /**
     * The types of a network's inputs, as told or, where it begins with a dense layer, from its configuration.
     *
     * @param inputs one per network input, such as {@code 784}; empty if not told
     * @param model  its name, for the error
     */
    static InputType[] types(Model network, List<String> inputs, String model) {
        if (!inputs.isEmpty()) {
            return inputs.stream().map(Subject::type).toArray(InputType[]::new);
        }
        if (network instanceof MultiLayerNetwork) {
            MultiLayerConfiguration configuration = ((MultiLayerNetwork) network).getLayerWiseConfigurations();
            Layer first = configuration.getConf(0).getLayer();
            if (first.getClass().getSimpleName().equals("DenseLayer") && configuration.getInputPreProcess(0) == null) {
                return new InputType[] {InputType.feedForward(((FeedForwardLayer) first).getNIn())};
            }
        }
        throw new RefusedException(model + " does not say what goes into it (expected: --input 784, --input 77x50 or --input 3x32x32, one "
                + "per network input)");
    }

    private static InputType type(String text) {
        try {
            String[] sizes = text.toLowerCase(Locale.ROOT).split("x", -1);
            long[] n = new long[sizes.length];
            for (int i = 0; i < n.length; i++) {
                n[i] = Long.parseLong(sizes[i]);
                if (n[i] < 1) {
                    throw new NumberFormatException(sizes[i]);
                }
            }
            switch (n.length) {
                case 1:
                    return InputType.feedForward(n[0]);
                case 2:
                    return InputType.recurrent(n[0], n[1]);
                case 3:
                    return InputType.convolutional(n[1], n[2], n[0]);
                default:
                    throw new NumberFormatException(text);
            }
        } catch (NumberFormatException e) {
            throw new RefusedException("--input: '" + text + "' (expected: 784, 77x50 or 3x32x32, sizes of at least 1)");
        }
    }
}
