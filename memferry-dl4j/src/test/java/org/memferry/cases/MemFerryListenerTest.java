package org.memferry.cases;

import ch.qos.logback.classic.Level;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.MemFerry;
import org.memferry.MemFerryConfig;
import org.memferry.MemFerryListener;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Adam;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Attaching by listener: when it happens, what is said, and whom it leaves alone. */
class MemFerryListenerTest {

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"LAYERS, HOST", "LAYERS, MIXED", "GRAPH, PREFETCH", "GRAPH, RESIDENT"})
    void fitWithAnIteratorIsAttachedBeforeTheFirstIteration(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        MemFerryListener listener = new MemFerryListener(setup.config());
        Nets.setListeners(net, listener);
        assertThat(listener.ferry()).as("before the first fit").isNull();
        try (Logs logs = new Logs()) {
            for (int epoch = 0; epoch < 2; epoch++) {
                Nets.fit(stock, Nets.batches(3 * epoch, 3));
                Nets.fit(net, Nets.batches(3 * epoch, 3));
                Numbers.assertSame(stock, net, "after epoch " + (epoch + 1));
            }
            assertThat(logs.at(Level.INFO).stream().filter(m -> m.contains("without MemFerry"))).isEmpty();
        }
        assertThat(listener.ferry().metrics().iterations()).as("iterations of the ferry").isEqualTo(6);
        assertThat(listener.ferry().metrics().unplannedReads()).isZero();
        listener.ferry().close();
        assertThat(listener.ferry()).as("after close").isNull();
        Nets.fit(stock, Nets.batches(6, 2));
        Nets.fit(net, Nets.batches(6, 2));
        Numbers.assertSame(stock, net, "after close, with the listener still there");
        assertThat(MemFerry.of(net)).as("closed by the user, so not attached again").isNull();
    }

    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"LAYERS, HOST", "LAYERS, MIXED", "GRAPH, PREFETCH", "GRAPH, RESIDENT"})
    void fitWithADataSetIsAttachedAfterTheFirstIterationWhichIsSaidOnce(Nets.Kind kind, Setup setup) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        MemFerryListener listener = new MemFerryListener(setup.config());
        Nets.setListeners(net, listener);
        try (Logs logs = new Logs()) {
            for (int step = 0; step < 4; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            List<String> said = logs.at(Level.INFO).stream().filter(m -> m.contains("without MemFerry")).collect(Collectors.toList());
            assertThat(said).singleElement().asString().contains("iteration 1 ran without MemFerry").contains("fit(iterator)")
                    .contains("MemFerry.attach");
        }
        assertThat(listener.ferry().metrics().iterations()).as("iterations of the ferry").isEqualTo(3);
        listener.ferry().close();
    }

    @ParameterizedTest(name = "{0}, ours first {1}")
    @CsvSource({"LAYERS, true", "LAYERS, false", "GRAPH, true", "GRAPH, false"})
    void aForeignListenerBeforeOrAfterOursIsCalledForEveryEvent(Nets.Kind kind, boolean oursFirst) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        Counter stockCalls = new Counter();
        Counter calls = new Counter();
        Nets.setListeners(stock, stockCalls);
        MemFerryListener ours = new MemFerryListener(Setup.MIXED.config());
        if (oursFirst) {
            Nets.setListeners(net, ours, calls);
        } else {
            Nets.setListeners(net, calls, ours);
        }
        Nets.fit(stock, Nets.batches(0, 3));
        Nets.fit(net, Nets.batches(0, 3));
        assertThat(calls.log).isEqualTo(stockCalls.log).hasSize(3 * 4 + 2);
        Numbers.assertSame(stock, net, "after an epoch");
        assertThat(ours.ferry().metrics().iterations()).isEqualTo(3);
        ours.ferry().close();
    }

    // A clone of a graph shares the list of listeners with its original.
    @ParameterizedTest
    @EnumSource(Nets.Kind.class)
    void aCloneOfTheAttachedNetworkIsLeftAlone(Nets.Kind kind) {
        Model stock = kind.create(new Adam(1e-2));
        Model net = kind.create(new Adam(1e-2));
        MemFerryListener listener = new MemFerryListener(Setup.PREFETCH.config());
        Nets.setListeners(net, listener);
        Nets.fit(stock, Nets.batches(0, 2));
        Nets.fit(net, Nets.batches(0, 2));
        Model stockClone = Nets.copy(stock);
        Model clone = Nets.copy(net);
        assertThat(MemFerry.of(clone)).isNull();
        long iterations = listener.ferry().metrics().iterations();
        Nets.train(stockClone, 5, 1);
        Nets.fit(stockClone, Nets.batches(6, 2));
        Nets.train(clone, 5, 1);
        Nets.fit(clone, Nets.batches(6, 2));
        assertThat(MemFerry.of(clone)).as("after training the clone").isNull();
        assertThat(listener.ferry().metrics().iterations()).isEqualTo(iterations);
        Numbers.assertSame(stockClone, clone, "the clone");
        Numbers.assertSame(stock, net, "the original, untouched by the clone");
        Nets.fit(stock, Nets.batches(2, 2));
        Nets.fit(net, Nets.batches(2, 2));
        Numbers.assertSame(stock, net, "the original, trained on");
        listener.ferry().close();
    }

    @Test
    void anAttachmentThatIsThereAlreadyIsUsed() {
        Model stock = Nets.layers(new Adam(1e-2));
        Model net = Nets.layers(new Adam(1e-2));
        MemFerryListener listener = new MemFerryListener(Setup.PREFETCH.config());
        try (MemFerry ferry = MemFerry.attach(net, Setup.MIXED.config())) {
            Nets.setListeners(net, listener);
            Nets.fit(stock, Nets.batches(0, 3));
            Nets.fit(net, Nets.batches(0, 3));
            Numbers.assertSame(stock, net, "after an epoch");
            assertThat(listener.ferry().network()).isSameAs(net);
            assertThat(ferry.metrics().iterations()).isEqualTo(3);
        }
    }

    // D11: listeners are serialised by tools that ship a configuration elsewhere.
    @Test
    void aListenerThatWasSerialisedAttachesTheSameWay() throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new MemFerryListener(Setup.MIXED.config()));
        }
        MemFerryListener read;
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            read = (MemFerryListener) in.readObject();
        }
        Model stock = Nets.layers(new Adam(1e-2));
        Model net = Nets.layers(new Adam(1e-2));
        Nets.setListeners(net, read);
        Nets.fit(stock, Nets.batches(0, 2));
        Nets.fit(net, Nets.batches(0, 2));
        Numbers.assertSame(stock, net, "after an epoch");
        assertThat(read.ferry().metrics().device().bytesToDevice()).as("bytes copied, as the configuration says").isPositive();
        read.ferry().close();
    }

    // An open device belongs to one program: it cannot go into a file.
    @Test
    void aListenerOverAnOpenDeviceSaysWhyItCannotBeSerialised() {
        MemFerryListener listener = new MemFerryListener(Setup.MIXED.config(Setup.MIXED.open()));
        assertThatThrownBy(() -> new ObjectOutputStream(new ByteArrayOutputStream()).writeObject(listener))
                .isInstanceOf(NotSerializableException.class).hasMessageContaining("device").hasMessageContaining("specification");
    }

    @Test
    void aNetworkThatIsRefusedIsRefusedInFitWithTheReason() {
        Model net = Nets.layers(new Adam(1e-2));
        Nets.setListeners(net, new MemFerryListener(MemFerryConfig.builder().device("nonsense").build()));
        assertThatThrownBy(() -> Nets.fit(net, Nets.batches(0, 1))).isInstanceOf(RefusedException.class).hasMessageContaining("nonsense");
        Nets.setListeners(net);
        Model stock = Nets.layers(new Adam(1e-2));
        Nets.fit(stock, Nets.batches(0, 2));
        Nets.fit(net, Nets.batches(0, 2));
        Numbers.assertSame(stock, net, "after the refusal");
    }

    /** Writes down what it is called for. */
    private static final class Counter extends BaseTrainingListener {

        private final List<String> log = new ArrayList<>();

        @Override
        public void onEpochStart(Model model) {
            log.add("epoch start");
        }

        @Override
        public void onEpochEnd(Model model) {
            log.add("epoch end");
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            log.add("forward " + activations.size());
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            log.add("forward " + activations.size());
        }

        @Override
        public void onGradientCalculation(Model model) {
            log.add("gradient");
        }

        @Override
        public void onBackwardPass(Model model) {
            log.add("backward");
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            log.add("done " + iteration + " " + epoch);
        }
    }
}
