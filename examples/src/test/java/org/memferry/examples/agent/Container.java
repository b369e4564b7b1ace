package org.memferry.examples.agent;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Runs a program as an application server does: program, DL4J and all in a class loader that knows nothing of the server's class path. */
public final class Container {

    private Container() {
    }

    /** @param args a file with the program's class path, its main class, its arguments */
    public static void main(String[] args) throws Exception {
        String[] path = Files.readString(Path.of(args[0])).split(File.pathSeparator);
        URL[] urls = new URL[path.length];
        for (int i = 0; i < path.length; i++) {
            urls[i] = new File(path[i]).toURI().toURL();
        }
        URLClassLoader application = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
        Thread.currentThread().setContextClassLoader(application);
        Class.forName(args[1], true, application).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(args, 2, args.length));
    }
}
