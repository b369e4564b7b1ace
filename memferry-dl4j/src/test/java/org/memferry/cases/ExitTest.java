package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.ChildJvm;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.Placement;
import org.nd4j.linalg.learning.config.Adam;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;

import static org.assertj.core.api.Assertions.assertThat;

/** Programs end as they would without MemFerry: with exit code 0 and no error, however they end. */
class ExitTest {

    private static final int BUSY_STEPS = 100_000;

    /** How a program ends. */
    enum Ending {
        MAIN_ENDS_WITHOUT_CLOSE,
        EXIT_DURING_FIT,
        CLOSED_TWICE,
        CLOSED_IN_A_SHUTDOWN_HOOK,
        CLOSED_BY_ANOTHER_THREAD_DURING_FIT
    }

    @ParameterizedTest
    @EnumSource(Ending.class)
    void theProgramEndsWithExitCodeZero(Ending ending) throws IOException, InterruptedException {
        String output = ChildJvm.with().run(Child.class, ending.name());
        assertThat(output).contains("trained").doesNotContain("SIGSEGV", "hs_err");
        assertThat(output).doesNotContain("Exception");
    }

    /** The program. */
    static final class Child {

        private static final CountDownLatch TRAINING = new CountDownLatch(3);

        private Child() {
        }

        /** @param args how to end */
        public static void main(String[] args) throws InterruptedException {
            Model net = Nets.Kind.LAYERS.create(new Adam(1e-2));
            MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:4MB").place("*", Placement.PREFETCH).build());
            Nets.train(net, 0, 3);
            System.out.println("trained");
            switch (Ending.valueOf(args[0])) {
                case EXIT_DURING_FIT:
                    trainInBackground(net);
                    System.exit(0);
                    break;
                case CLOSED_TWICE:
                    ferry.close();
                    ferry.close();
                    break;
                case CLOSED_IN_A_SHUTDOWN_HOOK:
                    Runtime.getRuntime().addShutdownHook(new Thread(ferry::close));
                    break;
                case CLOSED_BY_ANOTHER_THREAD_DURING_FIT:
                    trainInBackground(net);
                    ferry.close();
                    break;
                default:
                    break;
            }
        }

        private static void trainInBackground(Model net) throws InterruptedException {
            net.addListeners(new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    TRAINING.countDown();
                }
            });
            Thread thread = new Thread(() -> Nets.train(net, 0, BUSY_STEPS));
            thread.setDaemon(true);
            thread.start();
            TRAINING.await();
        }
    }
}
