package org.memferry.device;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.Needs;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

import static org.assertj.core.api.Assertions.assertThat;

class NativeLibraryTest {

    private static final Path OUR_CLASSES = ourClasses();

    private static Path ourClasses() {
        try {
            return Paths.get(NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

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

    // A68, as far as Linux can show it
    @Test
    void aJarInAFolderWithBlanksServesTwoProcessesAtOnceFromOneCopyAndLeavesNoOther(@TempDir Path directory) throws Exception {
        needNative();
        Path folder = Files.createDirectories(directory.resolve("my programs \u00e9"));
        Path jar = jarOfOurClasses(folder.resolve("memferry dl4j.jar"));
        Path cache = folder.resolve("a cache");
        Path temporary = Files.createDirectories(folder.resolve("tmp"));
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            processes.add(start(jar, cache, temporary));
        }
        for (Process process : processes) {
            try (InputStream in = process.getInputStream()) {
                String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                assertThat(text.trim()).isEqualTo("null from " + jar.getFileName());
            }
            assertThat(process.waitFor()).isZero();
        }
        try (Stream<Path> copies = Files.walk(folder)) {
            assertThat(copies.filter(file -> file.getFileName().toString().equals("libmemferry.so"))).hasSize(1)
                    .allMatch(copy -> copy.startsWith(cache));
        }
        try (Stream<Path> left = Files.walk(temporary)) {
            assertThat(left.filter(file -> file.toString().contains("memferry"))).isEmpty();
        }
    }

    /** JavaCPP would go by size and date, which two builds of the same day have in common. */
    @Test
    void anotherLibraryOfTheSameSizeAndDateIsNotTakenForOneThatWasUnpackedBefore(@TempDir Path directory) throws Exception {
        needNative();
        Path cache = directory.resolve("cache");
        for (String build : new String[] {"one", "two"}) {
            Path jar = Files.createDirectories(directory.resolve(build)).resolve("memferry.jar");
            byte[] library = Files.readAllBytes(Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI()));
            // Behind its sections nobody looks.
            byte[] marked = Arrays.copyOf(library, library.length + build.length());
            System.arraycopy(build.getBytes(StandardCharsets.US_ASCII), 0, marked, library.length, build.length());
            jarOfOurClasses(jar, marked);
            assertThat(child(jar, cache, directory)).isEqualTo("null from memferry.jar");
        }
        try (Stream<Path> copies = Files.walk(cache)) {
            assertThat(copies.filter(file -> file.getFileName().toString().equals("libmemferry.so"))).hasSize(2);
        }
    }

    private static String child(Path jar, Path cache, Path temporary) throws Exception {
        Process process = start(jar, cache, temporary);
        try (InputStream in = process.getInputStream()) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8).trim();
            assertThat(process.waitFor()).as(text).isZero();
            return text;
        }
    }

    private static Process start(Path jar, Path cache, Path temporary) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(Paths.get(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m",
                "-Djava.io.tmpdir=" + temporary, "-Dorg.bytedeco.javacpp.cachedir=" + cache, "-cp",
                jar + File.pathSeparator + System.getProperty("java.class.path").replace(OUR_CLASSES.toString() + File.pathSeparator, ""),
                Child.class.getName());
        builder.environment().put("LC_ALL", "C.UTF-8");
        return builder.redirectErrorStream(true).start();
    }

    private static Path jarOfOurClasses(Path jar) throws Exception {
        return jarOfOurClasses(jar, Files.readAllBytes(Paths.get(NativeLibrary.class.getResource(NativeLibrary.RESOURCE).toURI())));
    }

    private static Path jarOfOurClasses(Path jar, byte[] library) throws IOException {
        try (OutputStream out = Files.newOutputStream(jar); ZipOutputStream zip = new ZipOutputStream(out); Stream<Path> files = Files.walk(OUR_CLASSES)) {
            for (Path file : files.filter(Files::isRegularFile).collect(Collectors.toList())) {
                ZipEntry entry = new ZipEntry(OUR_CLASSES.relativize(file).toString());
                entry.setTime(0);
                zip.putNextEntry(entry);
                zip.write(file.getFileName().toString().equals("libmemferry.so") ? library : Files.readAllBytes(file));
            }
        }
        return jar;
    }

    /** Loads the library in a process of its own. */
    public static final class Child {

        private Child() {
        }

        /** Prints why the library is not there, or null, and the jar that it came from. */
        public static void main(String[] args) throws Exception {
            String failure = NativeLibrary.load();
            System.out.println(failure + " from " + Paths.get(NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().toURI()).getFileName());
        }
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
