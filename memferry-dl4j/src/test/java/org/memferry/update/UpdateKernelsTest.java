package org.memferry.update;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

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

    // B01
    @Test
    void aMissingAndABrokenLibraryAreNamedInOneLine(@TempDir Path directory) throws IOException {
        assertThat(NativeLibrary.load(null)).contains("not in the jar");
        Path gone = directory.resolve("gone.so");
        assertThat(NativeLibrary.load(gone.toUri().toURL())).isNotNull().doesNotContain("\n");
        Path broken = directory.resolve("broken.so");
        Files.write(broken, "not a library".getBytes(StandardCharsets.US_ASCII));
        assertThat(NativeLibrary.load(broken.toUri().toURL())).startsWith("UnsatisfiedLinkError").contains("broken").doesNotContain("\n");
    }

    // B01
    @Test
    void aLibraryForAnotherProcessorIsNamedInOneLine(@TempDir Path directory) throws Exception {
        Kernels.needNative();
        byte[] library = Files.readAllBytes(Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI()));
        // The machine field of the ELF header: 183 is AArch64.
        library[18] = (byte) 183;
        Path foreign = Files.write(directory.resolve("foreign.so"), library);
        String cause = NativeLibrary.load(foreign.toUri().toURL());
        assertThat(cause).startsWith("UnsatisfiedLinkError").contains("foreign.so").doesNotContain("\n");
        UpdateKernel kernel = UpdateKernels.choose("native-avx2", () -> cause, heard.log());
        assertThat(kernel).isInstanceOf(JavaKernel.class);
        assertThat(heard.lines()).singleElement().asString().contains(cause);
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
