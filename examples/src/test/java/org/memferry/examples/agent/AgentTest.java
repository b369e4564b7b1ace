package org.memferry.examples.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.examples.MainRun;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A program that knows nothing of MemFerry, run plain and under the agent, each time in a Java program of its own: it prints the same bits,
 * and the agent says which networks it attached. MemFerry and its Jackson are on no class path but the agent's own.
 */
class AgentTest {

    private static final String LOGBACK = "<configuration><appender name='E' class='ch.qos.logback.core.ConsoleAppender'><target>System.err"
            + "</target><encoder><pattern>%-5level %logger{0}: %msg%n</pattern></encoder></appender><root level='ERROR'><appender-ref "
            + "ref='E'/></root><logger name='org.memferry' level='INFO'/></configuration>";
    private static final String DEVICE = "device=emulated,poison,deviceMemory=600KB";

    @TempDir
    private static Path folder;
    private static List<String> stock;

    @BeforeAll
    static void runs_plain() throws Exception {
        boolean built = agent().isFile();
        if (Boolean.getBoolean("memferry.requireAll")) {
            assertThat(built).as("%s, made by package", agent()).isTrue();
        }
        assumeTrue(built, agent() + " is not there: mvn package makes it");
        for (Class<?> c : List.of(PlainProgram.class, Container.class)) {
            Path target = folder.resolve("classes").resolve(c.getName().replace('.', '/') + ".class");
            Files.createDirectories(target.getParent());
            try (InputStream in = c.getResourceAsStream(c.getSimpleName() + ".class")) {
                Files.copy(in, target);
            }
        }
        // A68: paths with spaces for the agent, its temporary files and what native code is unpacked to.
        Files.createDirectories(folder.resolve("with a space/temporary"));
        Files.copy(agent().toPath(), folder.resolve("with a space/the agent.jar"));
        Files.writeString(folder.resolve("classes/logback.xml"), LOGBACK);
        Files.writeString(folder.resolve("path"), classPath());
        stock = run("stock", List.of("-cp", classPath(), PlainProgram.class.getName()));
        assertThat(stock).hasSize(12).endsWith("END");
        assertThat(log("stock")).noneMatch(line -> line.contains("attached"));
    }

    @Test
    void an_unchanged_program_trains_bit_for_bit_within_the_budget() throws Exception {
        assertThat(run("plain", List.of(agent(DEVICE), "-cp", classPath(), PlainProgram.class.getName()))).isEqualTo(stock);
        attached("plain");
    }

    @Test
    void an_estimate_from_the_model_that_it_saved_says_what_fits_that_budget() throws IOException {
        MainRun run = MainRun.of("estimate", "--model", folder.resolve("model.zip").toString(), "--batch", "16", "--device-memory", "600KB", "--json");
        assertThat(run.code()).as(run.err()).isZero();
        List<String> fitting = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (JsonNode strategy : new ObjectMapper().readTree(run.out()).get("strategies")) {
            (strategy.get("fits").asBoolean() ? fitting : others).add(strategy.get("strategy").asText());
        }
        assertThat(others).as("plain DL4J").contains("NONE");
        assertThat(fitting).as("MemFerry").contains("GO_MEMFERRY");
    }

    @Test
    void also_where_DL4J_is_in_a_class_loader_that_does_not_see_the_agent() throws Exception {
        assertThat(run("child", List.of(agent(DEVICE), "-cp", folder.resolve("classes").toString(), Container.class.getName(),
                folder.resolve("path").toString(), PlainProgram.class.getName()))).isEqualTo(stock);
        attached("child");
    }

