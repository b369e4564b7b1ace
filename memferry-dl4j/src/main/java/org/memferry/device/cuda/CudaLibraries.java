package org.memferry.device.cuda;

import org.memferry.base.RefusedException;

/**
 * Finds out once per process whether the CUDA runtime can be called at all. Without the bindings' jar, the runtime's library or the
 * driver's the first touch of the bindings is one error and every later one another: the first cause is kept and told each time.
 */
final class CudaLibraries {

    private static final String BINDINGS = "org.bytedeco.cuda.global.cudart";
    private static final String MISSING = load();

    private CudaLibraries() {
    }

    private static String load() {
        try {
            Class.forName(BINDINGS);
            return null;
        } catch (ClassNotFoundException | LinkageError e) {
            Throwable first = e;
            while (first.getCause() != null) {
                first = first.getCause();
            }
            String cause = first.getClass().getSimpleName() + ": " + String.valueOf(first.getMessage()).lines().findFirst().orElse("");
            return e == first ? cause : String.valueOf(e.getMessage()).lines().findFirst().orElse("") + ", " + cause;
        }
    }

    /**
     * Refuses where the runtime cannot be called.
     *
     * @param device what was asked for, named in the refusal
     * @throws RefusedException with the first cause
     */
    static void require(String device) {
        if (MISSING != null) {
            String driver = MISSING.contains("libcuda.so.1") ? "this machine has no NVIDIA driver: " : "";
            throw new RefusedException("device '" + device + "': " + driver + "the CUDA runtime cannot be loaded (" + MISSING + ") (expected: org.bytedeco:cuda and"
                    + " its jar for this platform on the class path, the CUDA runtime library of the same major version, and a driver with"
                    + " libcuda.so.1; without a card use host or emulated:<size>)");
        }
    }
}
