package org.memferry.examples.finetune;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/** A comparison that cannot fail proves nothing: one changed bit anywhere must be seen. */
class RunRecordTest {

    private static MultiLayerNetwork network() {
        MultiLayerNetwork net = Networks.untrained(Scale.SMALL);
        net.init();
        return net;
    }

    private static RunRecord record(MultiLayerNetwork net, double score) {
        RunRecord record = new RunRecord();
        record.score(score);
        record.stageEnded("a stage", net);
        return record;
    }

    @Test
    void equalRunsDoNotDiffer() {
        assertThat(record(network(), 0.5).differenceFrom(record(network(), 0.5))).isNull();
    }

    @Test
    void theLastBitOfTheLastParameterCounts() {
        MultiLayerNetwork other = network();
        long last = other.params().length() - 1;
        other.params().putScalar(last, Math.nextUp(other.params().getFloat(last)));
        assertThat(record(network(), 0.5).differenceFrom(record(other, 0.5))).isEqualTo("parameters after a stage");
    }

    @Test
    void theLastBitOfTheUpdaterStateCounts() {
        MultiLayerNetwork other = network();
        long last = other.getUpdater().getStateViewArray().length() - 1;
        other.getUpdater().getStateViewArray().putScalar(last, Float.MIN_VALUE);
        assertThat(record(network(), 0.5).differenceFrom(record(other, 0.5))).isEqualTo("updater state after a stage");
    }

    @Test
    void theLastBitOfAScoreCounts() {
        assertThat(record(network(), 0.5).differenceFrom(record(network(), Math.nextUp(0.5)))).startsWith("score of iteration 1");
    }
}
