package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.AutoAttach;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.MemFerryProperties;
import org.memferry.plan.Plan;
import org.memferry.plan.Strategy;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.util.List;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** The log shows the table of each plan that a network is trained by once, whoever attaches it. */
class PlanLogTest {

    private static final String DEVICE = "emulated:64MB";
    private static final String FINAL = "activations and working memory, estimated";

    /** Who attaches. */
    enum By {
        CODE, LISTENER, AGENT;

        void attach(Model net) {
            if (this == CODE) {
                MemFerry.attach(net, MemFerryConfig.builder().device(DEVICE).build());
            } else if (this == LISTENER) {
                ((MultiLayerNetwork) net).setListeners(new MemFerryListener(MemFerryConfig.builder().device(DEVICE).build()));
            } else {
                System.setProperty(MemFerryProperties.DEVICE, DEVICE);
                try {
                    assertThat(new AutoAttach().test("made", new Object[] {net})).as("attached").isTrue();
                } finally {
                    System.clearProperty(MemFerryProperties.DEVICE);
                }
            }
        }
    }

    private static List<String> tables(Logs logs) {
        return logs.at(Level.INFO).stream().filter(message -> message.startsWith("plan") && message.contains("\n"))
                .collect(Collectors.toList());
    }

    @ParameterizedTest
    @EnumSource
    void thePlanThatTheFirstBatchMadeIsShownOnce(By by) {
        Model net = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs()) {
            by.attach(net);
            assertThat(tables(logs)).as("a plan that nothing is trained by").isEmpty();
            Nets.fit(net, Nets.batches(0, 3));
            assertThat(tables(logs)).singleElement().asString().startsWith("plan:\n").contains(FINAL, "RESIDENT");
            Nets.fit(net, Nets.batches(3, 3));
            assertThat(tables(logs)).hasSize(1);
        } finally {
            MemFerry.of(net).close();
        }
    }

    @Test
    void aPlanThatIsFinalAtAttachIsShownThereAndNotAgain() {
        Model net = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net,
                MemFerryConfig.builder().device(DEVICE).expect(Nets.BATCH, InputType.feedForward(Nets.INPUTS)).build())) {
            assertThat(tables(logs)).containsExactly("plan:\n" + ferry.planTable());
            Nets.train(net, 0, 3);
            assertThat(tables(logs)).hasSize(1);
        }
        Model onHost = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(onHost, MemFerryConfig.defaults())) {
            assertThat(tables(logs)).containsExactly("plan:\n" + ferry.planTable());
            Nets.train(onHost, 0, 3);
            assertThat(tables(logs)).hasSize(1);
        }
    }

    @Test
    void aPlanThatIsMadeAnewForLargerDataIsShownAgain() {
        Model net = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:64KB").build())) {
            Plan present = null;
            int plans = 0;
            for (int batch = Nets.BATCH; plans < 2; batch += Nets.BATCH / 2) {
                ((MultiLayerNetwork) net).fit(new DataSet(Nets.gaussian(1, batch, Nets.INPUTS), Nets.classes(2, batch, Nets.CLASSES)));
                plans += ferry.plan() == present ? 0 : 1;
                present = ferry.plan();
                assertThat(tables(logs)).as("tables at batch %s", batch).hasSize(plans);
            }
            assertThat(tables(logs).get(1)).startsWith("plan:\n");
        }
    }

    @Test
    void ofANetworkThatIsMeasuredTheFirstPlanAndThatOfTheStrategyAreShown() {
        Model net = Nets.layers(new Adam(1e-2));
        try (Logs logs = new Logs(); MemFerry ferry = MemFerry.attach(net, MemFerryConfig.builder().device("emulated:1MB").strategy(Strategy.STREAM).build())) {
            for (int step = 0; step < 100 && ferry.profile() == null; step++) {
                Nets.train(net, step, 1);
            }
            assertThat(tables(logs)).hasSize(2);
            assertThat(tables(logs).get(0)).startsWith("plan, until the network has been measured:\n").contains(FINAL);
            assertThat(tables(logs).get(1)).startsWith("plan:\n");
        }
    }
}
