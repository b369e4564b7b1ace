package org.memferry.examples;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

class ScratchFolderTest {

    /** Fills a folder, names it, and then ends or goes on until it is stopped. */
    static final class Program {

        private Program() {
        }

        public static void main(String[] args) throws IOException, InterruptedException {
            try (ScratchFolder folder = new ScratchFolder("memferry-test")) {
                Files.writeString(Files.createDirectory(folder.path().resolve("within")).resolve("file"), "content");
                System.out.println(folder.path());
                if (args[0].equals("exits")) {
                    System.exit(0);
                }
                Thread.sleep(TimeUnit.MINUTES.toMillis(1));
            }
        }
    }

    @Test
    void itIsThereUntilItIsClosed() throws IOException {
        Path path;
        try (ScratchFolder folder = new ScratchFolder("memferry-test")) {
            path = folder.path();
            Files.writeString(path.resolve("file"), "content");
            assertThat(path.resolve("file")).hasContent("content");
        }
        assertThat(path).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"exits", "is stopped"})
    void aProgramThatEndsBeforeItIsClosedLeavesNothing(String how) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), Program.class.getName(), how).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            Path path = Path.of(out.readLine());
            if (how.equals("is stopped")) {
                assertThat(path.resolve("within/file")).exists();
                process.destroy();
            }
            assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(path).doesNotExist();
        } finally {
            process.destroyForcibly();
        }
    }
}
