package org.memferry.examples;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A new folder for files that nobody needs afterwards: gone when it is closed, or else when the program ends or is stopped (Ctrl-C). */
public final class ScratchFolder implements AutoCloseable {

    /** While a program is stopped its threads go on, and may put another file in the folder before it is gone. */
    private static final int TRIES = 100;

    private final Path path;
    private final Thread atEnd = new Thread(this::delete, "memferry-scratch");

    /**
     * Makes the folder.
     *
     * @param prefix of its name, among the system's temporary files
     */
    public ScratchFolder(String prefix) throws IOException {
        path = Files.createTempDirectory(prefix);
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    private void delete() {
        for (int i = 0; i < TRIES && Files.exists(path); i++) {
            try (Stream<Path> files = Files.walk(path)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            } catch (IOException | UncheckedIOException e) {
                // A file that was there has gone meanwhile: the next try finds what is left.
            }
        }
    }

    @Override
    public void close() {
        delete();
        try {
            Runtime.getRuntime().removeShutdownHook(atEnd);
        } catch (IllegalStateException e) {
            // The program is ending already, and the folder is gone.
        }
    }
}
