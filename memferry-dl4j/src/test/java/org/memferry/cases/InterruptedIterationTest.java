package org.memferry.cases;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.optimize.api.TrainingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.memferry.MemFerry;
import org.memferry.device.Device;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.learning.config.Adam;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** An exception in the middle of an iteration: whatever stock DL4J has done by then is done, and training can go on as in stock DL4J. */
class InterruptedIterationTest {

    /** Where the third iteration ends early. */
    enum Place {
        INPUT_SHAPE, LABEL_SHAPE, FORWARD_OF_LAYER, BACKWARD_OF_LAYER, ON_FORWARD_PASS, ON_BACKWARD_PASS, ON_GRADIENT_CALCULATION,
        ITERATION_DONE
    }

    static List<Arguments> everyPlace() {
        List<Arguments> all = new ArrayList<>();
        for (Place place : Place.values()) {
            for (Nets.Kind kind : Nets.Kind.values()) {
                Setup[] setups = Setup.values();
                all.add(Arguments.of(place, kind, setups[(place.ordinal() + kind.ordinal()) % 4], place.ordinal() % 2 == 0,
                        WorkspaceMode.ENABLED));
                all.add(Arguments.of(place, kind, setups[(place.ordinal() + kind.ordinal() + 2) % 4], place.ordinal() % 2 == 1,
                        kind == Nets.Kind.LAYERS ? WorkspaceMode.NONE : WorkspaceMode.ENABLED));
            }
        }
        return all;
    }

    @ParameterizedTest(name = "{0}, {1}, {2}, inference in between {3}, workspaces {4}")
    @MethodSource("everyPlace")
    void anIterationThatEndsEarlyLeavesTheFerryUsable(Place place, Nets.Kind kind, Setup setup, boolean infer, WorkspaceMode mode) {
        Model stock = network(kind, mode);
        Model net = network(kind, mode);
        try (Device device = setup.open(); MemFerry ferry = MemFerry.attach(net, setup.config(device))) {
            int slots = device.metrics().openRegions();
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            fail(stock, place);
            fail(net, place);
            if (infer) {
                INDArray features = Nets.gaussian(5, 3, Nets.INPUTS);
                Numbers.assertSame(Nets.output(stock, features), Nets.output(net, features), "output after the exception");
            }
            for (int step = 3; step < 6; step++) {
                Nets.train(stock, step, 1);
                Nets.train(net, step, 1);
                Numbers.assertSame(stock, net, "after step " + (step + 1));
            }
            long finished = place == Place.ITERATION_DONE ? 6 : 5;
            assertThat(ferry.metrics().iterations()).as("iterations finished").isEqualTo(finished);
            // Nobody tells the ferry of the exception: inference in the same forward pass counts as that pass begun anew.
            assertThat(ferry.metrics().abortedPasses()).as("passes cut short").isBetween(6 - finished, (6 - finished) * (infer ? 2 : 1));
            assertThat(device.metrics().openRegions()).as("regions").isLessThanOrEqualTo(slots + 1);
        }
        Nets.train(stock, 6, 1);
        Nets.train(net, 6, 1);
        Numbers.assertSame(stock, net, "after close");
    }

    @ParameterizedTest(name = "{0}, {1}, {2}")
    @MethodSource("everyPlace")
    void closingAfterAnIterationThatEndedEarlyGivesBackWhatStockHas(Place place, Nets.Kind kind, Setup setup) {
        Model stock = network(kind, WorkspaceMode.ENABLED);
        Model net = network(kind, WorkspaceMode.ENABLED);
        try (Device device = setup.open()) {
            MemFerry ferry = MemFerry.attach(net, setup.config(device));
            Nets.train(stock, 0, 2);
            Nets.train(net, 0, 2);
            fail(stock, place);
            fail(net, place);
            ferry.close();
            assertThat(device.metrics().openRegions()).isZero();
        }
        Nets.train(stock, 3, 2);
        Nets.train(net, 3, 2);
        Numbers.assertSame(stock, net, "after close");
    }

