package org.memferry.update;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.memferry.device.NativeLibrary;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

class UpdateKernelsTest {

    private final Logger log = (Logger) LoggerFactory.getLogger("UpdateKernelsTest");
    private final ListAppender<ILoggingEvent> heard = new ListAppender<>();

    @BeforeEach
    void listen() {
        heard.start();
        log.setLevel(Level.INFO);
        log.addAppender(heard);
    }

    @AfterEach
    void stopListening() {
        log.detachAppender(heard);
    }

    private List<String> lines() {
        return heard.list.stream().map(e -> e.getLevel() + " " + e.getFormattedMessage()).collect(Collectors.toList());
    }

    @Test
    void withoutALibraryJavaServesAndOneWarningNamesTheCause() {
        UpdateKernel kernel = UpdateKernels.choose("auto", () -> "it is somewhere else", log);
        assertThat(kernel).isInstanceOf(JavaKernel.class);
        assertThat(lines()).hasSize(1);
        assertThat(lines().get(0)).startsWith("WARN The native update kernel was not loaded: it is somewhere else. The Java kernel serves");
    }

    @Test
    void javaIsHadWithoutAskingForTheLibrary() {
        UpdateKernel kernel = UpdateKernels.choose(" Java ", () -> {
            throw new AssertionError("the library was loaded");
        }, log);
        assertThat(kernel.name()).isEqualTo("Java");
        assertThat(lines()).isEmpty();
    }

    @Test
    void everyLevelOfThisCpuCanBeForcedAndABetterOneFallsBack() {
        Kernels.needNative();
        int best = NativeKernel.bestLevel();
        String[] names = {"baseline", "avx2", "avx512"};
        for (int level = 0; level < names.length; level++) {
            heard.list.clear();
            UpdateKernel kernel = UpdateKernels.choose("native-" + names[level], NativeLibrary::load, log);
            assertThat(kernel.name()).isEqualTo("native " + NativeLevel.LEVELS[Math.min(level, best)]);
            assertThat(lines()).hasSize(level > best ? 1 : 0);
        }
        assertThat(UpdateKernels.choose("native", NativeLibrary::load, log).name()).isEqualTo("native " + NativeLevel.LEVELS[best]);
    }

    @Test
    void anUnknownWishMeansAutoAndSaysWhatIsKnown() {
        Kernels.needNative();
        UpdateKernel kernel = UpdateKernels.choose("cuda", NativeLibrary::load, log);
        assertThat(kernel).isInstanceOf(NativeKernel.class);
        assertThat(lines()).containsExactly("WARN org.memferry.update.kernel: 'cuda' (expected: auto, native, native-avx512, native-avx2,"
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
