package org.memferry.update;

/**
 * What a kernel is told about one pass over one range: the rule's numbers, the divisor, the regularisation terms in order, and what
 * to fuse. One instance serves a range for ever; it is refilled for each iteration.
 */
final class UpdatePass {

    /** Most regularisation terms before the rule, and after it; the native kernel's MAX_TERMS. */
    static final int MAX_TERMS = 4;

    // The native kernel reads flags and numbers as they lie here: see its enums of the same names.
    static final int DIVIDE = 1;
    static final int WRITE_UPDATE = 2;
    static final int RULE_FUSED = 4;
    static final int AXPY_FUSED = 8;
    private static final int SCALING_SHIFT = 4;
    private static final int BEFORE_SHIFT = 8;
    private static final int AFTER_SHIFT = 12;
    private static final int L1_SHIFT = 16;
    private static final int DIVISOR = RuleStep.SCALARS;
    private static final int SCALING = DIVISOR + 1;
    private static final int BEFORE = SCALING + 1;
    private static final int AFTER = BEFORE + MAX_TERMS;

    private final double[] numbers = new double[AFTER + MAX_TERMS];
    private UpdateRule rule = UpdateRule.NOOP;
    private ElementType type = ElementType.FLOAT;
    private int flags;

    /** Starts over with a rule's numbers and nothing else. */
    void begin(RuleStep step) {
        rule = step.rule();
        type = step.type();
        flags = 0;
        step.copyTo(numbers);
    }

    /** Starts over with no rule: the gradient is the update. */
    void begin(ElementType type) {
        rule = UpdateRule.NOOP;
        this.type = type;
        flags = 0;
    }

    void fuse(boolean inRule, boolean inRegularisation) {
        flags |= (inRule ? RULE_FUSED : 0) | (inRegularisation ? AXPY_FUSED : 0);
    }

    void divide(double divisor) {
        flags |= DIVIDE;
        numbers[DIVISOR] = divisor;
    }

    void scale(GradientScaling scaling) {
        flags |= scaling.kind().ordinal() << SCALING_SHIFT;
        numbers[SCALING] = scaling.value();
    }

    void writeUpdate() {
        flags |= WRITE_UPDATE;
    }

    void addL1(double coefficient) {
        flags |= 1 << L1_SHIFT + termsBefore();
        addL2(coefficient);
    }

    void addL2(double coefficient) {
        numbers[BEFORE + termsBefore()] = coefficient;
        flags += 1 << BEFORE_SHIFT;
    }

    void addWeightDecay(double scale) {
        numbers[AFTER + termsAfter()] = scale;
        flags += 1 << AFTER_SHIFT;
    }

    UpdateRule rule() {
        return rule;
    }

    ElementType type() {
        return type;
    }

    int flags() {
        return flags;
    }

    /** The numbers as the native kernel reads them: not a copy. */
    double[] numbers() {
        return numbers;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    double divisor() {
        return numbers[DIVISOR];
    }

    GradientScaling.Kind scaling() {
        return GradientScaling.KINDS[flags >> SCALING_SHIFT & 3];
    }

    double scalingValue() {
        return numbers[SCALING];
    }

    int termsBefore() {
        return flags >> BEFORE_SHIFT & 7;
    }

    boolean isL1(int term) {
        return (flags >> L1_SHIFT + term & 1) != 0;
    }

    double before(int term) {
        return numbers[BEFORE + term];
    }

    int termsAfter() {
        return flags >> AFTER_SHIFT & 7;
    }

    double after(int term) {
        return numbers[AFTER + term];
    }
}
