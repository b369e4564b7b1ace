package org.memferry.report;

import java.util.Objects;
import java.util.Optional;

/**
 * What came of training the first iterations beside a stock copy of the network, for a reader: how many steps were the same bits, and what
 * differed, or why no more were looked at. Immutable.
 */
public final class Verification {

    private final int asked;
    private final int steps;
    private final int writtenBetween;
    private final String difference;
    private final String reason;

    private Verification(Builder b) {
        this.asked = b.asked;
        this.steps = b.steps;
        this.writtenBetween = b.writtenBetween;
        this.difference = b.difference;
        this.reason = b.reason;
    }

    /**
     * Starts a report where nothing was verified yet.
     *
     * @param asked steps to verify; 0 for none
     */
    public static Builder of(int asked) {
        return new Builder(asked);
    }

    /** Steps that were to be verified; 0 if nobody asked. */
    public int asked() {
        return asked;
    }

    /** Steps whose score, parameters and updater state were those of stock DL4J, bit for bit. */
    public int steps() {
        return steps;
    }

    /**
     * How many of these steps began from parameters or updater state that were not those which the step before had ended with, since the
     * program had been given the network's arrays in between and may have written them.
     */
    public int writtenBetween() {
        return writtenBetween;
    }

    /** The first difference; empty if there was none. */
    public Optional<String> difference() {
        return Optional.ofNullable(difference);
    }

    /** Why the steps that are missing were not verified; empty if they were, if they are still to come, or if there was a difference. */
    public Optional<String> notVerified() {
        return Optional.ofNullable(reason);
    }

    /** True if as many steps as were asked for, and at least one, are those of stock DL4J. */
    public boolean isComplete() {
        return asked > 0 && steps == asked && difference == null;
    }

    /** One line. */
    @Override
    public String toString() {
        if (asked == 0) {
            return "nothing was to be verified";
        }
        String text = isComplete() ? "verified " + count(steps) : "verified " + steps + " of " + count(asked);
        text += steps == 0 ? "" : ": scores, parameters and updater state equal stock DL4J bit for bit";
        if (writtenBetween > 0) {
            text += " (before " + writtenBetween + " of them the program had been given the network's arrays, and they had changed)";
        }
        return text + (difference == null ? "" : "; then " + difference) + (reason == null ? "" : "; not verified: " + reason);
    }

    private static String count(int steps) {
        return steps == 1 ? "1 step" : steps + " steps";
    }

    /** Collects a report. */
    public static final class Builder {

        private final int asked;
        private int steps;
        private int writtenBetween;
        private String difference;
        private String reason;

        private Builder(int asked) {
            this.asked = asked;
        }

        /**
         * Steps that were equal.
         *
         * @param equal   how many
         * @param written how many of them began from values that were written in between
         */
        public Builder steps(int equal, int written) {
            this.steps = equal;
            this.writtenBetween = written;
            return this;
        }

        /** The first difference. */
        public Builder difference(String text) {
            this.difference = Objects.requireNonNull(text, "difference");
            return this;
        }

        /** Why no more is verified. */
        public Builder notVerified(String why) {
            this.reason = Objects.requireNonNull(why, "reason");
            return this;
        }

        /** The report. */
        public Verification build() {
            return new Verification(this);
        }
    }
}
