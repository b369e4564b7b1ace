package org.memferry.device;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.Needs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;

class NativeLibraryTest {

    @Test
    void needsNoSymbolNewerThanGlibc227() throws Exception {
        needNative();
        List<String> versions = new ArrayList<>();
        Matcher m = Pattern.compile("GLIBC_([0-9]+)\\.([0-9]+)").matcher(objdump("-T"));
        while (m.find()) {
            versions.add(m.group());
            assertThat(Integer.parseInt(m.group(1)) * 1000 + Integer.parseInt(m.group(2))).as(m.group()).isLessThanOrEqualTo(2027);
        }
        assertThat(versions).isNotEmpty();
    }

    @Test
    void needsLibcAndLibmOnly() throws Exception {
        needNative();
        List<String> needed = new ArrayList<>();
        Matcher m = Pattern.compile("NEEDED\\s+(\\S+)").matcher(objdump("-p"));
        while (m.find()) {
            needed.add(m.group(1));
        }
        assertThat(needed).isSubsetOf("libc.so.6", "libm.so.6");
    }

    // B01
    @Test
    void aMissingAndABrokenLibraryAreNamedInOneLine(@TempDir Path directory) throws IOException {
        assertThat(NativeLibrary.load(null)).contains("not in the jar");
        Path gone = directory.resolve("gone.so");
        assertThat(NativeLibrary.load(gone.toUri().toURL())).isNotNull().doesNotContain("\n");
        Path broken = directory.resolve("broken.so");
        Files.write(broken, "not a library".getBytes(StandardCharsets.US_ASCII));
        assertThat(NativeLibrary.load(broken.toUri().toURL())).startsWith("UnsatisfiedLinkError").contains("broken").doesNotContain("\n");
    }

    // B01
    @Test
    void aLibraryForAnotherProcessorIsNamedInOneLine(@TempDir Path directory) throws Exception {
        needNative();
        byte[] library = Files.readAllBytes(Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI()));
        // The machine field of the ELF header: 183 is AArch64.
        library[18] = (byte) 183;
        Path foreign = Files.write(directory.resolve("foreign.so"), library);
        assertThat(NativeLibrary.load(foreign.toUri().toURL())).startsWith("UnsatisfiedLinkError").contains("foreign.so")
                .doesNotContain("\n");
    }

    private static void needNative() {
        Needs.that(NativeLibrary.isLoaded(), "no native library: " + NativeLibrary.load());
    }

    private static String objdump(String option) throws Exception {
        Path library = Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI());
        Process process;
        try {
            process = new ProcessBuilder("objdump", option, library.toString()).redirectErrorStream(true).start();
        } catch (IOException e) {
            Needs.that(false, "no objdump: " + e.getMessage());
            throw e;
        }
        try (InputStream in = process.getInputStream()) {
            String text = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
            assertThat(process.waitFor()).as(text).isZero();
            return text;
        }
    }
}
