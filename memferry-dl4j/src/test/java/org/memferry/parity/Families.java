package org.memferry.parity;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.weights.WeightInit;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.IUpdater;

/** The network families of the parity suite: every kind of layer, wrapper, vertex and updater that reads parameters in its own way. */
public final class Families {

    private static final List<Family> ALL = collect();

    private Families() {
    }

    /** Every family, whether or not the DL4J on the class path can train it. */
    public static List<Family> all() {
        return ALL;
    }

    /** The families that the DL4J on the class path can train in stock form. */
    public static List<Family> runnable() {
        return isM11() ? ALL.stream().filter(Family::worksInM11).collect(Collectors.toUnmodifiableList()) : ALL;
    }

    /** The family of this name. */
    public static Family named(String name) {
        return ALL.stream()
                .filter(family -> family.name().equals(name))
                .findAny()
                .orElseThrow(() -> new IllegalArgumentException("name: " + name + " (expected: one of " + ALL + ")"));
    }

    /** True on DL4J 1.0.0-M1.1. {@code INDArray.setCloseable} is one of the few methods that came with M2.1. */
    static boolean isM11() {
        try {
            INDArray.class.getMethod("setCloseable", boolean.class);
            return false;
        } catch (NoSuchMethodException absentInM11) {
            return true;
        }
    }

    /** What the families' configurations have in common: FLOAT, tanh, Xavier, plain SGD as optimisation algorithm (the default). */
    static NeuralNetConfiguration.Builder configuration(long seed, IUpdater updater) {
        return new NeuralNetConfiguration.Builder()
                .seed(seed)
                .dataType(DataType.FLOAT)
                .weightInit(WeightInit.XAVIER)
                .activation(Activation.TANH)
                .updater(updater);
    }

    private static List<Family> collect() {
        List<Family> all = new ArrayList<>();
        all.addAll(DenseFamilies.all());
        all.addAll(UpdaterFamilies.all());
        all.addAll(ConvolutionFamilies.all());
        all.addAll(RecurrentFamilies.all());
        all.addAll(AttentionFamilies.all());
        all.addAll(WrapperFamilies.all());
        all.addAll(GraphFamilies.all());
        return Collections.unmodifiableList(all);
    }
}
