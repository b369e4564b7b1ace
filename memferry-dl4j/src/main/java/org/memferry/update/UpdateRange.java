package org.memferry.update;

import org.memferry.base.RefusedException;
import org.nd4j.linalg.learning.regularization.L1Regularization;
import org.nd4j.linalg.learning.regularization.L2Regularization;
import org.nd4j.linalg.learning.regularization.Regularization;
import org.nd4j.linalg.learning.regularization.Regularization.ApplyStep;
import org.nd4j.linalg.learning.regularization.WeightDecay;

import java.util.ArrayList;
import java.util.List;

/** One parameter of an updater block: its length, and what DL4J does to it besides the rule. Immutable. */
public final class UpdateRange {

    private final long length;
    private final boolean dividedByMinibatch;
    private final boolean trained;
    private final List<Regularization> regularization;

    private UpdateRange(Builder builder) {
        length = builder.length;
        dividedByMinibatch = builder.dividedByMinibatch;
        trained = builder.trained;
        regularization = List.copyOf(builder.regularization);
    }

    /**
     * Starts a description: divided by the minibatch, trained, not regularised.
     *
     * @param length elements, at least 1
     */
    public static Builder of(long length) {
        return new Builder(length);
    }

    /**
     * Whether the engine knows these terms: DL4J's l1, l2 and weight decay themselves, at most four before and four after the rule.
     * Others (a user's own class) are to be applied through their {@code apply} on host views.
     */
    public static boolean knows(List<Regularization> regularization) {
        int before = 0;
        int after = 0;
        for (Regularization r : regularization) {
            Class<?> type = r.getClass();
            if (type != L1Regularization.class && type != L2Regularization.class && type != WeightDecay.class) {
                return false;
            }
            before += r.applyStep() == ApplyStep.BEFORE_UPDATER ? 1 : 0;
            after += r.applyStep() == ApplyStep.POST_UPDATER ? 1 : 0;
        }
        return before <= UpdatePass.MAX_TERMS && after <= UpdatePass.MAX_TERMS;
    }

    /** Elements. */
    public long length() {
        return length;
    }

    /** Whether its gradient is a sum over the minibatch, to be divided; batch normalisation's running mean and variance are not. */
    public boolean dividedByMinibatch() {
        return dividedByMinibatch;
    }

    /** Whether rule and regularisation apply; if not, the gradient itself is subtracted, as DL4J does for pretrain parameters. */
    public boolean trained() {
        return trained;
    }

    /** Adds the terms of an iteration to a pass, in DL4J's order. */
    void addTerms(UpdatePass pass, RuleStep step) {
        for (int i = 0; i < regularization.size(); i++) {
            Regularization r = regularization.get(i);
            if (r instanceof L1Regularization) {
                pass.addL1(((L1Regularization) r).getL1().valueAt(step.iteration(), step.epoch()));
            } else if (r instanceof L2Regularization) {
                pass.addL2(((L2Regularization) r).getL2().valueAt(step.iteration(), step.epoch()));
            } else {
                WeightDecay decay = (WeightDecay) r;
                double coefficient = decay.getCoeff().valueAt(step.iteration(), step.epoch());
                pass.addWeightDecay(decay.isApplyLR() ? coefficient * step.learningRate() : coefficient);
            }
        }
    }

    /** Collects and checks a range. */
    public static final class Builder {

        private final long length;
        private boolean dividedByMinibatch = true;
        private boolean trained = true;
        private List<Regularization> regularization = new ArrayList<>();

        private Builder(long length) {
            this.length = length;
        }

        /** The gradient is not divided by the minibatch. */
        public Builder notDivided() {
            dividedByMinibatch = false;
            return this;
        }

        /** Neither rule nor regularisation apply. */
        public Builder notTrained() {
            trained = false;
            return this;
        }

        /** The layer's terms for this parameter, in the layer's order. */
        public Builder regularization(List<Regularization> terms) {
            regularization = terms;
            return this;
        }

        /**
         * @throws IllegalArgumentException if the range is empty
         * @throws RefusedException         for terms that the engine does not know
         */
        public UpdateRange build() {
            if (length < 1) {
                throw new IllegalArgumentException("length: " + length + " (expected: >= 1)");
            }
            if (!knows(regularization)) {
                throw new RefusedException("regularisation " + regularization + ": the fused update knows DL4J's l1, l2 and weight decay,"
                        + " at most " + UpdatePass.MAX_TERMS + " before and after the rule; use Regularization.apply for others");
            }
            return new UpdateRange(this);
        }
    }
}
