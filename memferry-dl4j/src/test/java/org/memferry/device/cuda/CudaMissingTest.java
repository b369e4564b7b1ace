package org.memferry.device.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.base.RefusedException;
import org.memferry.device.Device;
import org.memferry.device.Devices;

/** Without bindings, without the runtime's or the driver's library: one refusal, the same each time, and no other device suffers. */
class CudaMissingTest {

    @TempDir
    Path directory;

    @Test
    void without_the_bindings_on_the_class_path_the_refusal_says_so() throws Exception {
        List<String> lines = child(false);
        assertRefusals(lines, "NoClassDefFoundError|ClassNotFoundException");
    }

    /** On a machine with a card's driver this finds one; that there is none is what the test is about. */
    @Test
    void without_a_driver_the_refusal_names_the_library_that_is_missing_or_the_card_that_is() throws Exception {
        List<String> lines = child(true);
        if (lines.stream().noneMatch("opened"::equals)) {
            assertRefusals(lines, "libcuda|libcudart|jnicudart|cudaGetDeviceCount");
        }
    }

    private static void assertRefusals(List<String> lines, String cause) {
        assertThat(lines).filteredOn(line -> line.startsWith("refused")).hasSize(2).allSatisfy(line -> assertThat(line)
                .containsPattern(cause).contains("(expected: ").contains("host or emulated"));
        assertThat(lines.get(lines.size() - 2)).isEqualTo(lines.get(lines.size() - 3));
        assertThat(lines.get(lines.size() - 1)).isEqualTo("host works");
    }

    private List<String> child(boolean withBindings) throws Exception {
        String path = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> withBindings || !new File(entry).getName().startsWith("cuda-")).collect(Collectors.joining(File.pathSeparator));
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Dorg.bytedeco.javacpp.cachedir=" + directory, "-cp", path, Child.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().collect(Collectors.toList());
        assertThat(process.waitFor()).as("exit code of\n%s", String.join("\n", lines)).isZero();
        return lines;
    }

    /** Asks twice for a card. */
    static final class Child {

        private Child() {
        }

        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                try (Device device = Devices.open("cuda:0")) {
                    System.out.println("opened");
                } catch (RefusedException e) {
                    System.out.println("refused " + e.getMessage());
                }
            }
            try (Device device = Devices.open("host")) {
                System.out.println(device.name() + " works");
            }
        }
    }
}
