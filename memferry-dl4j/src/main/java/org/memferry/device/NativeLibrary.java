package org.memferry.device;

import org.bytedeco.javacpp.Loader;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;

/** Brings MemFerry's native library from the jar into the process: the update kernel, and what host memory asks of the system. */
public final class NativeLibrary {

    /** Name inside the jar, beside this class. */
    static final String RESOURCE = "linux-x86_64/libmemferry.so";

    private static String failure;
    private static boolean tried;

    private NativeLibrary() {
    }

    /**
     * Loads the library of the jar, once for the process.
     *
     * @return null if it is loaded, else the first cause in one line
     */
    public static synchronized String load() {
        if (!tried) {
            tried = true;
            failure = load(NativeLibrary.class.getResource(RESOURCE));
        }
        return failure;
    }

    /** True if the native methods can be called. Loads the library. */
    public static boolean isLoaded() {
        return load() == null;
    }

    /**
     * Loads a library.
     *
     * @param library where it is, or null if there is none
     * @return null if it is loaded, else the first cause in one line
     */
    static String load(URL library) {
        if (!Loader.getPlatform().startsWith("linux-x86_64")) {
            return "there is none for " + Loader.getPlatform();
        }
        if (library == null) {
            return RESOURCE + " is not in the jar (MemFerry was built without a C compiler)";
        }
        try {
            System.load(file(library).getAbsolutePath());
            HugePages.advise(0, 0);
            return null;
        } catch (IOException | URISyntaxException | LinkageError | SecurityException | IllegalArgumentException e) {
            String message = String.valueOf(e.getMessage());
            return e.getClass().getSimpleName() + ": " + message.lines().findFirst().orElse("");
        }
    }

    private static File file(URL library) throws IOException, URISyntaxException {
        if (library.getProtocol().equals("file")) {
            return new File(library.toURI());
        }
        // JavaCPP's cache: one copy for all processes, written under a lock, replaced when the jar's differs.
        File cached = Loader.cacheResource(library);
        if (cached == null) {
            throw new IOException("it could not be unpacked from " + library);
        }
        return cached;
    }
}
