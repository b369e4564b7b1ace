package org.memferry.examples.bench;

import org.memferry.examples.Screen;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.util.List;

/** Options of the benches that train networks on emulated devices: which ones, and for how long. */
final class Selection {

    @Option(names = "--models", paramLabel = "MODEL", split = ",",
            description = "Of ${COMPLETION-CANDIDATES}. Default: all but tiny.")
    private List<OffloadModel> models;

    @Option(names = "--rounds", paramLabel = "N", defaultValue = "5",
            description = "Blocks of five iterations of each contestant. Default: ${DEFAULT-VALUE}.")
    private int rounds;

    @Option(names = "--quick", description = "One small network, one link, one block: shows that it works, not how fast.")
    private boolean quick;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    /** Says where the figures mean nothing. */
    void announce(Screen screen) {
        if (quick) {
            screen.line("Quick: shows that it works. One small network, too short to be timed: the figures say nothing of how fast it is.");
        }
    }

    /** Networks to train. */
    List<OffloadModel> models() {
        return models != null ? models : quick ? List.of(OffloadModel.TINY) : OffloadModel.measured();
    }

    /** Of the ratios of transfer to computation, those to use. */
    List<Double> ratios(List<Double> all) {
        return quick ? all.subList(0, 1) : all;
    }

    /** Blocks of each contestant that count. */
    int rounds() {
        if (rounds < 1) {
            throw new ParameterException(spec.commandLine(), "--rounds: " + rounds + " (expected: >= 1)");
        }
        return quick ? 1 : rounds;
    }
}
