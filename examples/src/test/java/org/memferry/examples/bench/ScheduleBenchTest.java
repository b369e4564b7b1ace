package org.memferry.examples.bench;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

class ScheduleBenchTest {

    @ParameterizedTest
    @CsvSource({"0, compute", "0.299, compute", "0.3, other", "0.799, other", "0.8, transfer", "1.25, transfer", "1.251, other"})
    void whatBoundsANetworkFollowsFromTransferOverCompute(double transferOverCompute, String bound) {
        assertThat(ScheduleBench.bound(transferOverCompute)).isEqualTo(bound);
    }
}
