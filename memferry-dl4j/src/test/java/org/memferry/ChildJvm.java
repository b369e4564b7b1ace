package org.memferry;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A Java program of its own, with the class path of the tests: for what a program does once, such as starting ND4J or ending. */
public final class ChildJvm {

    /** Start ND4J with MemFerry's managers. */
    public static final String[] MANAGERS = {"-Dmemorymanager=org.memferry.nd4j.MemFerryMemoryManager",
        "-Dworkspacemanager=org.memferry.nd4j.MemFerryWorkspaceManager"};

    private final List<String> command = new ArrayList<>();

    private ChildJvm() {
    }

    /** A program that is not started yet. */
    public static ChildJvm with(String... options) {
        ChildJvm jvm = new ChildJvm();
        jvm.command.addAll(List.of(Paths.get(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx512m",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0"));
        jvm.command.addAll(Arrays.asList(options));
        return jvm;
    }

    /** Adds options. */
    public ChildJvm and(String... options) {
        command.addAll(Arrays.asList(options));
        return this;
    }

    /** Runs a program to its end, which must be one with exit code 0; returns what it wrote. */
    public String run(Class<?> main, String... arguments) throws IOException, InterruptedException {
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(Arrays.asList(arguments));
        File log = File.createTempFile("child", ".log");
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log);
            builder.environment().put("OMP_WAIT_POLICY", "PASSIVE");
            Process child = builder.start();
            boolean ended = child.waitFor(3, TimeUnit.MINUTES);
            child.destroyForcibly();
            String output = Files.readString(log.toPath(), StandardCharsets.UTF_8);
            assertThat(ended).as("the program ended; it wrote: %s", output).isTrue();
            assertThat(child.exitValue()).as("exit code; the program wrote: %s", output).isZero();
            return output;
        } finally {
            Files.delete(log.toPath());
        }
    }
}
