package org.memferry.agent;

import java.util.function.BiPredicate;

/**
 * What DL4J's classes call once the agent has changed them. It lies on the bootstrap class path, so that they find it from whatever class
 * loader they are in; it knows JDK classes only.
 */
public final class Hook {

    /** A network without weights is about to be initialised: the network. */
    public static final String INITIALISING = "initialising";
    /** A network was made, by initialising, restoring or editing one: the network, or a pair with it. */
    public static final String MADE = "made";
    /** A network is given a gradients accumulator: the network, the accumulator. */
    public static final String ACCUMULATOR = "accumulator";
    /** A network is about to give its memory back for good: the network. */
    public static final String CLOSING = "closing";

    private static volatile Listener listener;

    /** Who is told. */
    public interface Listener {

        /** The library that serves networks of a class, which takes an event and what it is about; null if there is none. */
        BiPredicate<String, Object[]> libraryFor(Class<?> dl4j);
    }

    private Hook() {
    }

    /** Names who is told; called once, by the agent, which is in another class loader. */
    public static void listen(Listener told) {
        listener = told;
    }

    /**
     * Tells of an event.
     *
     * @param event one of the constants of this class
     * @param dl4j  the class of DL4J that it takes place in
     * @param about what it is about
     * @return true if the caller's own work has been done for it
     */
    public static boolean tell(String event, Class<?> dl4j, Object... about) {
        Listener told = listener;
        BiPredicate<String, Object[]> library = told == null ? null : told.libraryFor(dl4j);
        return library != null && library.test(event, about);
    }
}
