package org.memferry.network;

import java.util.Optional;
import java.util.Set;

/**
 * Tells whether a parameter table is being read by DL4J's layer code or by somebody else, from the call stack. Used only where DL4J
 * computes without workspaces: with them, an open layer workspace says the same at no cost.
 */
final class CallerCheck {

    private static final StackWalker WALKER = StackWalker.getInstance();
    /** Accessors that both layer code and users call: who called them decides. */
    private static final Set<String> ACCESSORS = Set.of("getParam", "paramTable", "get", "read", "computing");

    private CallerCheck() {
    }

    /** True if the first caller behind the accessors is code of a DL4J layer or vertex. */
    static boolean layerCodeReads() {
        Optional<String> caller = WALKER.walk(frames -> frames.skip(1)
                .filter(f -> !ACCESSORS.contains(f.getMethodName()))
                .map(StackWalker.StackFrame::getClassName)
                .findFirst());
        return caller.isPresent() && (caller.get().startsWith("org.deeplearning4j.nn.layers.")
                || caller.get().startsWith("org.deeplearning4j.nn.graph.vertex."));
    }
}
