package org.memferry.cases;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.Needs;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A step takes no memory that grows with the network: parameters, gradients and state are updated where they lie. Measured as the peak of
 * a process's resident set during iterations in which everything that training holds is there already. Case A03.
 */
class UpdateMemoryTest {

    private static final Path STATUS = Paths.get("/proc/self/status");
    private static final Path CLEAR = Paths.get("/proc/self/clear_refs");
    private static final int LAYERS = 20;
    private static final int WIDTH = 1000;
    private static final long LAYER_BYTES = 4L * WIDTH * WIDTH;

    @Test
    void aStepOfTwentyMillionParametersTakesLessThanAQuarterOfOneLayer() throws Exception {
        Needs.that(Files.isReadable(STATUS) && Files.isWritable(CLEAR), "the kernel shows no resettable peak in /proc/self");
        String output = run();
        Matcher matcher = Pattern.compile("extra=(-?\\d+) held=(\\d+)").matcher(output);
        assertThat(matcher.find()).as(output).isTrue();
        assertThat(Long.parseLong(matcher.group(2))).as("parameters, gradients and Adam's state").isGreaterThan(16L * LAYERS * WIDTH * WIDTH);
        assertThat(Long.parseLong(matcher.group(1))).as("bytes beyond what training holds, %s", output).isLessThan(LAYER_BYTES / 4);
    }

    private static String run() throws IOException, InterruptedException {
        File log = File.createTempFile("update-memory", ".log");
        try {
            ProcessBuilder builder = new ProcessBuilder(Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+UseSerialGC", "-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch", "-Dorg.bytedeco.javacpp.maxbytes=4g",
                    "-Dorg.bytedeco.javacpp.maxphysicalbytes=0", "-cp", System.getProperty("java.class.path"), Child.class.getName())
                    .redirectErrorStream(true).redirectOutput(log);
            builder.environment().put("MALLOC_ARENA_MAX", "1");
            // What is given back is gone at once, so that what the next step takes is seen.
            builder.environment().put("MALLOC_MMAP_THRESHOLD_", "65536");
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

        /** Warms up for some steps, then measures some, of which the one that took least counts. */
        public static void main(String[] args) throws IOException {
            NeuralNetConfiguration.ListBuilder list = new NeuralNetConfiguration.Builder().updater(new Adam(1e-4)).activation(Activation.TANH)
                    .list();
            for (int i = 0; i < LAYERS; i++) {
                list.layer(new DenseLayer.Builder().nIn(WIDTH).nOut(WIDTH).build());
            }
            MultiLayerNetwork net = new MultiLayerNetwork(list.layer(new OutputLayer.Builder(LossFunction.MSE).nIn(WIDTH).nOut(3)
                    .activation(Activation.IDENTITY).build()).build());
            MemFerry ferry = MemFerry.init(net, MemFerryConfig.defaults());
            for (int i = 0; i < 4; i++) {
                net.fit(Twins.batch(i, 3, 2, WIDTH));
            }
            // What the virtual machine takes to compile comes once, what a step takes in every step.
            long extra = Long.MAX_VALUE;
            for (int i = 4; i < 12; i++) {
                long before = status("VmRSS");
                Files.writeString(CLEAR, "5");
                net.fit(Twins.batch(i, 3, 2, WIDTH));
                extra = Math.min(extra, status("VmHWM") - before);
            }
            System.out.println("RESULT name=update-memory extra=" + extra + " held=" + ferry.plan().hostBytes());
            ferry.close();
        }

        private static long status(String name) throws IOException {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith(name + ":")) {
                    return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
                }
            }
            throw new IOException("no " + name);
        }
    }
}
