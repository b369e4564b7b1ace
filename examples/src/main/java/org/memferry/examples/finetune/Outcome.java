package org.memferry.examples.finetune;

import org.memferry.nd4j.DeviceMeter.Usage;

/** What a run came to. */
final class Outcome {

    final RunRecord record;
    /** Share of the held-out digits that the network gets right in the end. */
    final double accuracy;
    /** Most device bytes in use at a time. */
    final Usage peak;
    final long parameters;

    Outcome(RunRecord record, double accuracy, Usage peak, long parameters) {
        this.record = record;
        this.accuracy = accuracy;
        this.peak = peak;
        this.parameters = parameters;
    }
}
