package org.memferry.device.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.Map;
import java.util.TreeMap;

import org.bytedeco.cuda.global.cudart;
import org.memferry.Needs;

/**
 * The CUDA runtime of {@code src/test/cpp}, in this process. It is loaded before the bindings ask for one, so that they take it whatever the
 * machine has installed. What it reports as misuse or as an order that is not enforced, {@link #assertNothingWrong} shows.
 */
public final class FakeCuda {

    /** {@code cudaErrorMemoryAllocation}. */
    public static final int OUT_OF_MEMORY = 2;
    /** {@code cudaErrorIllegalAddress}. */
    public static final int ILLEGAL_ADDRESS = 700;

    private static final String MISSING = load();

    private FakeCuda() {
    }

    private static String load() {
        // A constant: naming it does not load the bindings.
        URL library = FakeCuda.class.getResource(cudart.CUDART_VERSION < 12000 ? "11/libcudart.so.11.0" : "13/libcudart.so.13");
        if (library == null) {
            return "the CUDA runtime for tests was not compiled (no g++, or not Linux on x86-64)";
        }
        try {
            File file = new File(library.toURI());
            System.load(new File(file.getParentFile(), "libcuda.so.1").getAbsolutePath());
            System.load(file.getAbsolutePath());
            return null;
        } catch (URISyntaxException e) {
            return e.toString();
        }
    }

    /** Whether the machine has such a runtime. */
    public static boolean isThere() {
        return MISSING == null;
    }

    /** Why there is none; null if there is. */
    static String missing() {
        return MISSING;
    }

    /** Skips the calling test where there is no such runtime; else begins with all settings and counts as at first. */
    public static void start() {
        Needs.that(MISSING == null, MISSING);
        reset();
    }

    /** Everything was used as it must be, in an order that is enforced; also where a test was skipped. */
    public static void assertNothingWrong() {
        assertThat(isThere() ? takeReports() : "").as("what the CUDA runtime found wrong").isEmpty();
    }

    /** Nothing that was taken of the runtime is held any more; also where a test was skipped. */
    public static void assertNothingHeld() {
        if (!isThere()) {
            return;
        }
        assertThat(bytesHeld()).as("bytes held of the CUDA runtime").isZero();
        assertThat(handlesHeld()).as("streams and events held of the CUDA runtime").isZero();
    }

    /** How often each function was called since {@link #start()}, those that take part in faults. */
    public static Map<String, Integer> calls() {
        Map<String, Integer> counts = new TreeMap<>();
        callCounts().lines().forEach(line -> {
            int blank = line.indexOf(' ');
            counts.put(line.substring(0, blank), Integer.parseInt(line.substring(blank + 1)));
        });
        return counts;
    }

    /** Lets one call fail. */
    public static void failOnce(String call, int index, int code) {
        fail(call, index, code, false);
    }

    /** Lets every call of a function fail. */
    public static void failAlways(String call, int code) {
        fail(call, 1, code, true);
    }

    private static native void reset();

    /** Bytes of device memory, of pinned memory and of registered memory that there are. */
    public static native void limits(long device, long pinned, long registered);

    /** Bytes per second of all copies of a direction; 0 for no limit. */
    public static native void rates(double toDevice, double toHost);

    /** Every copy starts late by a random time. */
    public static native void delays(long seed, long maxMicros);

    /** Holds the copies of a direction back, or lets them run. */
    public static native void hold(boolean toDevice, boolean toHost);

    /** Number of cards; versions as CUDA writes them, 11060 for 11.6; a driver of version 0 is none. */
    public static native void machine(int devices, int runtime, int driver);

    /** Device memory cannot be touched by the host from now on, as that of a card; no copy works then. */
    public static native void deviceMemoryOutOfReach();

    /** What the card says of itself. */
    public static native void attribute(int attribute, int value);

    private static native void fail(String call, int index, int code, boolean every);

    /** Calls that failed as they were told to. */
    public static native int faultsHit();

    private static native String callCounts();

    /** What was found wrong since the last call, one per line. */
    public static native String takeReports();

    /** Bytes of device, pinned and registered memory that are taken. */
    public static native long bytesHeld();

    /** Streams and events that are taken. */
    public static native int handlesHeld();

    /** Says that the host reads memory, for the check of the order. */
    public static native void hostReads(long address, long bytes);

    /** Says that the host writes memory, for the check of the order. */
    public static native void hostWrites(long address, long bytes);
}
