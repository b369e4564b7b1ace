package org.memferry.network;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.NetworkUtils;

import java.util.Arrays;
import java.util.Optional;
import java.util.Set;

/**
 * Tells from the call stack whether a parameter table is being read by a layer that computes or by somebody else, and what updater state is
 * read for. Used only where DL4J computes without workspaces (with them, an open layer workspace says the same at no cost) and in moments
 * that are rare.
 */
final class CallerCheck {

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    private static final String IN_MEMORY_SAVER = "org.deeplearning4j.earlystopping.saver.InMemoryModelSaver";
    private static final String OURS = CallerCheck.class.getPackageName() + ".";
    private static final Set<String> NETWORKS = Set.of(MultiLayerNetwork.class.getName(), ComputationGraph.class.getName());
    /** Accessors that both layer code and users call: who called them decides. */
    private static final Set<String> ACCESSORS = Set.of("getParam", "paramTable");
    /** Layer code that a user calls to write, and that gets the arrays to write to like any reader. */
    private static final Set<String> WRITERS = Set.of("setParam", "setParams", "setParamTable");

    private CallerCheck() {
    }

    /** True if the first caller behind the accessors is code of a layer or vertex, DL4J's or a user's, that computes. */
    static boolean layerCodeReads() {
        Optional<StackWalker.StackFrame> caller = WALKER.walk(frames -> frames
                .filter(f -> !f.getClassName().startsWith(OURS) && !ACCESSORS.contains(f.getMethodName()))
                .findFirst());
        return caller.isPresent() && !WRITERS.contains(caller.get().getMethodName()) && isLayerCode(caller.get().getDeclaringClass());
    }

    /** True if DL4J is about to replace a network's updater, which it does when a learning rate is set. */
    static boolean updaterIsReplaced() {
        return WALKER.walk(frames -> frames.anyMatch(f -> f.getDeclaringClass() == NetworkUtils.class
                && f.getMethodName().equals("refreshUpdater")));
    }

    /** True if an early stopping keeps a clone of the network in memory. */
    static boolean isKeptInMemory() {
        return WALKER.walk(frames -> frames.anyMatch(f -> f.getClassName().equals(IN_MEMORY_SAVER)));
    }

    /**
     * True if a network is computing gradient and score further up the stack. After an exception in an iteration nobody says that it is
     * over: an inference pass reads the same layers.
     */
    static boolean inIteration() {
        return WALKER.walk(frames -> frames.anyMatch(f -> f.getMethodName().equals("computeGradientAndScore")));
    }

    /** True if a thread other than the calling one trains a network, whichever that is. */
    static boolean isFitting(Thread thread) {
        return thread != Thread.currentThread() && Arrays.stream(thread.getStackTrace())
                .anyMatch(f -> NETWORKS.contains(f.getClassName()) && f.getMethodName().startsWith("fit"));
    }

    private static boolean isLayerCode(Class<?> c) {
        // A network is a Layer, too, but it only passes reads on.
        return c.getName().startsWith("org.deeplearning4j.nn.layers.")
                || GraphVertex.class.isAssignableFrom(c)
                || Layer.class.isAssignableFrom(c) && !c.getName().startsWith("org.deeplearning4j.nn.multilayer.");
    }
}
