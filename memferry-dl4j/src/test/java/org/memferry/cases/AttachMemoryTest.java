package org.memferry.cases;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.Needs;
import org.memferry.plan.Placement;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Attaching to a fresh network never holds more in memory than the plan says it will in the end: parameters, gradients and updater state.
 * Measured as the resident set of a process of its own, of which the kernel keeps the peak. Case A17.
 */
class AttachMemoryTest {

    private static final Path STATUS = Paths.get("/proc/self/status");
    private static final Path CLEAR = Paths.get("/proc/self/clear_refs");
    private static final double TOLERANCE = 1.1;

    private static final int WIDTH = 1600;
    private static final int LAYERS = 8;

    @ParameterizedTest(name = "{0} on {1}")
    @CsvSource({"attach, host", "attach, emulated:64MB", "init, host"})
    void theResidentSetNeverExceedsThePlan(String way, String device) throws Exception {
        Needs.that(Files.isReadable(STATUS) && Files.isWritable(CLEAR), "the kernel shows no resettable peak in /proc/self");
        String output = run(way, device);
        long plan = value(output, "plan");
        assertThat(plan).as("tens of millions of parameters with gradient and Adam's state").isGreaterThan(16L * 20_000_000);
        long held = plan + value(output, "slab");
        assertThat((double) value(output, "attachPeak")).as("peak of attaching, %s", output).isLessThan(TOLERANCE * held);
        assertThat((double) value(output, "trainPeak")).as("peak of training, %s", output).isLessThan(TOLERANCE * held);
        // What is measured is what was planned: the state and the gradients of a trained network are really there.
        assertThat((double) value(output, "trained")).as("held by training, %s", output).isGreaterThan(0.8 * plan);
        assertThat((double) value(output, "closed")).as("held after close and before training goes on, %s", output)
                .isLessThan(TOLERANCE * plan);
    }

    private static long value(String output, String name) {
        Matcher matcher = Pattern.compile("\\b" + name + "=(-?\\d+)").matcher(output);
        assertThat(matcher.find()).as("%s in %s", name, output).isTrue();
        return Long.parseLong(matcher.group(1));
    }

    private static String run(String way, String device) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                // A heap that is all there from the start cannot grow into the measurement.
                "-XX:+UseSerialGC", "-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch",
                "-Dorg.bytedeco.javacpp.maxbytes=4g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-cp", System.getProperty("java.class.path"), Child.class.getName(), way, device));
        File log = File.createTempFile("attach-memory", ".log");
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
            // glibc keeps freed memory of every thread's arena: that is not what is asked here.
            builder.environment().put("MALLOC_ARENA_MAX", "1");
            builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
            Process child = builder.start();
            boolean ended = child.waitFor(5, TimeUnit.MINUTES);
            child.destroyForcibly();
            String output = Files.readString(log.toPath(), StandardCharsets.UTF_8);
            assertThat(ended && child.exitValue() == 0).as(output).isTrue();
            return output.substring(output.lastIndexOf("RESULT"));
        } finally {
            Files.delete(log.toPath());
        }
    }

    /** The measured process. */
    static final class Child {

        private Child() {
        }

        /** @param args attach or init, and the device */
        public static void main(String[] args) throws IOException, InterruptedException {
            boolean attach = args[0].equals("attach");
            MemFerryConfig config = MemFerryConfig.builder().device(args[1]).place("*", Placement.PREFETCH).build();
            // Libraries, thread pools and buffers of ND4J, and what of BLAS's grows with the matrices, are there before it begins.
            for (int i = 0; i < 3; i++) {
                cycle(new MultiLayerNetwork(network(1)), attach, config);
                // Their arrays must not be given back in the middle of the measurement, which would hide as much.
                System.gc();
                Thread.sleep(300);
            }
            long base = status("VmRSS");
            MultiLayerNetwork net = new MultiLayerNetwork(network(LAYERS));
            if (attach) {
                net.init();
                clearPeak();
            }
            MemFerry ferry = attach ? MemFerry.attach(net, config) : MemFerry.init(net, config);
            long attachPeak = status("VmHWM") - base;
            clearPeak();
            for (int i = 0; i < 2; i++) {
                net.fit(Twins.batch(i, 3, 2, WIDTH));
            }
            long trainPeak = status("VmHWM") - base;
            long trained = status("VmRSS") - base;
            long plan = ferry.plan().hostBytes();
            long slab = ferry.plan().slabBytes();
            ferry.close();
            long closed = status("VmRSS") - base;
            System.out.println("RESULT name=attach-memory base=" + base + " attachPeak=" + attachPeak + " trainPeak=" + trainPeak
                    + " trained=" + trained + " closed=" + closed + " plan=" + plan + " slab=" + slab);
        }

        private static void cycle(MultiLayerNetwork net, boolean attach, MemFerryConfig config) throws IOException {
            if (attach) {
                net.init();
            }
            try (MemFerry ferry = attach ? MemFerry.attach(net, config) : MemFerry.init(net, config)) {
                net.fit(Twins.batch(0, 3, 2, WIDTH));
            }
            clearPeak();
        }

        private static MultiLayerConfiguration network(int layers) {
            NeuralNetConfiguration.ListBuilder builder = new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH)
                    .updater(new Adam(1e-3)).list();
            for (int i = 0; i < layers; i++) {
                builder.layer(new DenseLayer.Builder().nOut(WIDTH).build());
            }
            return builder.layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
                    .setInputType(InputType.feedForward(WIDTH)).build();
        }

        /** The peak is the present value from here on. */
        private static void clearPeak() throws IOException {
            Files.writeString(CLEAR, "5");
        }

        private static long status(String name) throws IOException {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith(name + ":")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) << 10;
                }
            }
            throw new IOException(STATUS + " has no line " + name);
        }
    }
}
