package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.updater.UpdaterBlock.ParamState;
import org.memferry.nd4j.RegionArrays;
import org.memferry.update.GradientScaling;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The gradient normalisation of one layer without a pass of its own for the scaling: what DL4J's {@code preApply} does to the gradient is
 * handed to the update's pass over it. Norms are taken on the host view by {@link GradientNorms}, of the divided gradient, so the division is
 * a pass of its own for every kind but the elementwise one.
 */
final class LayerNormalisation {

    private final GradientNormalization kind;
    private final Trainable layer;
    private final GradientNorms norms;
    private final Map<String, Part> parts = new LinkedHashMap<>();

    /**
     * @param kind  not None
     * @param layer the layer, with its gradients on the host
     * @param norms who takes norms
     */
    LayerNormalisation(GradientNormalization kind, Trainable layer, GradientNorms norms) {
        this.kind = kind;
        this.layer = layer;
        this.norms = norms;
    }

    /** Whether the gradient has to be divided by the minibatch before {@link #prepare}: where a norm is taken of it. */
    boolean needsDividedGradient() {
        return kind != GradientNormalization.ClipElementWiseAbsoluteValue;
    }

    /** Adds a parameter of the layer, whose scaling goes to an element of an array. */
    void add(ParamState parameter, GradientScaling[] scalings, int index) {
        parts.put(parameter.getParamName(), new Part(parameter.getGradView(), scalings, index));
    }

    /**
     * Decides this iteration's scalings.
     *
     * @param gradient the layer's entries of the network's gradient, on the host; a layer without any is not normalised
     */
    void prepare(Gradient gradient) {
        scaleAll(GradientScaling.none());
        if (gradient.gradientForVariable().isEmpty()) {
            return;
        }
        double threshold = layer.getConfig().getGradientNormalizationThreshold();
        if (kind == GradientNormalization.RenormalizeL2PerParamType || kind == GradientNormalization.ClipL2PerParamType) {
            gradient.gradientForVariable().forEach((name, array) -> scale(name, array, threshold));
            return;
        }
        INDArray all = layer.getGradientsViewArray();
        // Null for graph vertices on SameDiff, which DL4J's normalisation skips.
        if (all != null) {
            scaleAll(ofLayer(all, threshold));
        }
    }

    private void scaleAll(GradientScaling scaling) {
        parts.values().forEach(p -> p.scale(scaling));
    }

    /**
     * The gradient of a parameter need not lie where the updater has the parameter of that name: DL4J's separable and depthwise
     * convolutions hold their parameters in another order than they name them. DL4J scales the gradient where it lies.
     */
    private void scale(String name, INDArray gradient, double threshold) {
        double divisor = divisorOf(gradient, threshold);
        Part part = parts.get(name);
        if (part != null && RegionArrays.sameMemory(part.gradient, gradient)) {
            part.scale(divisor == 1 ? GradientScaling.none() : GradientScaling.divide(divisor));
        } else {
            gradient.divi(divisor);
            RegionArrays.awaitComputation();
        }
    }

    private GradientScaling ofLayer(INDArray gradient, double threshold) {
        if (kind == GradientNormalization.ClipElementWiseAbsoluteValue) {
            return GradientScaling.clip(threshold);
        }
        double norm = norms.of(gradient);
        if (kind == GradientNormalization.RenormalizeL2PerLayer) {
            return GradientScaling.divide(divisor(norm));
        }
        return norm > threshold ? GradientScaling.multiply(threshold / norm) : GradientScaling.none();
    }

    /** 1 where the gradient stays as it is. */
    private double divisorOf(INDArray gradient, double threshold) {
        if (kind == GradientNormalization.RenormalizeL2PerParamType) {
            return divisor(norms.ofRenormalised(gradient));
        }
        double norm = norms.of(gradient);
        return norm > threshold ? norm / threshold : 1;
    }

    /** What DL4J divides by: never 0, and ND4J's {@code divi} takes its own epsilon for a NaN. */
    private static double divisor(double norm) {
        return norm == 0 ? 1e-5 : Double.isNaN(norm) ? Nd4j.EPS_THRESHOLD : norm;
    }

    /** One parameter of the layer. */
    private static final class Part {

        private final INDArray gradient;
        private final GradientScaling[] scalings;
        private final int index;

        Part(INDArray gradient, GradientScaling[] scalings, int index) {
            this.gradient = gradient;
            this.scalings = scalings;
            this.index = index;
        }

        void scale(GradientScaling scaling) {
            scalings[index] = scaling;
        }
    }
}
