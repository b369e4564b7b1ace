package org.memferry.update;

import org.junit.jupiter.api.Test;
import org.memferry.Needs;
import org.nd4j.linalg.api.buffer.DataType;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
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
        Kernels.needNative();
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
        Kernels.needNative();
        List<String> needed = new ArrayList<>();
        Matcher m = Pattern.compile("NEEDED\\s+(\\S+)").matcher(objdump("-p"));
        while (m.find()) {
            needed.add(m.group(1));
        }
        assertThat(needed).isSubsetOf("libc.so.6", "libm.so.6");
    }

    @Test
    void itsPowersAreThoseOfNd4j() {
        Kernels.needNative();
        for (int t = 1; t < 2000; t++) {
            for (double beta : new double[] {0.9, 0.999, 0.5, 0.0, 1.0}) {
                assertThat(Powers.ofNd4j(DataType.FLOAT, (float) beta, t)).isEqualTo(NativeKernel.powf((float) beta, t));
                assertThat(Powers.ofNd4j(DataType.DOUBLE, beta, t)).isEqualTo(NativeKernel.pow(beta, t));
            }
        }
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
