package org.memferry.update;

import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.memferry.update.StockRounding.Contraction;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOpsHolder;

import static org.assertj.core.api.Assertions.assertThat;

class StockRoundingTest {

    /** Which build is loaded, by the folder of its library inside its jar. */
    private static boolean avx2Build() {
        Nd4j.create(1);
        assertThat(NativeOpsHolder.getInstance().getDeviceNativeOps()).isNotNull();
        return Loader.class.getClassLoader().getResource("org/nd4j/linalg/cpu/nativecpu/bindings/linux-x86_64-avx2/libnd4jcpu.so") != null;
    }

    @ParameterizedTest
    @EnumSource(ElementType.class)
    void findsThatTheAvx2BuildFusesEveryRuleAndTheGenericBuildNone(ElementType type) {
        Contraction expected = avx2Build() ? Contraction.FUSED : Contraction.PLAIN;
        for (UpdateRule rule : UpdateRule.values()) {
            assertThat(StockRounding.ofRule(rule, type)).as("%s %s", rule, type)
                    .isEqualTo(rule.stateComponents() == 0 ? Contraction.PLAIN : expected);
            assertThat(FusedUpdate.isExact(rule, type)).isTrue();
        }
        assertThat(StockRounding.ofRegularisation(type)).isEqualTo(expected);
    }
}
