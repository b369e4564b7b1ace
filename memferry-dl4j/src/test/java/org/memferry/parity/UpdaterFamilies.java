package org.memferry.parity;

import static org.memferry.parity.Families.configuration;
import static org.memferry.parity.RandomData.batch;

import java.util.List;
import java.util.Map;

import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.CycleSchedule;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.InverseSchedule;
import org.nd4j.linalg.schedule.MapSchedule;
import org.nd4j.linalg.schedule.PolySchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.SigmoidSchedule;
import org.nd4j.linalg.schedule.StepSchedule;

/**
 * Dense stacks whose point is the update: every updater, every schedule, every kind of gradient normalisation. AdaBelief is missing:
 * in stock 1.0.0-M2.1 it fails on the first update, since it expects its state as a matrix.
 */
final class UpdaterFamilies {

    private static final int BATCH = 16;
    private static final int INPUTS = 18;
    private static final int CLASSES = 6;

    private UpdaterFamilies() {
    }

    static List<Family> all() {
        return List.of(mixedUpdaters(), schedules(), biasUpdaters(), clipping(), noMiniBatch());
    }

    /** Another updater in each layer: as many update blocks as layers, with state of none to three arrays per parameter. */
    private static Family mixedUpdaters() {
        return StockFamily.layers("mixed-updaters", BATCH, () -> configuration(31, new Adam(1e-3))
                .list()
                .layer(dense(30, new Sgd(0.05)))
                .layer(dense(27, new Nesterovs(0.02, 0.9)))
                .layer(dense(24, new AdaGrad(0.02)))
                .layer(dense(29, new RmsProp(2e-3)))
                .layer(dense(21, new AdaMax(2e-3)))
                .layer(dense(26, new Nadam(2e-3)))
                .layer(dense(23, new AMSGrad(2e-3)))
                .layer(dense(25, new AdaDelta()))
                .layer(dense(22, new NoOp()))
                .layer(dense(20, new Adam(2e-3, 0.8, 0.99, 1e-6)))
                .layer(softmax(new RmsProp(1e-3, 0.9, 1e-6)))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** A rate that moves with the iteration, by every rule DL4J has; one reaches zero and one moves the momentum. */
    private static Family schedules() {
        return StockFamily.layers("schedules", BATCH, () -> configuration(32, new Adam(1e-3))
                .list()
                .layer(dense(30, new Sgd(new MapSchedule(ScheduleType.ITERATION, Map.of(0, 0.1, 2, 0.05, 4, 0.01)))))
                .layer(dense(27, new Nesterovs(new StepSchedule(ScheduleType.ITERATION, 0.05, 0.5, 2),
                        new MapSchedule(ScheduleType.ITERATION, Map.of(0, 0.5, 3, 0.9)))))
                .layer(dense(24, new Adam(new ExponentialSchedule(ScheduleType.ITERATION, 2e-3, 0.9))))
                .layer(dense(28, new Adam(new PolySchedule(ScheduleType.ITERATION, 2e-3, 2, 3))))
                .layer(dense(22, new RmsProp(new InverseSchedule(ScheduleType.ITERATION, 2e-3, 0.5, 2))))
                .layer(dense(25, new AdaGrad(new SigmoidSchedule(ScheduleType.ITERATION, 0.05, 0.7, 2))))
                .layer(dense(21, new Nadam(new CycleSchedule(ScheduleType.ITERATION, 2e-3, 6))))
                .layer(softmax(new AMSGrad(new StepSchedule(ScheduleType.EPOCH, 2e-3, 0.5, 1))))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Two updaters within a layer, so that blocks begin and end inside layers; equal neighbours merge across a layer's end. */
    private static Family biasUpdaters() {
        return StockFamily.layers("bias-updaters", BATCH, () -> configuration(33, new Adam(1e-3))
                .biasUpdater(new Sgd(0.02))
                .list()
                .layer(dense(31, null))
                .layer(dense(27, null))
                .layer(new DenseLayer.Builder().nOut(25).updater(new Nesterovs(0.02, 0.9)).biasUpdater(new Adam(1e-3)).build())
                .layer(new DenseLayer.Builder().nOut(28).updater(new Adam(1e-3)).biasUpdater(new AMSGrad(1e-3)).build())
                .layer(dense(20, new NoOp()))
                .layer(softmax(null))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Every kind of normalisation and clipping, each on its own layer and with thresholds that bite. */
    private static Family clipping() {
        return StockFamily.layers("gradient-normalisation", BATCH, () -> configuration(34, new Adam(1e-3))
                .list()
                .layer(normalised(33, GradientNormalization.ClipElementWiseAbsoluteValue, 1e-4))
                .layer(normalised(28, GradientNormalization.ClipL2PerLayer, 1e-3))
                .layer(normalised(26, GradientNormalization.ClipL2PerParamType, 1e-3))
                .layer(normalised(30, GradientNormalization.RenormalizeL2PerLayer, 1.0))
                .layer(normalised(24, GradientNormalization.RenormalizeL2PerParamType, 1.0))
                .layer(dense(22, new Sgd(0.05)))
                .layer(softmax(new Nesterovs(0.02, 0.9)))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** Gradients that are not divided by the number of examples. */
    private static Family noMiniBatch() {
        return StockFamily.layers("no-mini-batch", BATCH, () -> configuration(35, new Nesterovs(1e-3, 0.9))
                .miniBatch(false)
                .l2(1e-3)
                .list()
                .layer(dense(34, null))
                .layer(dense(29, null))
                .layer(dense(31, null))
                .layer(dense(24, null))
                .layer(softmax(null))
                .setInputType(InputType.feedForward(INPUTS))
                .build())
                .inputs(InputType.feedForward(INPUTS))
                .on(data -> batch(data.gaussian(BATCH, INPUTS), data.classes(BATCH, CLASSES)));
    }

    /** A dense layer; without an updater it takes the network's. */
    private static DenseLayer dense(int size, IUpdater updater) {
        return new DenseLayer.Builder().nOut(size).updater(updater).build();
    }

    private static DenseLayer normalised(int size, GradientNormalization kind, double threshold) {
        return new DenseLayer.Builder().nOut(size).gradientNormalization(kind).gradientNormalizationThreshold(threshold).build();
    }

    private static OutputLayer softmax(IUpdater updater) {
        return new OutputLayer.Builder(LossFunction.MCXENT).nOut(CLASSES).activation(Activation.SOFTMAX).updater(updater).build();
    }
}
