package org.memferry.cases;

import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.Needs;
import org.memferry.base.OutOfMemoryException;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
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

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A process that may have the plan and a tenth more trains and saves; another one restores and trains on. The limit is that of
 * {@code ulimit -d}, which the process sets itself once its libraries are loaded. Case B48.
 */
class LimitedHostTest {

    private static final Path STATUS = Paths.get("/proc/self/status");
    private static final int WIDTH = 2000;
    private static final int LAYERS = 6;
    private static final long PLAN = 16L * (LAYERS * (long) WIDTH * (WIDTH + 1) + 3 * (WIDTH + 1));

    @TempDir
    Path directory;

    @Test
    void a_process_limited_to_the_plan_and_a_tenth_trains_saves_restores_and_trains() throws Exception {
        needsLimits();
        File file = directory.resolve("net.zip").toFile();
        String trained = run("train", file, 1.1);
        assertThat(trained).contains("RESULT").contains("iterations=2");
        String resumed = run("resume", file, 1.1);
        assertThat(resumed).contains("iterations=4");
        // What a process without a limit has, to the bit.
        File free = directory.resolve("free.zip").toFile();
        run("train", free, 0);
        assertThat(result(resumed)).isEqualTo(result(run("resume", free, 0)));
    }

    @Test
    void a_process_limited_to_half_the_plan_is_refused_before_anything_is_taken_and_not_killed() throws Exception {
        needsLimits();
        assertThat(run("train", directory.resolve("none.zip").toFile(), 0.5)).contains("REFUSED").contains("data size (ulimit -d)")
                .contains("ulimit -d ").contains("taken=0");
    }

    private static void needsLimits() throws Exception {
        Needs.that(Files.isReadable(STATUS), "the kernel shows no /proc/self/status");
        Needs.that(new ProcessBuilder("sh", "-c", "command -v prlimit").start().waitFor() == 0, "there is no prlimit (util-linux)");
    }

    private static String result(String output) {
        return output.substring(output.lastIndexOf("RESULT")).strip();
    }

    private static String run(String mode, File file, double share) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xms96m", "-Xmx96m", "-XX:ReservedCodeCacheSize=64m",
                "-Dorg.bytedeco.javacpp.maxbytes=4g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-cp", System.getProperty("java.class.path"), Child.class.getName(), mode, file.toString(), String.valueOf(share)));
        File log = File.createTempFile("limited-host", ".log");
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
            builder.environment().put("MALLOC_ARENA_MAX", "1");
            builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
            Process child = builder.start();
            boolean ended = child.waitFor(2, TimeUnit.MINUTES);
            child.destroyForcibly();
            String output = Files.readString(log.toPath(), StandardCharsets.UTF_8);
            assertThat(ended && child.exitValue() == 0).as(output).isTrue();
            return output;
        } finally {
            Files.delete(log.toPath());
        }
    }

    /** The limited process. */
    static final class Child {

        private Child() {
        }

        /** @param args train or resume, the model file, and the limit as a share of the plan; 0 for none */
        public static void main(String[] args) throws Exception {
            MemFerryConfig config = MemFerryConfig.builder().device("host").build();
            warmUp(config);
            limit(Double.parseDouble(args[2]));
            File file = new File(args[1]);
            MultiLayerNetwork net;
            if (args[0].equals("train")) {
                net = new MultiLayerNetwork(network(LAYERS, WIDTH));
                try {
                    MemFerry.init(net, config);
                } catch (OutOfMemoryException e) {
                    System.out.println("REFUSED " + e.getMessage() + " taken=" + (net.isInitCalled() ? "1" : "0"));
                    return;
                }
            } else {
                net = MemFerry.restoreMultiLayerNetwork(file, true, config);
            }
            for (int i = 0; i < 2; i++) {
                net.fit(Twins.batch(i, 3, 2, WIDTH));
            }
            MemFerry.of(net).save(file, true);
            net.fit(Twins.batch(7, 3, 2, WIDTH));
            System.out.println("RESULT iterations=" + (net.getIterationCount() - 1) + " sum=" + sum(net.params()) + " state="
                    + sum(net.getUpdater().getStateViewArray()));
            // Without close, which would make ordinary arrays of everything.
            Runtime.getRuntime().halt(0);
        }

        /** BLAS takes buffers that grow with the matrices, and does not survive to be refused one. */
        private static void warmUp(MemFerryConfig config) throws Exception {
            MultiLayerNetwork net = new MultiLayerNetwork(network(1, WIDTH));
            try (MemFerry ferry = MemFerry.init(net, config)) {
                net.fit(Twins.batch(0, 3, 2, WIDTH));
            }
            net.close();
            System.gc();
            Thread.sleep(300);
        }

        /** From here on the process may take so much more, as the shell's {@code ulimit -d} has it. */
        private static void limit(double share) throws Exception {
            if (share == 0) {
                return;
            }
            long data = 0;
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith("VmData:")) {
                    data = Long.parseLong(line.replaceAll("\\D", "")) << 10;
                }
            }
            long limit = data + (long) (share * PLAN);
            Process prlimit = new ProcessBuilder("prlimit", "--pid", String.valueOf(ProcessHandle.current().pid()), "--data=" + limit)
                    .inheritIO().start();
            if (prlimit.waitFor() != 0) {
                throw new IOException("prlimit ended with exit code " + prlimit.exitValue());
            }
        }

        private static long sum(INDArray array) {
            long sum = 0;
            for (long i = 0; i < array.length(); i += 997) {
                sum = 31 * sum + Float.floatToRawIntBits(array.getFloat(i));
            }
            return sum;
        }

        private static MultiLayerConfiguration network(int layers, int width) {
            NeuralNetConfiguration.ListBuilder builder = new NeuralNetConfiguration.Builder().seed(1).activation(Activation.TANH)
                    .updater(new Adam(1e-3)).list();
            for (int i = 0; i < layers; i++) {
                builder.layer(new DenseLayer.Builder().nOut(width).build());
            }
            return builder.layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
                    .setInputType(InputType.feedForward(width)).build();
        }
    }
}
