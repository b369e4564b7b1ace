package org.memferry.device;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.Needs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import static org.assertj.core.api.Assertions.assertThat;

/** B01: whatever keeps the library from loading is named in one line, the first cause. */
class NativeLibraryLoadTest {

    @Test
    void aMissingAndABrokenLibraryAreNamedInOneLine(@TempDir Path directory) throws IOException {
        assertThat(NativeLibrary.load(null)).contains("not in the jar");
        Path gone = directory.resolve("gone.so");
        assertThat(NativeLibrary.load(gone.toUri().toURL())).isNotNull().doesNotContain("\n");
        Path broken = directory.resolve("broken.so");
        Files.write(broken, "not a library".getBytes(StandardCharsets.US_ASCII));
        assertThat(NativeLibrary.load(broken.toUri().toURL())).startsWith("UnsatisfiedLinkError").contains("broken").doesNotContain("\n");
    }

    @Test
    void aLibraryForAnotherProcessorIsNamedInOneLine(@TempDir Path directory) throws Exception {
        Needs.that(NativeLibrary.isLoaded(), "no native update kernel: " + NativeLibrary.load());
        byte[] library = Files.readAllBytes(Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI()));
        // The machine field of the ELF header: 183 is AArch64.
        library[18] = (byte) 183;
        Path foreign = Files.write(directory.resolve("foreign.so"), library);
        assertThat(NativeLibrary.load(foreign.toUri().toURL())).startsWith("UnsatisfiedLinkError").contains("foreign.so").doesNotContain("\n");
    }
}