    @Test
    void also_where_the_program_has_the_library_on_its_class_path() throws Exception {
        String library = agent().getPath().replace("-agent.jar", ".jar");
        String jackson = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator)).filter(entry -> entry.contains("fasterxml"))
                .collect(Collectors.joining(File.pathSeparator));
        assertThat(run("both", List.of(agent(DEVICE), "-cp", String.join(File.pathSeparator, library, jackson, classPath()),
                PlainProgram.class.getName()))).isEqualTo(stock);
        attached("both");
    }

    @Test
    void one_property_turns_it_off() throws Exception {
        assertThat(run("off", List.of(agent(DEVICE), "-Dorg.memferry.enabled=false", "-cp", classPath(), PlainProgram.class.getName()), "short"))
                .isEqualTo(stock.subList(0, 1));
        assertThat(log("off")).noneMatch(line -> line.startsWith("memferry") || line.contains("attached"));
    }

    @Test
    void the_first_steps_can_be_held_against_plain_training() throws Exception {
        assertThat(run("verified", List.of(agent(DEVICE + ",verifyFirstSteps=2"), "-cp", classPath(), PlainProgram.class.getName()), "short"))
                .isEqualTo(stock.subList(0, 1));
        assertThat(log("verified")).filteredOn(line -> line.contains("verified 2 steps: scores, parameters and updater state equal stock DL4J bit "
                + "for bit")).isNotEmpty();
    }

    @Test
    void settings_that_mean_nothing_are_named_and_the_program_runs() throws Exception {
        assertThat(run("wrong", List.of(agent("memory=6GB,deviceMemory=much"), "-cp", classPath(), PlainProgram.class.getName()), "short"))
                .isEqualTo(stock.subList(0, 1));
        assertThat(log("wrong")).filteredOn(line -> line.contains("'memory=6GB'")).singleElement().asString()
                .contains("is no setting (expected: name=value, one of [enabled, device, deviceMemory");
        assertThat(log("wrong")).filteredOn(line -> line.startsWith("WARN  AutoAttach")).singleElement().asString()
                .contains("stays plain DL4J's", "much");
    }

    /**
     * Made, as layers and as a graph; restored; two edited; one whose batch grows too large later on. Neither the clone nor the copy by
     * serialisation. What cannot be served is said.
     */
    private static void attached(String name) throws IOException {
        assertThat(log(name)).filteredOn(line -> line.contains("attached to")).hasSize(6)
                .allMatch(line -> line.contains("on emulated 600 KB"));
        assertThat(log(name)).filteredOn(line -> line.startsWith("WARN") && !line.contains("OMP_NUM_THREADS"))
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("WARN  AutoAttach: this MultiLayerNetwork stays plain DL4J's: the network is "
                                + "optimised by LBFGS"),
                        line -> assertThat(line).startsWith("WARN  Ferry: the network goes on as plain DL4J's: there is no room to train on 96 examples")
                                .contains("the device has 600 KB"));
        assertThat(log(name)).noneMatch(line -> line.startsWith("memferry"));
        assertThat(log(name)).filteredOn(line -> line.contains("update kernel: ")).hasSize(6);
        try (Stream<Path> left = Files.list(folder.resolve("with a space/temporary"))) {
            assertThat(left).as("files of the agent left behind").noneMatch(file -> file.getFileName().toString().startsWith("memferry"));
        }
    }

    private static File agent() {
        return new File(System.getProperty("memferry.agent", "../memferry-dl4j/target/memferry-dl4j-0.1.0-agent.jar"));
    }

    private static String agent(String arguments) {
        return "-javaagent:" + folder.resolve("with a space/the agent.jar") + "=" + arguments;
    }

    /** The program's own class path: DL4J, its backend and a log, without MemFerry and without what only MemFerry needs. */
    private static String classPath() {
        String jars = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> entry.endsWith(".jar") && !new File(entry).getName().contains("memferry") && !entry.contains("fasterxml")
                        && !entry.contains("byte-buddy"))
                .collect(Collectors.joining(File.pathSeparator));
        return folder.resolve("classes") + File.pathSeparator + jars;
    }

    /** The lines that say what the networks have learned. */
    private static List<String> run(String name, List<String> options, String... more) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx1g",
                "-Djava.io.tmpdir=" + folder.resolve("with a space/temporary"), "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("with a space/cache")));
        command.addAll(options);
        command.add(folder.toString());
        command.addAll(List.of(more));
        Path out = folder.resolve(name + ".out");
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(folder.resolve(name + ".err").toFile());
        builder.environment().put("OMP_NUM_THREADS", "1");
        builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
        Process process = builder.start();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).as("ended in time").isTrue();
        assertThat(process.exitValue()).as("exit code, %s", log(name)).isZero();
        return Files.readAllLines(out).stream().filter(line -> line.matches("(BITS|OUTPUT|END).*")).collect(Collectors.toList());
    }

    private static List<String> log(String name) throws IOException {
        return Files.readAllLines(folder.resolve(name + ".err"));
    }
}
