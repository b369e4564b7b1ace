package org.memferry.agent;

import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.loading.ClassInjector;

import java.io.File;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;

/**
 * Starts with the program: {@code java -javaagent:memferry-dl4j-agent.jar=deviceMemory=6GB -jar their-app.jar}. Its arguments are
 * MemFerry's properties without {@code org.memferry.}, separated by commas. It changes a few methods of DL4J as DL4J's classes are loaded,
 * wherever they are; the library is loaded with the first network. Whatever goes wrong, the program runs as it would without the agent.
 */
public final class Agent {

    /** Not by class: that would load them, from the wrong class path. */
    private static final String[] BOOTSTRAP = {"org.memferry.agent.Hook", "org.memferry.agent.Hook$Listener"};

    private Agent() {
    }

    /**
     * Called by the virtual machine before the program's main method.
     *
     * @param arguments what stands behind {@code agent.jar=}, or null
     */
    public static void premain(String arguments, Instrumentation instrumentation) {
        try {
            new Settings(Agent::say).set(arguments);
            if (!Settings.isOff()) {
                putOnBootstrapPath(instrumentation);
                Transformations.install(instrumentation, Agent::say);
            }
        } catch (Throwable e) {
            say("the agent could not start, and networks stay plain DL4J's: " + e);
        }
    }

    /** From here on every class loader finds the classes there, the agent's own included. */
    private static void putOnBootstrapPath(Instrumentation instrumentation) throws IOException {
        File folder = Files.createTempDirectory("memferry-agent").toFile();
        Map<String, byte[]> classes = new HashMap<>();
        try (ClassFileLocator files = ClassFileLocator.ForClassLoader.of(Agent.class.getClassLoader())) {
            for (String name : BOOTSTRAP) {
                classes.put(name, files.locate(name).resolve());
            }
        }
        ClassInjector.UsingInstrumentation.of(folder, ClassInjector.UsingInstrumentation.Target.BOOTSTRAP, instrumentation)
                .injectRaw(classes);
        folder.deleteOnExit();
        for (File jar : folder.listFiles()) {
            jar.deleteOnExit();
        }
    }

    /** Before a program has set up its log there is only stderr. */
    private static void say(String line) {
        System.err.println("memferry: " + line);
    }
}
