package org.memferry.examples;

import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code memferry completion}. */
@Command(name = "completion", mixinStandardHelpOptions = true,
        description = {"Prints a script by which bash and zsh complete commands and options of memferry.", ""},
        footer = {"", "Where memferry is an alias:", "  alias memferry='java -jar /path/to/memferry.jar'", "  source <(memferry completion)", "",
            "Exit code: 0 printed, 2 the command line is wrong."})
final class CompletionCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        CommandSpec root = spec.root();
        spec.commandLine().getOut().print(AutoComplete.bash(root.name(), root.commandLine()));
        spec.commandLine().getOut().flush();
    }
}
