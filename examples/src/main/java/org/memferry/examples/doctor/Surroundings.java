package org.memferry.examples.doctor;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Where the doctor looks: files of the system, properties and environment; all of it read, nothing written. Others in tests. */
final class Surroundings {

    private static final int PROGRAM_SECONDS = 10;

    private final Path root;
    private final Properties properties;
    private final Map<String, String> environment;

    /**
     * @param root        the root folder, {@code /} but in tests
     * @param properties  of the Java program
     * @param environment of the process
     */
    Surroundings(Path root, Properties properties, Map<String, String> environment) {
        this.root = root;
        this.properties = properties;
        this.environment = Map.copyOf(environment);
    }

    static Surroundings here() {
        return new Surroundings(Path.of("/"), System.getProperties(), System.getenv());
    }

    Path root() {
        return root;
    }

    Properties properties() {
        return properties;
    }

    Map<String, String> environment() {
        return environment;
    }

    boolean exists(String file) {
        return Files.exists(root.resolve(file));
    }

    /** Lines of a file; none where it cannot be read. */
    List<String> lines(String file) {
        try {
            return Files.readAllLines(root.resolve(file), StandardCharsets.ISO_8859_1);
        } catch (IOException | UncheckedIOException e) {
            return List.of();
        }
    }

    /** First line of a file; empty where it cannot be read. */
    String firstLine(String file) {
        List<String> lines = lines(file);
        return lines.isEmpty() ? "" : lines.get(0).trim();
    }

    /** What is in a folder, below the root; nothing where it cannot be read. */
    List<String> folder(String folder) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(root.resolve(folder))) {
            files.forEach(file -> names.add(folder + "/" + file.getFileName()));
        } catch (IOException e) {
            return List.of();
        }
        return names;
    }

    /** What a program of the PATH prints, such as {@code nvidia-smi}; nothing where it is not there, fails, or does not end. */
    List<String> output(String program, String... arguments) {
        for (String folder : (environment.getOrDefault("PATH", "") + ":/usr/lib/wsl/lib").split(":")) {
            Path file = root.resolve(folder.replaceFirst("^/+", "")).resolve(program);
            if (!folder.isEmpty() && Files.isExecutable(file)) {
                return run(file, arguments);
            }
        }
        return List.of();
    }

    private static List<String> run(Path program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(program.toString()));
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                // It prints a few lines, which fit the pipe: it can end before they are read.
                if (process.waitFor(PROGRAM_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0) {
                    return out.lines().collect(Collectors.toList());
                }
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            return List.of();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return List.of();
    }
}
