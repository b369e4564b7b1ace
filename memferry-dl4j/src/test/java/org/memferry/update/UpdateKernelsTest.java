package org.memferry.update;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.memferry.device.NativeLibrary;

import static org.assertj.core.api.Assertions.assertThat;

class UpdateKernelsTest {

    private final LogLines heard = new LogLines();

    @AfterEach
    void stopListening() {
        heard.close();
    }

    // B01, B03
    @Test
    void withoutALibraryJavaServesAndOneWarningNamesTheCause() {
        UpdateKernel kernel = UpdateKernels.choose("auto", () -> "it is somewhere else", heard.log());
        assertThat(kernel).isInstanceOf(JavaKernel.class);
        assertThat(heard.lines()).hasSize(1);
        assertThat(heard.lines().get(0)).startsWith("WARN The native update kernel was not loaded: it is somewhere else. The Java kernel serves");
    }

    @Test
    void javaIsHadWithoutAskingForTheLibrary() {
        UpdateKernel kernel = UpdateKernels.choose(" Java ", () -> {
            throw new AssertionError("the library was loaded");
        }, heard.log());
        assertThat(kernel.name()).isEqualTo("Java");
        assertThat(heard.lines()).isEmpty();
    }

    // B03
    @Test
    void everyLevelOfThisCpuCanBeForcedAndABetterOneFallsBack() {
        Kernels.needNative();
        int best = NativeKernel.bestLevel();
        String[] names = {"baseline", "avx2", "avx512"};
        for (int level = 0; level < names.length; level++) {
            heard.forget();
            UpdateKernel kernel = UpdateKernels.choose("native-" + names[level], NativeLibrary::load, heard.log());
            assertThat(kernel.name()).isEqualTo("native " + NativeLevel.LEVELS[Math.min(level, best)]);
            assertThat(heard.lines()).hasSize(level > best ? 1 : 0);
        }
        assertThat(UpdateKernels.choose("native", NativeLibrary::load, heard.log()).name()).isEqualTo("native " + NativeLevel.LEVELS[best]);
    }

    @Test
    void anUnknownWishMeansAutoAndSaysWhatIsKnown() {
        Kernels.needNative();
        UpdateKernel kernel = UpdateKernels.choose("cuda", NativeLibrary::load, heard.log());
        assertThat(kernel).isInstanceOf(NativeKernel.class);
        assertThat(heard.lines()).containsExactly("WARN org.memferry.update.kernel: 'cuda' (expected: auto, native, native-avx512, native-avx2,"
                + " native-baseline or java); auto is used");
    }

    @Test
    void theEngineNamesItself() {
        try (UpdateEngine engine = new UpdateEngine(new JavaKernel(), new UpdateWorkers(2))) {
            assertThat(engine).hasToString("Java, 2 threads");
        }
        try (UpdateEngine engine = new UpdateEngine(new NativeKernel(NativeLevel.AVX2), new UpdateWorkers(1))) {
            assertThat(engine).hasToString("native AVX2, 1 thread");
        }
    }
}
