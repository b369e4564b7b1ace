package org.memferry.examples.doctor;

import org.bytedeco.javacpp.Loader;
import org.memferry.nd4j.Nd4jBuild;
import org.memferry.nd4j.RegionArrays;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

import java.io.File;
import java.util.List;

/** Which ND4J computes: its release, its backend, and the build of its native library beside what the processor could run. */
final class BackendFindings {

    /** What ND4J's numbers of levels mean. */
    private static final List<String> LEVELS = List.of("no x86", "generic", "avx2", "avx512");

    List<Finding> findings() {
        return List.of(backend());
    }

    private static Finding backend() {
        String release = "ND4J " + Nd4jBuild.version() + ", " + Nd4j.getBackend().getClass().getSimpleName();
        if (RegionArrays.computesOnCard()) {
            return Finding.ok("ND4J", release + " for CUDA " + Nd4jBuild.cuda().orElse("of unknown version"));
        }
        NativeOps library = NativeOpsHolder.getInstance().getDeviceNativeOps();
        String found = release + ", build " + build() + " (" + level(library.binaryLevel()) + "); this processor could run "
                + level(library.optimalLevel());
        String other = level(library.optimalLevel()).equals("avx512") ? "linux-x86_64-avx512 or -avx2" : "linux-x86_64-avx2";
        // On most processors the build for AVX-512 is no faster than that for AVX2: both are good.
        return library.binaryLevel() == 1 && library.optimalLevel() > 1
                ? Finding.note("ND4J", found, "Take nd4j-native with classifier " + other + " to compute faster; it rounds differently.")
                : Finding.ok("ND4J", found);
    }

    private static String level(int level) {
        return level >= 0 && level < LEVELS.size() ? LEVELS.get(level) : "level " + level;
    }

    /** The folder that the library was loaded from has the name of the build. */
    private static String build() {
        String library = Loader.getLoadedLibraries().get("nd4jcpu");
        return library == null ? "unknown" : new File(library).getParentFile().getName();
    }
}
