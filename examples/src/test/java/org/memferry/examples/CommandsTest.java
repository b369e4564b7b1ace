package org.memferry.examples;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

import static org.assertj.core.api.Assertions.assertThat;

/** What holds for every command, those to come among them: walked by the model of the command line. */
class CommandsTest {

    private static final CommandLine ALL = Main.commandLine(new PrintWriter(Writer.nullWriter()), new PrintWriter(Writer.nullWriter()));
    /** What names a file, or something built in. */
    private static final Set<String> FILES = Set.of("FILE", "MODEL");

    @TempDir
    private static Path folder;

    /** The words of every command, with the program itself and the groups. */
    static List<String> everyCommand() {
        List<String> names = new ArrayList<>();
        add(ALL, names);
        return names;
    }

    private static void add(CommandLine command, List<String> names) {
        names.add(command.getCommandSpec().qualifiedName());
        command.getSubcommands().values().forEach(child -> add(child, names));
    }

    static List<String> commandsThatDoSomething() {
        List<String> names = new ArrayList<>(everyCommand());
        names.removeIf(name -> !spec(name).subcommands().isEmpty());
        return names;
    }

    private static CommandSpec spec(String name) {
        CommandLine command = ALL;
        for (String word : words(name)) {
            command = command.getSubcommands().get(word);
        }
        return command.getCommandSpec();
    }

    private static List<String> words(String name) {
        return List.of(name.split(" ")).subList(1, name.split(" ").length);
    }

    private static MainRun run(String name, String... more) {
        List<String> words = new ArrayList<>(words(name));
        words.addAll(Arrays.asList(more));
        return MainRun.of(words.toArray(new String[0]));
    }

    private static void assertRefused(MainRun run, String what) {
        assertThat(run.code()).as("exit code of %s, %s", what, run.err()).isEqualTo(2);
        assertThat(run.out()).as(what).isEmpty();
        assertThat(run.err().strip().lines()).as(what).hasSize(1);
        assertThat(run.err()).as(what).startsWith("memferry").contains("--help");
    }

    @ParameterizedTest
    @MethodSource("everyCommand")
    void saysWhatItDoesAndWhatEachOfItsOptionsMeans(String name) {
        assertThat(String.join("", spec(name).usageMessage().description())).as(name).hasSizeGreaterThan(20);
        for (ArgSpec argument : spec(name).args()) {
            String title = argument.isOption() ? ((OptionSpec) argument).longestName() : argument.paramLabel();
            assertThat(String.join("", argument.description())).as("%s %s", name, title).hasSizeGreaterThan(5).endsWith(".");
            assertThat(title).matches("--[a-z0-9-]+|[A-Z0-9]+");
            if (argument.isOption() && argument.arity().max() > 0) {
                assertThat(argument.paramLabel()).as("%s %s: what goes into it", name, title).matches("[A-Z]+");
            }
        }
        MainRun help = run(name, "--help");
        assertThat(help.code()).isZero();
        assertThat(help.out()).contains("Usage: " + name).contains(spec(name).optionsMap().keySet());
        assertThat(help.err()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("everyCommand")
    void anOptionThatIsNotThereIsOneLineAndExitCode2(String name) {
        assertRefused(run(name, "--no-such-option=1"), name);
        for (OptionSpec option : spec(name).options()) {
            if (option.arity().min() > 0) {
                assertRefused(run(name, option.longestName()), name + " " + option.longestName() + " without a value");
            }
        }
    }

    @ParameterizedTest
    @MethodSource("commandsThatDoSomething")
    void aFileThatIsNotThereOrOfAnotherKindIsOneLineAndExitCode2(String name) throws IOException {
        Path foreign = folder.resolve("foreign.zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(foreign))) {
            zip.putNextEntry(new ZipEntry("readme.txt"));
            zip.write("no network and no text: \u00e9".getBytes(StandardCharsets.ISO_8859_1));
        }
        for (ArgSpec argument : spec(name).args()) {
            if (FILES.contains(argument.paramLabel())) {
                for (String file : List.of("no-such-file.zip", foreign.toString(), folder.toString())) {
                    assertRefused(run(name, words(name, argument, file)), name + " with " + file);
                }
            }
        }
        if (spec(name).findOption("--hardware") != null) {
            assertRefused(run(name, words(name, spec(name).findOption("--hardware"), "no-such-hardware.json")), name + " on no-such-hardware.json");
        }
    }

    /** A value for one argument, and something built in where the command wants a network as well. */
    private static String[] words(String name, ArgSpec argument, String value) {
        List<String> words = new ArrayList<>();
        boolean wantsNetwork = spec(name).positionalParameters().stream().map(PositionalParamSpec::paramLabel).anyMatch("MODEL"::equals);
        if (argument.isOption() && wantsNetwork && !argument.paramLabel().equals("MODEL")) {
            words.add("lenet");
        }
        if (argument.isOption()) {
            words.add(((OptionSpec) argument).longestName());
        }
        words.add(value);
        return words.toArray(new String[0]);
    }

    @ParameterizedTest
    @MethodSource("commandsThatDoSomething")
    void whatHasResultsHasThemAsJson(String name) {
        if (!name.equals("memferry completion")) {
            assertThat(spec(name).findOption("--json")).as(name).isNotNull();
        }
    }

    @Test
    void theDocumentHoldsTheResultLineAndNothingElseIsOnStdout() throws IOException {
        String last = MainRun.of("simulate", "lenet", "--strategies", "none,auto").out().strip().lines().reduce((a, b) -> b).orElse("");
        MainRun run = MainRun.of("simulate", "lenet", "--strategies", "none,auto", "--json");
        assertThat(run.code()).isZero();
        JsonNode document = new ObjectMapper().readTree(run.out());
        JsonNode result = document.get("results").get(0);
        StringBuilder line = new StringBuilder("RESULT");
        result.fieldNames().forEachRemaining(key -> line.append(' ').append(key).append('=').append(key.endsWith("_ms")
                ? String.format(Locale.ROOT, "%.3f", result.get(key).asDouble()) : result.get(key).asText()));
        assertThat(line.toString()).isEqualTo(last);
        assertThat(result.get("simulated").isBoolean()).isTrue();
        assertThat(result.get("auto_ms").isNumber()).isTrue();
        assertThat(run.err()).contains("strategy", "AUTO").doesNotContain("RESULT");
    }

    @Test
    void bashCompletesCommandsAndOptions() throws IOException, InterruptedException {
        MainRun run = MainRun.of("completion");
        assertThat(run.code()).isZero();
        Path script = folder.resolve("completion.sh");
        Files.writeString(script, run.out());
        assertThat(completed(script, "memferry", "doc")).containsExactly("doctor");
        assertThat(completed(script, "memferry", "bench", "--he")).containsExactly("--help");
        assertThat(completed(script, "memferry", "bench", "placements", "--mo")).containsExactly("--models");
        assertThat(completed(script, "memferry", "plan", "--strategy", "ZERO")).containsExactly("ZERO_OFFLOAD");
    }

    private static List<String> completed(Path script, String... words) throws IOException, InterruptedException {
        Process bash = new ProcessBuilder("bash", "-c", "source " + script + "; COMP_WORDS=(" + String.join(" ", words) + "); COMP_CWORD="
                + (words.length - 1) + "; COMP_LINE='" + String.join(" ", words) + "'; _complete_memferry; printf '%s\\n' \"${COMPREPLY[@]}\"")
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String out = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor()).as(out).isZero();
        return List.of(out.strip().split("\\s+"));
    }
}
