package org.memferry.update;

import java.util.Objects;

/** What one iteration asks of a {@link FusedUpdate}: the rule's numbers, the minibatch, and where the block lies. Immutable. */
public final class UpdateRequest {

    private final RuleStep step;
    private final int minibatch;
    private final boolean writesUpdate;
    private final long parameters;
    private final long gradients;
    private final long state;
    private final GradientScaling[] scalings;

    private UpdateRequest(Builder builder) {
        step = builder.step;
        minibatch = builder.minibatch;
        writesUpdate = builder.writesUpdate;
        parameters = builder.parameters;
        gradients = builder.gradients;
        state = builder.state;
        scalings = builder.scalings;
    }

    /** Starts a request for an iteration. */
    public static Builder of(RuleStep step) {
        return new Builder(step);
    }

    RuleStep step() {
        return step;
    }

    int minibatch() {
        return minibatch;
    }

    boolean writesUpdate() {
        return writesUpdate;
    }

    long parameters() {
        return parameters;
    }

    long gradients() {
        return gradients;
    }

    long state() {
        return state;
    }

    GradientScaling scaling(int range) {
        return scalings == null ? GradientScaling.none() : scalings[range];
    }

    /** Collects a request. */
    public static final class Builder {

        private final RuleStep step;
        private int minibatch;
        private boolean writesUpdate;
        private long parameters;
        private long gradients;
        private long state;
        private GradientScaling[] scalings;

        private Builder(RuleStep step) {
            this.step = Objects.requireNonNull(step, "step");
        }

        /** Addresses of the block's first parameter, its gradient, and the block's first state element (0 for rules without). */
        public Builder at(long parameters, long gradients, long state) {
            this.parameters = parameters;
            this.gradients = gradients;
            this.state = state;
            return this;
        }

        /** Divide the gradients of ranges that ask for it by the number of examples; 0, the default, divides none. */
        public Builder minibatch(int examples) {
            this.minibatch = examples;
            return this;
        }

        /** One scaling for each range of the block, applied after the division. The array is not copied. */
        public Builder scalings(GradientScaling... scalings) {
            this.scalings = scalings;
            return this;
        }

        /** Leave the update in the gradient array, where DL4J's listeners find it. Costs its memory traffic. */
        public Builder writeUpdate(boolean write) {
            writesUpdate = write;
            return this;
        }

        /** @throws IllegalArgumentException if an address is missing */
        public UpdateRequest build() {
            if (parameters == 0 || gradients == 0 || state == 0 && step.rule().stateComponents() > 0) {
                throw new IllegalArgumentException("addresses of parameters, gradients, state: " + parameters + ", " + gradients + ", "
                        + state + " (expected: not 0)");
            }
            return new UpdateRequest(this);
        }
    }
}
