package org.memferry.examples.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A Java program of its own with one OpenMP thread, which can only be set when a program starts: on an emulated device computation, copies
 * and steps share the processor's cores, as they never do beside a GPU. Its result lines come back as maps; its errors and logs go to this
 * program's stderr.
 */
final class ChildProcess {

    private static final String PREFIX = "RESULT ";

    private ChildProcess() {
    }

    /**
     * Runs a class's main method to its end.
     *
     * @return one map per result line, keys in the order of the line
     * @throws IllegalStateException if it ends with another exit code than 0
     */
    static List<Map<String, String>> run(Class<?> main, String... arguments) {
        return run(List.of("-Xmx1g"), Map.of(), main, arguments);
    }

    /**
     * Runs a class's main method to its end in a Java program with options and an environment of its own.
     *
     * @return one map per result line, keys in the order of the line
     * @throws IllegalStateException if it ends with another exit code than 0
     */
    static List<Map<String, String>> run(List<String> options, Map<String, String> environment, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-Dmemferry.log=WARN", "-Dmemferry.log.others=ERROR", "-cp",
                System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put("OMP_NUM_THREADS", "1");
        builder.environment().putAll(environment);
        try {
            Process process = builder.start();
            try {
                List<Map<String, String>> results = results(process);
                int code = process.waitFor();
                if (code != 0) {
                    throw new IllegalStateException(main.getSimpleName() + " " + String.join(" ", arguments) + " ended with exit code " + code);
                }
                return results;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(main.getSimpleName() + " was interrupted", e);
            } finally {
                process.destroy();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Map<String, String>> results(Process process) throws IOException {
        List<Map<String, String>> results = new ArrayList<>();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.startsWith(PREFIX)) {
                    results.add(parse(line.substring(PREFIX.length())));
                }
            }
        }
        return results;
    }

    /** Reads {@code key=value key=value ...}. */
    static Map<String, String> parse(String line) {
        Map<String, String> fields = new LinkedHashMap<>();
        for (String field : line.split(" ")) {
            int equals = field.indexOf('=');
            fields.put(field.substring(0, equals), field.substring(equals + 1));
        }
        return fields;
    }
}
