package org.memferry.base;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces a file as a whole or not at all: the new content goes to a temporary beside it, is forced to the disk and takes the
 * file's name in one step. A crash in between leaves the old file and at worst a temporary {@code <name>.<uuid>.tmp}.
 */
public final class AtomicFile {

    private static final Logger LOG = LoggerFactory.getLogger(AtomicFile.class);
    private static final int BUFFER_BYTES = 1 << 16;

    private AtomicFile() {
    }

    /** Produces the new content. */
    @FunctionalInterface
    public interface Content {
        /**
         * Writes everything; may close the stream.
         *
         * @throws IOException if the content could not be produced
         */
        void writeTo(OutputStream out) throws IOException;
    }

    /**
     * Writes a file anew. A symbolic link is followed, permissions of an existing file are kept.
     *
     * @throws IOException if the content could not be produced or stored; the old file is untouched and the temporary is gone
     */
    public static void replace(File file, Content content) throws IOException {
        Path target = file.toPath().toAbsolutePath();
        boolean exists = Files.exists(target);
        if (exists) {
            target = target.toRealPath();
            if (!Files.isRegularFile(target)) {
                throw new IOException(target + " is there and is not a regular file");
            }
        }
        Path temporary = target.resolveSibling(target.getFileName() + "." + UUID.randomUUID() + ".tmp");
        try {
            writeAndForce(temporary, content);
            if (exists && Files.getFileStore(target).supportsFileAttributeView("posix")) {
                Files.setPosixFilePermissions(temporary, Files.getPosixFilePermissions(target));
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | RuntimeException | Error e) {
            deleteAfter(e, temporary);
            throw e;
        }
        forceDirectory(target.getParent());
    }

    private static void writeAndForce(Path temporary, Content content) throws IOException {
        Files.createFile(temporary);
        // Not a FileChannel: an interrupt of the training thread would close it in the middle of a save.
        try (FileOutputStream file = new FileOutputStream(temporary.toFile());
             OutputStream buffered = new ClosingLater(file)) {
            content.writeTo(buffered);
            buffered.flush();
            file.getFD().sync();
        }
    }

    private static void deleteAfter(Throwable failure, Path temporary) {
        try {
            Files.deleteIfExists(temporary);
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }

    /** Makes the new name survive a crash of the machine. The content is safe by then, so a file system without this is no failure. */
    private static void forceDirectory(Path directory) {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        } catch (IOException e) {
            LOG.debug("{}: the directory could not be forced to the disk: {}", directory, e.toString());
        }
    }

    /** Content may close its stream, but the file below must stay open until it is forced to the disk. */
    private static final class ClosingLater extends BufferedOutputStream {

        private ClosingLater(OutputStream out) {
            super(out, BUFFER_BYTES);
        }

        @Override
        public void close() throws IOException {
            flush();
        }
    }
}
