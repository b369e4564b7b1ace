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
    private static final List<String> CLASSES = List.of("CudaArrays", "CudaRegionArray", "CudaTrackedArray");

    /** Our own CUDA classes and the backend's in this loader, all else in the one above. */
    private static final class Beside extends URLClassLoader {

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

    private static Beside loader() throws MalformedURLException {
        File jar = new File(System.getProperty("memferry.cudaBackend", "none"));
        Needs.that(jar.isFile(), "the jar of ND4J's CUDA backend, named by -Dmemferry.cudaBackend, is not there: " + jar);
        return new Beside(jar.toURI().toURL(), RegionArrays.class.getProtectionDomain().getCodeSource().getLocation());
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
    void withoutTheBackendsJarNothingLoadsThemUnlessAsked() throws Exception {
        assertThat(Nd4j.getBackend().getClass().getSimpleName()).isEqualTo("CpuBackend");
        for (String name : CLASSES.subList(1, 3)) {
            assertThatThrownBy(() -> Class.forName(PACKAGE + name)).isInstanceOf(NoClassDefFoundError.class);
        }
        assertThatCode(RegionArrays::awaitComputation).doesNotThrowAnyException();
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
