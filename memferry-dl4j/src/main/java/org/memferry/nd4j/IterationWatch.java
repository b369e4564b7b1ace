package org.memferry.nd4j;

import java.util.ServiceLoader;

/**
 * Is told when a training iteration of some network may begin: DL4J opens the workspace of a whole iteration, or would if it were told to
 * use workspaces. Implementations are found as services, so that MemFerry's ND4J managers, which are started by a property, need not know
 * who attaches networks.
 */
public interface IterationWatch {

    /** On the thread that computes, before anything of the iteration is computed. */
    void iterationMayBegin();

    /** Tells those that are installed. */
    static void tellInstalled() {
        for (IterationWatch watch : Installed.WATCHES) {
            watch.iterationMayBegin();
        }
    }

    /** Looked up once, when the first iteration begins: DL4J is there by then. */
    final class Installed {

        private static final IterationWatch[] WATCHES = ServiceLoader.load(IterationWatch.class, IterationWatch.class.getClassLoader())
                .stream().map(ServiceLoader.Provider::get).toArray(IterationWatch[]::new);

        private Installed() {
        }
    }
}
