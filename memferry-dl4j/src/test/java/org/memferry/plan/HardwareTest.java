package org.memferry.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.base.RefusedException;

class HardwareTest {

    @TempDir
    Path directory;

    @Test
    void every_description_is_there_under_its_name_and_every_number_has_its_source() {
        for (String name : Hardware.names()) {
            Hardware hardware = Hardware.named(name);
            assertThat(hardware.name()).isEqualTo(name);
            assertThat(hardware.sources()).as(name).hasSize(8).allSatisfy((number, source) -> {
                assertThat(source).as(number).hasSizeGreaterThan(20);
                assertThat(source.startsWith("NVIDIA") || source.startsWith("derived") || source.startsWith("assumption"))
                        .as("%s: %s", number, source).isTrue();
            });
            assertThat(hardware.deviceFlopsEfficiency()).isBetween(0.1, 1.0);
            assertThat(hardware.deviceBytesPerSecond()).as("a device's memory is faster than its link")
                    .isGreaterThan(5 * hardware.bytesPerSecondToDevice());
            assertThat(hardware.hostBytesPerSecond()).isGreaterThan(28 * hardware.updatedParametersPerSecond());
        }
    }

    @Test
    void names_are_found_in_any_case_and_an_unknown_one_is_refused_with_the_list() {
        assertThat(Hardware.named("rtx4090").name()).isEqualTo("RTX4090");
        assertThatThrownBy(() -> Hardware.named("GTX9000")).isInstanceOf(RefusedException.class).hasMessageContaining("'GTX9000'")
                .hasMessageContaining("V100-32-PCIe3, A100-80-PCIe3, A100-80-PCIe4, RTX3060, RTX3090, RTX4090, H200");
    }

    @Test
    void a_description_of_ones_own_needs_every_number_and_its_source() throws IOException {
        Path own = directory.resolve("own.json");
        String text;
        try (InputStream in = Hardware.class.getResourceAsStream("/hardware/h200.json")) {
            text = new String(in.readAllBytes());
        }
        Files.writeString(own, text.replace("\"H200\"", "\"mine\""));
        assertThat(Hardware.read(own.toFile()).name()).isEqualTo("mine");
        Files.writeString(own, text.replaceFirst("\"source\"", "\"from\""));
        assertThatThrownBy(() -> Hardware.read(own.toFile())).isInstanceOf(RefusedException.class).hasMessageContaining("own.json")
                .hasMessageContaining("'deviceBytes.from'");
        Files.writeString(own, text.replace("67000000000000.0", "0"));
        assertThatThrownBy(() -> Hardware.read(own.toFile())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("deviceFlopsPerSecond 0.0 is not more than 0");
    }
}
