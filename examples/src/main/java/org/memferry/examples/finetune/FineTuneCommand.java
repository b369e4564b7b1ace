package org.memferry.examples.finetune;

import org.memferry.examples.Digits;
import org.memferry.examples.Output;
import org.memferry.examples.Screen;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;

/** {@code memferry finetune}. */
@Command(name = "finetune", mixinStandardHelpOptions = true,
        description = {"Fine-tunes a network on a device that has a third of the memory which plain DL4J takes, and checks that the "
                + "numbers are plain DL4J's, bit for bit. The device is emulated: a hard budget of ordinary memory.", ""},
        footer = {"", "Exit code: 0 if every claim holds, 1 if one does not, 2 if the command line is wrong."})
public final class FineTuneCommand implements Callable<Integer> {

    @Option(names = "--scale", paramLabel = "SCALE", defaultValue = "full",
            description = "full: 21 million parameters; small: 3 million, for a quick look. Default: ${DEFAULT-VALUE}.")
    private Scale scale;

    @Option(names = "--data", paramLabel = "FILE",
            description = "Digits to use instead of the bundled ones, plain or gzipped, in the same format: 64 grey values 0..16 and the "
                    + "digit in each row, such as optdigits.tra of the UCI data set.")
    private Path data;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        Screen screen = output.screen();
        FineTune example = new FineTune(scale, digits(), screen);
        example.run();
        for (String failure : example.failures()) {
            spec.commandLine().getErr().println(spec.qualifiedName() + ": " + failure);
        }
        screen.result(example.result());
        return example.failures().isEmpty() ? 0 : 1;
    }

    private Digits digits() {
        if (data == null) {
            return Digits.bundled();
        }
        if (!Files.isRegularFile(data)) {
            throw new ParameterException(spec.commandLine(), data + ": there is no such file");
        }
        try {
            Digits digits = Digits.read(data);
            for (int digit = 0; digit < 10; digit++) {
                if (digits.count(digit) == 0) {
                    throw new IOException(data + ": has no digit " + digit + " (expected: some of each)");
                }
            }
            return digits;
        } catch (IOException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }
}
