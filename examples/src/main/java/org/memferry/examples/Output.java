package org.memferry.examples;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.RunLast;
import picocli.CommandLine.Spec;

/**
 * The option {@code --json}, alike for every command that has results. Without it stdout has lines for people and ends with
 * {@code RESULT} lines. With it stdout is one JSON document and nothing else: its {@code results} holds an object for each of those lines,
 * with the same keys, beside what a command's tables show; the lines for people go to stderr.
 */
public final class Output {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @Option(names = "--json", description = "Prints one JSON document: an object for each RESULT line, and what the tables show.")
    private boolean json;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    private final ObjectNode document = MAPPER.createObjectNode();
    private Screen screen;

    /** Whether stdout is a JSON document. */
    public boolean isJson() {
        return json;
    }

    /** Where the command's lines and results go. The first call says on a terminal what runs, should that take longer. */
    public Screen screen() {
        if (screen == null) {
            screen = Screen.of(json ? spec.commandLine().getErr() : spec.commandLine().getOut(), spec.commandLine().getErr(), !json);
            screen.status(spec.qualifiedName());
        }
        return screen;
    }

    /** What the command adds to the document besides its results. */
    public ObjectNode document() {
        return document;
    }

    /** How a command line with such commands is executed: when the command is done, so is its document. */
    public static int execute(ParseResult parsed) {
        int code = new RunLast().execute(parsed);
        ParseResult last = parsed;
        while (last.hasSubcommand()) {
            last = last.subcommand();
        }
        for (CommandSpec mixin : last.commandSpec().mixins().values()) {
            if (mixin.userObject() instanceof Output) {
                ((Output) mixin.userObject()).finish();
            }
        }
        return code;
    }

    private void finish() {
        if (screen == null) {
            // Help, or the version.
            return;
        }
        screen.end();
        if (!json) {
            return;
        }
        ArrayNode results = document.putArray("results");
        screen.results().forEach(result -> result.putInto(results.addObject()));
        try {
            spec.commandLine().getOut().println(MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(document));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("a tree of plain values could not be written", e);
        }
    }
}
