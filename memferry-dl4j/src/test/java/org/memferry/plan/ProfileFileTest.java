package org.memferry.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.memferry.base.RefusedException;

class ProfileFileTest {

    private static final Profile PROFILE = Profile.builder("net 12 layers, batch 32, emulated, 0.1.0", List.of(
            LayerProfile.builder(10, 20).direct(30, 40).gradientDirect(50).update(60).activations(1L << 40).build(),
            LayerProfile.builder(0, Long.MAX_VALUE).build()))
            .measured().link(1.0 / 3 * 1e10, Double.POSITIVE_INFINITY).shares(1.0 / 7, 2.0 / 3).slowdown(0.1, 0.7).between(123).build();

    @TempDir
    Path directory;

    @Test
    void a_profile_is_read_as_it_was_written_to_the_last_bit() throws IOException {
        File file = ProfileFile.beside(directory.resolve("model.zip").toFile());
        assertThat(file).hasName("model.zip.profile.json");
        ProfileFile.write(PROFILE, file);
        Profile read = ProfileFile.read(file);
        assertThat(read).usingRecursiveComparison().isEqualTo(PROFILE);
        assertThat(Files.list(directory)).as("nothing but the file").containsExactly(file.toPath());
    }

    /** Its link was measured by copies alone: one link for all, as before. */
    @Test
    void a_file_of_the_version_before_is_read_with_one_link_for_copies_and_what_is_used_in_place() throws IOException {
        File file = directory.resolve("p.json").toFile();
        ProfileFile.write(PROFILE, file);
        String old = Files.readString(file.toPath()).replace("\"version\" : 2", "\"version\" : 1").replaceAll("\"(read|write)Share\" : [0-9.]+,", "");
        Files.writeString(file.toPath(), old);
        Profile read = ProfileFile.find(file, PROFILE.key()).orElseThrow();
        assertThat(read.readShare()).isEqualTo(1);
        assertThat(read.writeShare()).isEqualTo(1);
        assertThat(read).usingRecursiveComparison().ignoringFields("readShare", "writeShare").isEqualTo(PROFILE);
    }

    @Test
    void what_is_shown_is_the_rate_of_a_copy_beside_as_many_bytes_in_place() {
        Profile profile = Profile.builder("", List.of()).link(12e9, 9e9).shares(1, 0.5).build();
        assertThat(profile.bytesPerSecondToDeviceBesideReads()).isEqualTo(6e9);
        assertThat(profile.bytesPerSecondToHostBesideWrites()).isEqualTo(6e9);
        assertThat(Profile.builder("", List.of()).link(12e9, 9e9).shares(0, 0).build().bytesPerSecondToDeviceBesideReads()).isEqualTo(12e9);
    }

    @Test
    void it_is_found_only_under_its_own_key() throws IOException {
        File file = directory.resolve("p.json").toFile();
        assertThat(ProfileFile.find(file, PROFILE.key())).isEmpty();
        ProfileFile.write(PROFILE, file);
        assertThat(ProfileFile.find(file, PROFILE.key())).isPresent();
        assertThat(ProfileFile.find(file, PROFILE.key() + " ")).isEmpty();
    }

    @Test
    void whatever_is_broken_in_a_file_is_refused_by_name() throws IOException {
        refused(s -> s.substring(0, s.length() / 2), "is not JSON");
        refused(s -> "", "is no memferry-profile file");
        refused(s -> "[]", "is no memferry-profile file");
        refused(s -> s.replace("memferry-profile", "something-else"), "is no memferry-profile file");
        refused(s -> s.replace("\"version\" : 2", "\"version\" : 3"), "has version 3", "an older one from 1 on");
        refused(s -> s.replace("\"version\" : 2", "\"version\" : 0"), "has version 0");
        refused(s -> s.replace("\"version\" : 2", "\"version\" : 1"), "unknown field 'readShare'");
        refused(s -> s.replaceAll("\"writeShare\" : [0-9.]+,", ""), "no field 'writeShare'");
        refused(s -> s.replaceAll("\"writeShare\" : [0-9.]+,", "\"writeShare\" : -0.5,"), "makes no sense", "to writes in place -0.5");
        refused(s -> s.replace("\"updateNanos\" : 60", "\"updateNanos\" : \"60\""), "'layers[0].updateNanos': \"60\"");
        refused(s -> s.replace("\"updateNanos\" : 60", "\"updateNanos\" : -60"), "'layers[0].updateNanos': -60");
        refused(s -> s.replace("\"updateNanos\" : 60", "\"updateNanos\" : 6.5"), "'layers[0].updateNanos': 6.5");
        refused(s -> s.replace("\"updateNanos\" : 60", "\"updatenanos\" : 60"), "unknown field 'layers[0].updatenanos'");
        refused(s -> s.replace("\"measured\" : true,", ""), "no field 'measured'");
        refused(s -> s.replace("\"copySlowdown\" : 0.1", "\"copySlowdown\" : -0.1"), "makes no sense", "slow-down -0.1 by copies");
    }

    private void refused(UnaryOperator<String> damage, String... texts) throws IOException {
        Path file = directory.resolve("broken.json");
        ProfileFile.write(PROFILE, file.toFile());
        String whole = Files.readString(file);
        String damaged = damage.apply(whole);
        assertThat(damaged).isNotEqualTo(whole);
        Files.write(file, damaged.getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> ProfileFile.find(file.toFile(), PROFILE.key())).isInstanceOf(RefusedException.class)
                .hasMessageContaining("broken.json").hasMessageContainingAll(texts).hasMessageContaining("Delete the file");
    }

    @Test
    void a_file_that_is_not_there_is_an_ordinary_IOException() {
        assertThatThrownBy(() -> ProfileFile.read(directory.resolve("missing.json").toFile()))
                .isInstanceOf(FileNotFoundException.class).hasMessageContaining("missing.json");
    }
}
