package org.memferry.update;

import org.memferry.Needs;
import org.memferry.device.NativeLibrary;

import java.util.ArrayList;
import java.util.List;

/** The kernels that this machine can run. */
final class Kernels {

    private Kernels() {
    }

    /** The Java kernel, and the native one at every level where it is there. */
    static List<UpdateKernel> all() {
        List<UpdateKernel> kernels = new ArrayList<>();
        kernels.add(new JavaKernel());
        if (NativeLibrary.isLoaded()) {
            for (int level = 0; level <= NativeKernel.bestLevel(); level++) {
                kernels.add(new NativeKernel(NativeLevel.LEVELS[level]));
            }
        }
        return kernels;
    }

    /** Skips the test, with the reason, where the native library is missing; fails it there when everything is required. */
    static void needNative() {
        String failure = NativeLibrary.load();
        Needs.that(failure == null, "no native update kernel: " + failure);
    }
}
