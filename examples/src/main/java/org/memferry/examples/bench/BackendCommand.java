package org.memferry.examples.bench;

import org.memferry.examples.Output;
import org.memferry.examples.ResultLine;
import org.memferry.examples.Screen;
import org.nd4j.linalg.factory.Nd4j;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.util.Locale;
import java.util.concurrent.Callable;

/** {@code memferry bench backend}. */
@Command(name = "backend", mixinStandardHelpOptions = true,
        description = {"Checks the ND4J backend that is loaded, the CUDA one where it is (Maven profile cuda): networks train in every placement and by"
                + " every strategy beside plain DL4J. Scores and gradients of equal parameters must be plain DL4J's to the bit, and all placements must"
                + " end with the same bits. On the CPU these are plain DL4J's; on a card, where the step is taken on the host, the distance is shown.", ""})
public final class BackendCommand implements Callable<Integer> {

    @Mixin
    private Selection selection;

    @Option(names = "--device", paramLabel = "DEVICE", description = "What to train on. Default: cuda:0 where ND4J's CUDA backend is loaded, else an"
            + " emulated device of 64 MB.")
    private String device;

    @Mixin
    private Output output;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        Screen screen = output.screen();
        boolean cpu = Nd4j.getEnvironment().isCPU();
        String backend = Nd4j.getBackend().getClass().getSimpleName();
        String specification = device != null ? device : cpu ? "emulated:64MB" : "cuda:0";
        boolean right = true;
        for (OffloadModel model : selection.models()) {
            BackendRun run = new BackendRun(model, specification, selection.rounds());
            screen.status(model.title());
            for (BackendRun.Placed placed : run.placements()) {
                right &= placed.isRight(cpu);
                screen.result(new ResultLine("bench-backend-placement").add("backend", backend).add("model", model.title())
                        .add("parameters", placed.placement()).add("gradients", placed.home()).add("score_equal", placed.isScoreEqual()).add("gradients_equal", placed.areGradientsEqual())
                        .add("equal_to_other_placements", placed.isLikeOthers()).add("ulp_vs_plain", placed.ulps())
                        .add("max_difference_vs_plain", placed.difference()));
            }
            for (BackendRun.Timed timed : run.strategies()) {
                screen.result(new ResultLine("bench-backend-strategy").add("backend", backend).add("model", model.title())
                        .add("strategy", timed.title()).add("step_ms", String.format(Locale.ROOT, "%.3f", timed.millis()))
                        .add("device_peak_bytes", timed.peakBytes()));
            }
        }
        screen.result(new ResultLine("bench-backend").add("backend", backend).add("device", specification)
                .add("parity", right ? cpu ? "bit-identical" : "as-specified" : "different"));
        return right ? 0 : 1;
    }
}