    private static void fail(Model model, Place place) {
        DataSet good = Nets.batch(2);
        List<TrainingListener> before = new ArrayList<>(Nets.listeners(model));
        switch (place) {
            case INPUT_SHAPE:
                assertThatThrownBy(() -> Nets.fit(model, new DataSet(Nets.gaussian(1, Nets.BATCH, Nets.INPUTS + 1), good.getLabels())))
                        .isInstanceOf(RuntimeException.class);
                return;
            case LABEL_SHAPE:
                assertThatThrownBy(() -> Nets.fit(model, new DataSet(good.getFeatures(), Nets.classes(1, Nets.BATCH, Nets.CLASSES + 1))))
                        .isInstanceOf(RuntimeException.class);
                return;
            case FORWARD_OF_LAYER:
            case BACKWARD_OF_LAYER:
                Tripwire.armed = place;
                break;
            default:
                before.add(0, new Thrower(place));
                Nets.setListeners(model, before.toArray(new TrainingListener[0]));
                before.remove(0);
                break;
        }
        try {
            assertThatThrownBy(() -> Nets.fit(model, good)).isInstanceOf(RuntimeException.class).hasMessageContaining("on purpose");
        } finally {
            Tripwire.armed = null;
            Nets.setListeners(model, before.toArray(new TrainingListener[0]));
        }
    }

    /** Four layers; the third one's activation can fail. */
    private static Model network(Nets.Kind kind, WorkspaceMode mode) {
        DenseLayer third = new DenseLayer.Builder().nOut(11).activation(new Tripwire()).build();
        InputType input = InputType.feedForward(Nets.INPUTS);
        if (kind == Nets.Kind.LAYERS) {
            return Nets.initialised(Nets.configuration(new Adam(1e-2), mode).list().layer(Nets.dense(0)).layer(Nets.dense(1)).layer(third)
                    .layer(Nets.softmax()).setInputType(input).build());
        }
        return Nets.initialised(Nets.configuration(new Adam(1e-2), mode).graphBuilder().addInputs("in").setInputTypes(input)
                .addLayer("0", Nets.dense(0), "in").addLayer("1", Nets.dense(1), "0").addLayer("2", third, "1")
                .addLayer("3", Nets.softmax(), "2").setOutputs("3").build());
    }

    /** An activation that throws when it is told to. */
    public static final class Tripwire extends ActivationTanH {

        private static final long serialVersionUID = 1L;
        private static Place armed;

        @Override
        public INDArray getActivation(INDArray in, boolean training) {
            if (armed == Place.FORWARD_OF_LAYER) {
                throw new IllegalStateException("forward, on purpose");
            }
            return super.getActivation(in, training);
        }

        @Override
        public Pair<INDArray, INDArray> backprop(INDArray in, INDArray epsilon) {
            if (armed == Place.BACKWARD_OF_LAYER) {
                throw new IllegalStateException("backward, on purpose");
            }
            return super.backprop(in, epsilon);
        }
    }

    private static final class Thrower extends BaseTrainingListener {

        private final Place place;

        Thrower(Place place) {
            this.place = place;
        }

        private void at(Place here) {
            if (here == place) {
                throw new IllegalStateException(here + ", on purpose");
            }
        }

        @Override
        public void onForwardPass(Model model, List<INDArray> activations) {
            at(Place.ON_FORWARD_PASS);
        }

        @Override
        public void onForwardPass(Model model, Map<String, INDArray> activations) {
            at(Place.ON_FORWARD_PASS);
        }

        @Override
        public void onBackwardPass(Model model) {
            at(Place.ON_BACKWARD_PASS);
        }

        @Override
        public void onGradientCalculation(Model model) {
            at(Place.ON_GRADIENT_CALCULATION);
        }

        @Override
        public void iterationDone(Model model, int iteration, int epoch) {
            at(Place.ITERATION_DONE);
        }
    }
}
