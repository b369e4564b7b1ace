package org.memferry.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.memferry.base.RefusedException;
import org.memferry.nd4j.CudaBuild.Support;

/** The rule by which CUDA loads code, written out for every card since Kepler; what is in the builds is a matter of record. */
class CudaBuildTest {

    @ParameterizedTest
    @CsvSource({"30, NONE, NONE", "35, NONE, READY", "37, READY, READY", "52, READY, READY", "60, READY, READY", "62, READY, READY",
        "70, READY, READY", "72, READY, READY", "75, READY, READY", "80, READY, READY", "86, READY, READY", "87, READY, READY",
        "89, READY, READY", "90, NONE, COMPILED_AT_FIRST_USE", "100, NONE, COMPILED_AT_FIRST_USE", "120, NONE, COMPILED_AT_FIRST_USE"})
    void aCardRunsMachineCodeOfItsMajorNumberAndOlderPtx(int card, Support newer, Support older) {
        assertThat(CudaBuild.M2_1.supports(card)).isEqualTo(newer);
        assertThat(CudaBuild.M1_1.supports(card)).isEqualTo(older);
    }

    @Test
    void aCardThatABuildHasNothingForIsRefusedWithTheTableAndTheBuildThatHas() {
        assertThatThrownBy(() -> CudaBuild.check("1.0.0-M2.1", 90)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("sm_90").hasMessageContaining("1.0.0-M2.1 for CUDA 11.4 and 11.6: sm_37 to sm_86 and no PTX")
                .hasMessageContaining("1.0.0-M1.1 for CUDA 11.2: sm_35 to sm_86 and PTX compute_86")
                .hasMessageContaining("nd4j-cuda-11.2").hasMessageContaining("CUDA_CACHE_MAXSIZE");
    }

    @Test
    void aCardThatNoBuildHasAnythingForIsNotSentToOne() {
        assertThatThrownBy(() -> CudaBuild.check("1.0.0-M1.1", 30)).isInstanceOf(RefusedException.class)
                .hasMessageContaining("nd4j-native").hasMessageNotContaining("CUDA_CACHE_MAXSIZE");
    }

    @Test
    void aVersionThatIsNotKnownIsNotJudged() {
        assertThat(CudaBuild.check("1.0.0-M3", 90)).isEqualTo(Support.READY);
    }
}
