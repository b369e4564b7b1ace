package org.memferry.update;

/**
 * The elementwise part of DL4J's gradient normalisation, between the division by the minibatch and the regularisation. The norm, where
 * one is needed, is the caller's: DL4J takes it of the divided gradient, so the division has to be a pass of its own then.
 */
public final class GradientScaling {

    /** What is done to each element; in the order of the native kernel. */
    enum Kind { NONE, MULTIPLY, DIVIDE, CLIP }

    static final Kind[] KINDS = Kind.values();

    private static final GradientScaling NONE = new GradientScaling(Kind.NONE, 0);

    private final Kind kind;
    private final double value;

    private GradientScaling(Kind kind, double value) {
        this.kind = kind;
        this.value = value;
    }

    /** Nothing. */
    public static GradientScaling none() {
        return NONE;
    }

    /** {@code g * factor}: ClipL2PerLayer over its threshold. */
    public static GradientScaling multiply(double factor) {
        return new GradientScaling(Kind.MULTIPLY, factor);
    }

    /** {@code g / divisor}: RenormalizeL2PerLayer, RenormalizeL2PerParamType, ClipL2PerParamType over its threshold. */
    public static GradientScaling divide(double divisor) {
        return new GradientScaling(Kind.DIVIDE, divisor);
    }

    /** {@code g} limited to [-threshold, threshold]: ClipElementWiseAbsoluteValue. */
    public static GradientScaling clip(double threshold) {
        return new GradientScaling(Kind.CLIP, threshold);
    }

    Kind kind() {
        return kind;
    }

    double value() {
        return value;
    }
}
