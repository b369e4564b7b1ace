package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.plan.Placement;
import org.nd4j.linalg.learning.config.Adam;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

import static org.assertj.core.api.Assertions.assertThat;

/** Closing while another thread trains. */
class CloseDuringFitTest {

    private static final int STEPS = 40;
    private static final int ROUNDS = 8;

    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    @Timeout(120)
    void anotherThreadsFitGoesOnAsPlainDl4jWithTheSameNumbers(Nets.Kind kind) throws InterruptedException {
        Model stock = kind.create(new Adam(1e-2));
        Nets.fit(stock, Nets.batches(0, STEPS));
        for (int round = 0; round < ROUNDS; round++) {
            Model net = kind.create(new Adam(1e-2));
            MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:4MB,poison").place("*", Placement.PREFETCH)
                    .build());
            CountDownLatch started = new CountDownLatch(1 + 3 * round);
            Nets.setListeners(net, new BaseTrainingListener() {
                @Override
                public void iterationDone(Model model, int iteration, int epoch) {
                    started.countDown();
                }
            });
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread trainer = new Thread(() -> {
                try {
                    Nets.fit(net, Nets.batches(0, STEPS));
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
            trainer.start();
            started.await();
            ferry.close();
            assertThat(ferry.metrics().device().openRegions()).as("regions after close").isZero();
            trainer.join();
            assertThat(failure.get()).as("fit").isNull();
            Numbers.assertSame(stock, net, "closed after " + (1 + 3 * round) + " iterations or more");
            assertThat(MemFerry.of(net)).isNull();
        }
    }
}
