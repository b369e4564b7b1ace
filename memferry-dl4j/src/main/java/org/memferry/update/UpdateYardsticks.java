package org.memferry.update;

import org.memferry.device.NativeLibrary;

import java.util.Optional;

/**
 * What the update is measured against: a native stream that moves a rule's bytes and computes next to nothing, and the engine in plain
 * Java. For benchmarks; training needs neither.
 */
public final class UpdateYardsticks {

    /** Elements that a thread takes at a time: 256 KiB of each array of floats, as the update does. */
    private static final int PIECE = 1 << 16;

    private UpdateYardsticks() {
    }

    /** Why there is no native library here, in one line; empty if it is loaded, as {@link #stream} needs. */
    public static Optional<String> nativeLibraryFailure() {
        return Optional.ofNullable(NativeLibrary.load());
    }

    /** An engine with the kernel in plain Java, whatever else there is, on so many threads, the caller included. */
    public static UpdateEngine javaEngine(int threads) {
        return new UpdateEngine(new JavaKernel(), new UpdateWorkers(threads));
    }

    /** Bytes that a rule moves per parameter: it reads parameter, gradient and state, and writes parameter and state. */
    public static int bytesPerParameter(UpdateRule rule, ElementType type) {
        return (2 + 1 + 2 * rule.stateComponents()) * type.bytes();
    }

    /**
     * Moves a rule's bytes once, on an engine's threads and at the best level of this CPU. Adds a thousandth of the gradients to parameters
     * and state.
     *
     * @param engine     whose threads work
     * @param rule       says how many arrays of state there are
     * @param type       type of all arrays
     * @param length     parameters
     * @param parameters address of the first parameter
     * @param gradients  address of the first gradient
     * @param state      address of the first state element, laid out as for {@link FusedUpdate}; 0 for rules without
     * @throws IllegalStateException if there is no native library
     */
    public static void stream(UpdateEngine engine, UpdateRule rule, ElementType type, long length, long parameters, long gradients,
            long state) {
        nativeLibraryFailure().ifPresent(cause -> {
            throw new IllegalStateException("the stream is native, and the native library was not loaded: " + cause);
        });
        int level = NativeKernel.bestLevel();
        long component = Math.multiplyExact(length, (long) type.bytes());
        engine.workers().run(piece -> {
            long from = (long) piece * PIECE;
            NativeKernel.stream(level, rule.stateComponents(), type == ElementType.DOUBLE, parameters, gradients, state, state + component,
                    state + 2 * component, from, Math.min(length, from + PIECE));
        }, Math.toIntExact((length - 1) / PIECE + 1));
    }
}
