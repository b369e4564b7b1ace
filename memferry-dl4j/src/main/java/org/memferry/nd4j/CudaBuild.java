package org.memferry.nd4j;

import org.memferry.base.RefusedException;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Which cards ND4J's published CUDA builds run on, since a build without code for a card fails at its first operation, in words that do not
 * say so. Read from the libraries (linux-x86_64): machine code runs on cards of the same major number and the same or a later minor number;
 * PTX is compiled by the driver for any later card.
 */
public enum CudaBuild {

    /** 1.0.0-M2.1. */
    M2_1("1.0.0-M2.1", "CUDA 11.4 and 11.6: sm_37 to sm_86 and no PTX, so Kepler to Ada, sm_89", 0, 37, 50, 52, 60, 61, 70, 75, 80, 86),
    /** 1.0.0-M1.1. */
    M1_1("1.0.0-M1.1", "CUDA 11.2: sm_35 to sm_86 and PTX compute_86 for any card after that", 86, 35, 37, 50, 52, 60, 61, 70, 75, 80, 86);

    private final String version;
    private final String code;
    private final int ptx;
    private final int[] machineCode;

    CudaBuild(String version, String code, int ptx, int... machineCode) {
        this.version = version;
        this.code = code;
        this.ptx = ptx;
        this.machineCode = machineCode;
    }

    /** What a card gets from a build. */
    public enum Support {
        /** Machine code of its own. */
        READY,
        /** PTX, which the driver compiles at first use: minutes to tens of minutes of processor time, once, if its cache is large enough. */
        COMPILED_AT_FIRST_USE,
        /** Nothing. */
        NONE
    }

    /**
     * What a card gets.
     *
     * @param computeCapability major and minor number, for example 86
     */
    public Support supports(int computeCapability) {
        boolean ready = Arrays.stream(machineCode).anyMatch(sm -> sm / 10 == computeCapability / 10 && sm <= computeCapability);
        return ready ? Support.READY : ptx > 0 && computeCapability >= ptx ? Support.COMPILED_AT_FIRST_USE : Support.NONE;
    }

    /**
     * Checks a card against the loaded ND4J. A version that is not known here is not judged.
     *
     * @param nd4jVersion       for example 1.0.0-M2.1
     * @param computeCapability major and minor number of the card
     * @return what the card gets
     * @throws RefusedException if nothing of that build runs on it; says which build would
     */
    public static Support check(String nd4jVersion, int computeCapability) {
        for (CudaBuild build : values()) {
            if (build.version.equals(nd4jVersion)) {
                return build.check(computeCapability);
            }
        }
        return Support.READY;
    }

    private Support check(int computeCapability) {
        Support support = supports(computeCapability);
        if (support == Support.NONE) {
            throw new RefusedException("ND4J " + version + " on a card of compute capability sm_" + computeCapability + ": nothing in its CUDA build runs"
                    + " there (expected, by ND4J's release: " + table() + "). " + advice(computeCapability));
        }
        return support;
    }

    private static String advice(int computeCapability) {
        if (M1_1.supports(computeCapability) == Support.NONE) {
            return "No release has a build for this card: use nd4j-native with device host or emulated:<size>.";
        }
        return "Use DL4J and ND4J 1.0.0-M1.1 with nd4j-cuda-11.2 (Maven: -Pcuda,nd4j-m1.1); on a card newer than sm_89 the driver compiles its 443 MB"
                + " of PTX at first use, tens of minutes of processor time, and keeps the result only if the environment variable"
                + " CUDA_CACHE_MAXSIZE=4294967296 is set.";
    }

    private static String table() {
        return Arrays.stream(values()).map(CudaBuild::toString).collect(Collectors.joining("; "));
    }

    /** The release and what is in its builds. */
    @Override
    public String toString() {
        return version + " for " + code;
    }
}
