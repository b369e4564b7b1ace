package org.memferry.device;

import org.bytedeco.javacpp.Loader;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

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
        return unpacked(library);
    }

    /**
     * One copy for all processes, in JavaCPP's cache under the checksum of its content: JavaCPP itself goes by size and date, which two builds
     * of ours may share. A copy that is there is not touched, since a process may have it loaded.
     */
    private static File unpacked(URL library) throws IOException {
        byte[] content;
        try (InputStream in = library.openStream()) {
            content = in.readAllBytes();
        }
        Path folder = Loader.getCacheDir().toPath().resolve("memferry-" + checksum(content));
        Path file = folder.resolve(Path.of(RESOURCE).getFileName());
        if (!Files.exists(file) || Files.size(file) != content.length) {
            Files.createDirectories(folder);
            Path part = Files.createTempFile(folder, "part", ".so");
            Files.write(part, content);
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }
        return file.toFile();
    }

    private static String checksum(byte[] content) {
        try {
            return new BigInteger(1, MessageDigest.getInstance("SHA-256").digest(content)).toString(16);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
