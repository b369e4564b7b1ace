package org.memferry.update;

import org.memferry.device.NativeLibrary;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Locale;
import java.util.function.Supplier;

/** Chooses the kernel: the native one at the best level of this CPU, or the Java one, or what a property asks for. */
final class UpdateKernels {

    /**
     * Forces a kernel: {@code auto} (default), {@code native}, {@code native-avx512}, {@code native-avx2}, {@code native-baseline}
     * or {@code java}. What cannot be had falls back, and says why.
     */
    static final String PROPERTY = "org.memferry.update.kernel";

    private static final Logger LOG = LoggerFactory.getLogger(UpdateKernels.class);
    private static final String EXPECTED = "auto, native, native-avx512, native-avx2, native-baseline or java";

    private UpdateKernels() {
    }

    /** The kernel that the property asks for, as far as it is there. */
    static UpdateKernel choose() {
        return choose(System.getProperty(PROPERTY, "auto"), NativeLibrary::load, LOG);
    }

    /**
     * Chooses.
     *
     * @param wish    value of the property
     * @param library loads the native library; null if that worked, else the first cause
     * @param log     hears why a wish is not fulfilled
     */
    static UpdateKernel choose(String wish, Supplier<String> library, Logger log) {
        String asked = wish.trim().toLowerCase(Locale.ROOT);
        if (asked.equals("java")) {
            return new JavaKernel();
        }
        String failure = library.get();
        if (failure != null) {
            log.warn("The native update kernel was not loaded: {}. The Java kernel serves, with the same numbers at about 0.4 of the"
                    + " speed.", failure);
            return new JavaKernel();
        }
        NativeLevel best = NativeLevel.LEVELS[NativeKernel.bestLevel()];
        NativeLevel level = levelOf(asked);
        if (level == null) {
            if (!asked.equals("auto") && !asked.equals("native")) {
                log.warn("{}: '{}' (expected: {}); auto is used", PROPERTY, wish, EXPECTED);
            }
            return new NativeKernel(best);
        }
        if (level.compareTo(best) > 0) {
            log.warn("{}: '{}' needs {}, which this CPU does not have; {} is used", PROPERTY, wish, level, best);
            return new NativeKernel(best);
        }
        return new NativeKernel(level);
    }

    private static NativeLevel levelOf(String asked) {
        switch (asked) {
            case "native-avx512":
                return NativeLevel.AVX512;
            case "native-avx2":
                return NativeLevel.AVX2;
            case "native-baseline":
                return NativeLevel.BASELINE;
            default:
                return null;
        }
    }
}
