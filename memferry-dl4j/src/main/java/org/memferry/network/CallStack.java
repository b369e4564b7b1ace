package org.memferry.network;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.solvers.BaseOptimizer;
import org.memferry.base.RefusedException;
import org.memferry.device.NativeLibrary;

import java.util.List;
import java.util.Optional;

/**
 * Finds the network whose training iteration is beginning on the calling thread. DL4J hands a network to nobody at that moment, so that the
 * Java virtual machine is asked whose method is running: it knows, and tells native code through its tool interface.
 */
public final class CallStack {

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    /** Where both kinds of network compute an iteration; no arguments. */
    private static final String COMPUTES = "computeGradientAndScore";

    /** Who trains copies of a network on threads of their own. */
    private static final List<String> COPIERS = List.of("org.deeplearning4j.parallelism.", "org.deeplearning4j.spark.",
            StockTwin.class.getName());

    private CallStack() {
    }

    /**
     * The network that an optimizer has just asked for its gradient, unless it is one of the copies of a parallel training.
     *
     * @return null if none is at that point on this thread
     * @throws RefusedException if there is one and the virtual machine does not say which
     */
    public static Model beginningIteration() {
        Optional<Class<?>> kind = WALKER.walk(frames -> frames.filter(f -> !isBelow(f.getClassName())).limit(1)
                .filter(f -> f.getMethodName().equals(COMPUTES)).findFirst().map(StackWalker.StackFrame::getDeclaringClass));
        if (kind.isEmpty() || kind.get() != MultiLayerNetwork.class && kind.get() != ComputationGraph.class || !isOptimized()) {
            return null;
        }
        String missing = NativeLibrary.load();
        Object found = missing == null ? receiver(Thread.currentThread(), kind.get(), COMPUTES) : null;
        if (found == null) {
            throw unknown(kind.get(), missing);
        }
        return (Model) found;
    }

    static RefusedException unknown(Class<?> kind, String missing) {
        return new RefusedException("org.memferry.enabled: a " + kind.getSimpleName() + " begins to train, but it cannot be told which (native "
                + "library: " + (missing == null ? "loaded, but the virtual machine does not say" : missing) + "). Use the agent, "
                + "MemFerryListener or MemFerry.attach instead, or set org.memferry.enabled=false to train with plain DL4J.");
    }

    private static boolean isBelow(String className) {
        return className.startsWith("org.memferry.") || className.startsWith("org.nd4j.");
    }

    private static boolean isOptimized() {
        return WALKER.walk(frames -> frames.anyMatch(f -> BaseOptimizer.class.isAssignableFrom(f.getDeclaringClass())))
                && WALKER.walk(frames -> frames.noneMatch(f -> COPIERS.stream().anyMatch(f.getClassName()::startsWith)));
    }

    /** The object that the innermost call of this method without arguments runs on, on a thread; null if the virtual machine does not say. */
    private static native Object receiver(Thread thread, Class<?> owner, String method);
}
