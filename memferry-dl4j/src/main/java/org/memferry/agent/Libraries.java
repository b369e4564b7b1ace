package org.memferry.agent;

import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.function.BiPredicate;
import java.util.function.Consumer;

/**
 * Finds the library for the networks of each DL4J in the program: the one that DL4J's class loader sees where the application has it, or
 * else the agent's own, in a class loader below DL4J's. It lives as long as that DL4J.
 */
final class Libraries implements Hook.Listener {

    private static final String ENTRANCE = "org.memferry.AutoAttach";
    private static final String NETWORK = "org.deeplearning4j.nn.multilayer.MultiLayerNetwork";
    /** The library's folder in the agent's jar. */
    private static final String FOLDER = "library/";
    private static final BiPredicate<String, Object[]> NONE = (event, about) -> false;

    private final Consumer<String> complaints;
    private final ClassValue<BiPredicate<String, Object[]>> known = new ClassValue<>() {
        @Override
        protected BiPredicate<String, Object[]> computeValue(Class<?> network) {
            return load(network.getClassLoader());
        }
    };

    /** @param complaints is told, once per DL4J, if there is no library for it */
    Libraries(Consumer<String> complaints) {
        this.complaints = complaints;
    }

    @Override
    public BiPredicate<String, Object[]> libraryFor(Class<?> dl4j) {
        try {
            return known.get(Class.forName(NETWORK, false, dl4j.getClassLoader()));
        } catch (ClassNotFoundException | LinkageError e) {
            return NONE;
        }
    }

    private BiPredicate<String, Object[]> load(ClassLoader dl4j) {
        try {
            @SuppressWarnings("unchecked")
            BiPredicate<String, Object[]> entrance = (BiPredicate<String, Object[]>) entrance(dl4j).getDeclaredConstructor().newInstance();
            return entrance;
        } catch (ReflectiveOperationException | MalformedURLException | RuntimeException | LinkageError e) {
            complaints.accept("the library could not be loaded beside DL4J, and networks stay plain DL4J's: " + e);
            return NONE;
        }
    }

    private static Class<?> entrance(ClassLoader dl4j) throws ClassNotFoundException, MalformedURLException {
        try {
            return Class.forName(ENTRANCE, true, dl4j);
        } catch (ClassNotFoundException e) {
            URL jar = Libraries.class.getProtectionDomain().getCodeSource().getLocation();
            URL library = new URL("jar:" + jar + "!/" + FOLDER);
            return Class.forName(ENTRANCE, true, new URLClassLoader("memferry", new URL[] {library}, dl4j));
        }
    }
}
