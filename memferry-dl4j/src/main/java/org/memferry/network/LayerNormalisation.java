package org.memferry.network;

import org.deeplearning4j.nn.api.Trainable;
import org.deeplearning4j.nn.conf.GradientNormalization;
import org.deeplearning4j.nn.gradient.Gradient;
import org.memferry.update.GradientScaling;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.reduce.floating.Norm2;
import org.nd4j.linalg.factory.Nd4j;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The gradient normalisation of one layer without a pass of its own for the scaling: what DL4J's {@code preApply} does to the gradient is
 * handed to the update's pass over it. Norms are ND4J's own operation on the host view, since their last bits depend on how its threads
 * share it; they are taken of the divided gradient, so the division is a pass of its own for every kind but the elementwise one.
 */
final class LayerNormalisation {

    private final GradientNormalization kind;
    private final Trainable layer;
    private final Map<String, Part> parts = new LinkedHashMap<>();

    /**
     * @param kind  not None
     * @param layer the layer, with its gradients on the host
     */
    LayerNormalisation(GradientNormalization kind, Trainable layer) {
        this.kind = kind;
        this.layer = layer;
    }

    /** Whether the gradient has to be divided by the minibatch before {@link #prepare}: where a norm is taken of it. */
    boolean needsDividedGradient() {
        return kind != GradientNormalization.ClipElementWiseAbsoluteValue;
    }

    /** Adds a parameter of the layer, whose scaling goes to an element of an array. */
    void add(String parameter, GradientScaling[] scalings, int index) {
        parts.put(parameter, new Part(scalings, index));
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
            gradient.gradientForVariable().forEach((name, array) -> parts.get(name).scale(ofParameter(array, threshold)));
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

    private GradientScaling ofLayer(INDArray gradient, double threshold) {
        if (kind == GradientNormalization.ClipElementWiseAbsoluteValue) {
            return GradientScaling.clip(threshold);
        }
        double norm = gradient.norm2Number().doubleValue();
        if (kind == GradientNormalization.RenormalizeL2PerLayer) {
            return GradientScaling.divide(divisor(norm));
        }
        return norm > threshold ? GradientScaling.multiply(threshold / norm) : GradientScaling.none();
    }

    private GradientScaling ofParameter(INDArray gradient, double threshold) {
        if (kind == GradientNormalization.RenormalizeL2PerParamType) {
            return GradientScaling.divide(divisor(Nd4j.getExecutioner().execAndReturn(new Norm2(gradient)).getFinalResult().doubleValue()));
        }
        double norm = gradient.norm2Number().doubleValue();
        return norm > threshold ? GradientScaling.divide(norm / threshold) : GradientScaling.none();
    }

    /** What DL4J divides by: never 0, and ND4J's {@code divi} takes its own epsilon for a NaN. */
    private static double divisor(double norm) {
        return norm == 0 ? 1e-5 : Double.isNaN(norm) ? Nd4j.EPS_THRESHOLD : norm;
    }

    /** One parameter of the layer. */
    private static final class Part {

        private final GradientScaling[] scalings;
        private final int index;

        Part(GradientScaling[] scalings, int index) {
            this.scalings = scalings;
            this.index = index;
        }

        void scale(GradientScaling scaling) {
            scalings[index] = scaling;
        }
    }
}
