package org.memferry.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;

import org.junit.jupiter.api.Test;
import org.memferry.Needs;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.factory.Nd4j;

/**
 * The classes for ND4J's CUDA backend, as far as they go without a card: that backend's jar is not on the class path, and is put in front of
 * the library's own classes in a loader beside it. Its native library is never loaded.
 */
class CudaClassesTest {

    private static final String PACKAGE = "org.memferry.nd4j.";
    private static final List<String> CLASSES = List.of("CudaArrays", "CudaRegionArray", "CudaTrackedArray", "CudaWorkspaceBlocks",
            "MeteredCudaWorkspace", "MemFerryCudaWorkspaceManager", "MemFerryCudaMemoryManager");

    /** Our own CUDA classes and the backend's in this loader, all else in the one above. */
    private static class Beside extends URLClassLoader {

        Beside(URL... urls) {
            super(urls, CudaClassesTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            boolean ours = name.startsWith(PACKAGE) && !name.endsWith("Test");
            Class<?> found = findLoadedClass(name);
            return found != null ? found : ours ? findClass(name) : super.loadClass(name, resolve);
        }
    }

    /** As {@link Beside}, and the backend's classes nowhere. */
    private static final class Without extends Beside {

        Without(URL... urls) {
            super(urls);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("org.nd4j.linalg.jcublas.") || name.startsWith("org.nd4j.jita.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }

    private static Beside loader() throws MalformedURLException {
        File jar = new File(System.getProperty("memferry.cudaBackend", "none"));
        Needs.that(jar.isFile(), "the jar of ND4J's CUDA backend, named by -Dmemferry.cudaBackend, is not there: " + jar);
        return new Beside(jar.toURI().toURL(), RegionArrays.class.getProtectionDomain().getCodeSource().getLocation(),
                CudaClassesTest.class.getProtectionDomain().getCodeSource().getLocation());
    }

    @Test
    void theyAreInitialisedAndTheirSignaturesResolvedWithoutACard() throws Exception {
        try (URLClassLoader loader = loader()) {
            for (String name : CLASSES) {
                Class<?> type = Class.forName(PACKAGE + name, true, loader);
                assertThat(type.getClassLoader()).isSameAs(loader);
                assertThatCode(type::getDeclaredMethods).doesNotThrowAnyException();
                assertThatCode(type::getDeclaredFields).doesNotThrowAnyException();
            }
        }
    }

    @Test
    void theirArraysShowMemoryOfOursCannotBeClosedAndTellOfUsesAndOfBeingMoved() throws Exception {
        try (URLClassLoader loader = loader()) {
            Callable<?> probe = (Callable<?>) Class.forName(PACKAGE + "CudaArraysProbe", true, loader).getConstructor().newInstance();
            assertThat(probe.call()).isEqualTo(Map.ofEntries(Map.entry("before", 0f), Map.entry("first", 2.5f), Map.entry("last", 2.5f),
                    Map.entry("behind", 0f), Map.entry("type", "CudaRegionArray"), Map.entry("closeable", false), Map.entry("in place", true),
                    Map.entry("host address", 64L), Map.entry("first element", 64L), Map.entry("buffer start", 64L),
                    Map.entry("copy can be closed", true), Map.entry("uses told", true), Map.entry("slot's primary side", 32L),
                    Map.entry("slot in place", false)));
        }
    }

    @Test
    void withoutTheBackendsJarNothingLoadsThemUnlessAsked() throws Exception {
        assertThat(Nd4j.getBackend().getClass().getSimpleName()).isEqualTo("CpuBackend");
        try (URLClassLoader loader = new Without(RegionArrays.class.getProtectionDomain().getCodeSource().getLocation())) {
            Class<?> arrays = Class.forName(PACKAGE + "RegionArrays", true, loader);
            assertThat(arrays.getClassLoader()).isSameAs(loader);
            assertThatCode(() -> arrays.getMethod("awaitComputation").invoke(null)).doesNotThrowAnyException();
            for (String name : CLASSES.subList(1, CLASSES.size())) {
                assertThatThrownBy(() -> Class.forName(PACKAGE + name, true, loader)).isInstanceOf(NoClassDefFoundError.class);
            }
        }
    }

    @Test
    void moreThanOneCardThatNd4jSeesIsRefusedWithTheVariableThatHidesTheRest() throws Exception {
        try (URLClassLoader loader = loader()) {
            Method check = Class.forName(PACKAGE + "CudaArrays", true, loader).getDeclaredMethod("requireOnlyCard", int.class, int.class);
            check.setAccessible(true);
            check.invoke(null, 0, 1);
            List<String> texts = new ArrayList<>();
            for (int card = 0; card < 2; card++) {
                int asked = card;
                assertThatThrownBy(() -> check.invoke(null, asked, 2)).isInstanceOf(InvocationTargetException.class)
                        .hasCauseInstanceOf(RefusedException.class).satisfies(e -> texts.add(e.getCause().getMessage()));
            }
            assertThat(texts.get(1)).contains("'cuda:1'", "2 cards", "CUDA_VISIBLE_DEVICES=1", "ask for cuda:0");
        }
    }
}
