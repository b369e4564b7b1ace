package org.memferry.cases;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.Needs;
import org.nd4j.linalg.learning.config.Adam;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** Which kernel takes the step, on how many threads, is said in one line of the log for each attachment; what is slower is a warning. */
class KernelChoiceTest {

    private static final String KERNEL = "org.memferry.update.kernel";

    private static List<String> engineLines(Logs logs) {
        return logs.at(Level.INFO).stream().filter(line -> line.startsWith("update kernel: ")).collect(Collectors.toList());
    }

    // B03
    @Test
    void oneLineNamesTheKernelAndItsThreads() {
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().updateThreads(3).build())) {
            Nets.train(net, 0, 3);
            assertThat(engineLines(logs)).singleElement().asString().matches("update kernel: (native \\S+|Java), 3 threads");
            assertThat(ferry.isOpen()).isTrue();
        }
    }

    // B03
    @Test
    void aForcedKernelIsTheOneInTheLogAndItsNumbersAreTheSame() {
        MultiLayerNetwork stock = Nets.layers(new Adam(0.01));
        Nets.train(stock, 0, 3);
        MultiLayerNetwork net = Nets.layers(new Adam(0.01));
        System.setProperty(KERNEL, "java");
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().updateThreads(1).build())) {
            Nets.train(net, 0, 3);
            Numbers.assertSame(stock, net, "with the Java kernel");
            assertThat(engineLines(logs)).containsExactly("update kernel: Java, 1 thread");
            assertThat(logs.at(Level.WARN)).as("what was asked for is no reason to warn").isEmpty();
            assertThat(ferry.isOpen()).isTrue();
        } finally {
            System.clearProperty(KERNEL);
        }
    }

    // B01, B03: nothing is compiled at the user's, and what is not there is not needed
    @Test
    void withoutTheLibraryTrainingGoesOnAndTheFirstCauseIsSaidOnce() throws Exception {
        List<String> output = child(List.of(), List.of("env", "-u", "OMP_NUM_THREADS"), "hidden");
        assertThat(output).filteredOn(line -> line.contains("WARN") && line.contains("update kernel")).singleElement().asString()
                .contains("The native update kernel was not loaded: linux-x86_64/libmemferry.so is not in the jar");
        assertThat(output).filteredOn(line -> line.contains("update kernel: Java, ")).hasSize(1);
    }

    // B61
    @Test
    void threadsAreTheCpusOfTheProcessAndOneLeftInTheEnvironmentIsHeededWithAWarning() throws Exception {
        List<String> limited = child(List.of("-XX:ActiveProcessorCount=3"), List.of("env", "-u", "OMP_NUM_THREADS"), "there");
        assertThat(limited).filteredOn(line -> line.contains("update kernel: ")).singleElement().asString().endsWith(", 3 threads");
        assertThat(limited).noneMatch(line -> line.contains("OMP_NUM_THREADS"));
        List<String> left = child(List.of("-XX:ActiveProcessorCount=3"), List.of("env", "OMP_NUM_THREADS=1"), "there");
        assertThat(left).filteredOn(line -> line.contains("update kernel: ")).singleElement().asString().endsWith(", 1 thread");
        assertThat(left).filteredOn(line -> line.contains("OMP_NUM_THREADS=1 in the environment")).singleElement().asString()
                .contains("WARN").contains("1 thread of 3 CPUs");
        List<String> told = child(List.of("-XX:ActiveProcessorCount=3", "-Dorg.memferry.update.threads=2"), List.of("env", "OMP_NUM_THREADS=1"),
                "there");
        assertThat(told).filteredOn(line -> line.contains("update kernel: ")).singleElement().asString().endsWith(", 2 threads");
        assertThat(told).noneMatch(line -> line.contains("OMP_NUM_THREADS"));
    }

    // B61
    @Test
    void affinityCounts() throws Exception {
        Needs.that(Files.isExecutable(Paths.get("/usr/bin/taskset")), "there is no /usr/bin/taskset");
        List<String> output = child(List.of(), List.of("env", "-u", "OMP_NUM_THREADS", "/usr/bin/taskset", "-c", "0"), "there");
        assertThat(output).filteredOn(line -> line.contains("update kernel: ")).singleElement().asString().endsWith(", 1 thread");
    }

    /** The lines that a process logs which trains a network for a step. */
    private static List<String> child(List<String> options, List<String> wrapper, String library) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(wrapper);
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path"), Child.class.getName(), library));
        File log = File.createTempFile("kernel-choice", ".log");
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
            builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
            Process child = builder.start();
            boolean ended = child.waitFor(3, TimeUnit.MINUTES);
            child.destroyForcibly();
            List<String> output = Files.readAllLines(log.toPath(), StandardCharsets.UTF_8);
            assertThat(ended && child.exitValue() == 0).as(String.join("\n", output)).isTrue();
            return output;
        } finally {
            Files.delete(log.toPath());
        }
    }

    /** Trains for a step. */
    public static final class Child {

        private Child() {
        }

        /** @param args {@code hidden} to do so where the native library cannot be seen */
        public static void main(String[] args) throws Exception {
            if (args[0].equals("hidden")) {
                mainWithoutLibrary();
                return;
            }
            ((Logger) LoggerFactory.getLogger("org.memferry")).setLevel(Level.INFO);
            MultiLayerNetwork net = Nets.layers(new Adam(0.01));
            try (MemFerry ferry = MemFerry.attach(net, MemFerryConfig.defaults())) {
                Nets.train(net, 0, ferry.isOpen() ? 1 : 0);
            }
        }

        /** The same in a class loader of its own. */
        private static void mainWithoutLibrary() throws Exception {
            List<URL> path = new ArrayList<>();
            for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
                path.add(new File(entry).toURI().toURL());
            }
            try (URLClassLoader loader = new URLClassLoader(path.toArray(new URL[0]), ClassLoader.getPlatformClassLoader()) {
                @Override
                public URL getResource(String name) {
                    return name.endsWith("libmemferry.so") ? null : super.getResource(name);
                }
            }) {
                Thread.currentThread().setContextClassLoader(loader);
                loader.loadClass(Child.class.getName()).getMethod("main", String[].class).invoke(null, (Object) new String[] {"there"});
            }
        }
    }
}
