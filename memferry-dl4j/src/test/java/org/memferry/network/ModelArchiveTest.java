package org.memferry.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.DisplayNameGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.memferry.base.AtomicFile;
import org.memferry.Needs;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.preprocessor.NormalizerStandardize;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.Sgd;

@DisplayNameGeneration(DisplayNameGenerator.ReplaceUnderscores.class)
class ModelArchiveTest {

    @TempDir
    Path directory;

    // ---- exchange with ModelSerializer ----

    @ParameterizedTest
    @MethodSource("networks")
    void a_stock_save_is_read_as_the_network_has_it(Net net) throws IOException {
        File file = stockSave(net.model, true);
        try (ModelArchive archive = ModelArchive.open(file)) {
            assertThat(archive.isGraph()).isEqualTo(net.model instanceof ComputationGraph);
            assertThat(archive.configurationJson()).isEqualTo(net.json());
            assertThat(archive.parameterType()).isEqualTo(net.model.params().dataType());
            assertThat(archive.parameterCount()).isEqualTo(net.model.params().length());
            assertThat(readParameters(archive)).isEqualTo(bits(net.model.params()));
            assertThat(archive.hasUpdaterState()).isEqualTo(net.state() != null);
            assertThat(readUpdaterState(archive)).isEqualTo(bits(net.state()));
            assertThat(archive.otherEntries()).isEmpty();
        }
    }

    @ParameterizedTest
    @MethodSource("networks")
    void what_we_write_is_restored_by_the_stock_reader_as_the_same_network(Net net) throws IOException {
        Net restored = stockRestore(ourSave(net, "ours.zip"), net);
        assertThat(bits(restored.model.params())).isEqualTo(bits(net.model.params()));
        assertThat(bits(restored.state())).isEqualTo(bits(net.state()));
        assertThat(restored.json()).isEqualTo(net.json());
        assertThat(restored.iterations()).isEqualTo(net.iterations()).isEqualTo(3);
        assertThat(restored.epochs()).isEqualTo(net.epochs()).isEqualTo(3);
    }

    @ParameterizedTest
    @MethodSource("networks")
    void a_network_restored_from_our_file_trains_on_bit_for_bit(Net net) throws IOException {
        Net restored = stockRestore(ourSave(net, "ours.zip"), net);
        DataSet batch = batch(net.model.params().dataType(), 7);
        net.fit(batch);
        restored.fit(batch);
        assertThat(bits(restored.model.params())).isEqualTo(bits(net.model.params()));
        assertThat(bits(restored.state())).isEqualTo(bits(net.state()));
    }

    @ParameterizedTest
    @MethodSource("networks")
    void our_entries_are_those_of_a_stock_save_byte_for_byte_and_in_the_same_order(Net net) throws IOException {
        Map<String, byte[]> stock = entries(stockSave(net.model, true));
        Map<String, byte[]> ours = entries(ourSave(net, "ours.zip"));
        assertThat(new ArrayList<>(ours.keySet())).isEqualTo(new ArrayList<>(stock.keySet()));
        stock.forEach((name, bytes) -> assertThat(ours.get(name)).as(name).isEqualTo(bytes));
    }

    @Test
    void updater_state_that_is_left_out_leaves_no_entry() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Adam(0.01)));
        File file = directory.resolve("ours.zip").toFile();
        try (Held parameters = new Held(net.model.params())) {
            ModelArchive.write(file, net.json(), parameters.array, HostArray.NONE, Map.of());
        }
        assertThat(entries(file)).containsOnlyKeys("configuration.json", "coefficients.bin");
        assertThat(entries(file).get("coefficients.bin")).isEqualTo(entries(stockSave(net.model, false)).get("coefficients.bin"));
        try (ModelArchive archive = ModelArchive.open(file)) {
            assertThat(archive.hasUpdaterState()).isFalse();
            assertThat(archive.updaterStateCount()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(value = DataType.class, names = {"FLOAT", "DOUBLE"})
    void a_network_without_parameters_goes_both_ways_and_keeps_its_type(DataType type) throws IOException {
        for (Model model : List.of(parameterlessLayers(type), parameterlessGraph(type))) {
            Net net = new Net(model);
            try (ModelArchive archive = ModelArchive.open(stockSave(model, true))) {
                assertThat(archive.parameterCount()).isZero();
                assertThat(archive.hasUpdaterState()).isFalse();
                archive.readParameters(0, 0, type);
                assertThatThrownBy(archive::parameterType).isInstanceOf(RefusedException.class).hasMessageContaining("no parameters");
            }
            File file = directory.resolve("ours.zip").toFile();
            ModelArchive.write(file, net.json(), HostArray.NONE, HostArray.NONE, Map.of());
            assertThat(entries(file).keySet()).containsExactly("configuration.json", "coefficients.bin", "noParams.marker");
            Net restored = stockRestore(file, net);
            assertThat(restored.json()).isEqualTo(net.json());
            assertThat(restored.model.params() == null || restored.model.params().length() == 0).isTrue();
            try (ModelArchive archive = ModelArchive.open(file)) {
                assertThat(archive.parameterCount()).isZero();
            }
        }
    }

    @Test
    void normalizer_and_added_objects_are_carried_over() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Adam(0.01)));
        NormalizerStandardize normalizer = new NormalizerStandardize();
        normalizer.fit(batch(DataType.FLOAT, 1));
        File stock = stockSave(net.model, true);
        ModelSerializer.addNormalizerToModel(stock, normalizer);
        ModelSerializer.addObjectToFile(stock, "labels", new ArrayList<>(List.of("cat", "dog")));

        File ours = directory.resolve("ours.zip").toFile();
        try (ModelArchive archive = ModelArchive.open(stock);
             Held parameters = new Held(net.model.params());
             Held state = new Held(net.state())) {
            assertThat(archive.otherEntries().keySet()).containsExactly("normalizer.bin", "objects/labels");
            ModelArchive.write(ours, archive.configurationJson(), parameters.array, state.array, archive.otherEntries());
        }
        NormalizerStandardize restored = ModelSerializer.restoreNormalizerFromFile(ours);
        assertThat(restored).isEqualTo(normalizer);
        List<String> labels = ModelSerializer.getObjectFromFile(ours, "labels");
        assertThat(labels).containsExactly("cat", "dog");
        assertThat(entries(ours)).containsOnlyKeys(entries(stock).keySet());
    }

    @Test
    void names_beyond_ascii_reach_the_stock_reader_under_any_character_set() throws IOException {
        String name = "d\u00e9but \u5c64 \ud83d\ude80";
        MultiLayerNetwork model = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().list()
                .layer(new OutputLayer.Builder().name(name).nIn(3).nOut(2).build()).build());
        model.init();
        Net net = new Net(model);
        File file = ourSave(net, "ours.zip");
        for (byte b : entries(file).get("configuration.json")) {
            assertThat(b).isNotNegative();
        }
        assertThat(stockRestore(file, net).json()).isEqualTo(net.json()).contains(name);
    }

    // ---- the array format ----

    @ParameterizedTest
    @EnumSource(value = DataType.class, names = {"FLOAT", "DOUBLE"})
    void values_around_the_chunk_size_are_written_big_endian_and_read_back(DataType type) throws IOException {
        int width = type.width();
        int chunk = ArrayStream.CHUNK_BYTES / width;
        for (int count : new int[] {1, 2, chunk - 1, chunk, chunk + 1, 2 * chunk, 2 * chunk + 3}) {
            for (int offset : new int[] {0, 1, width}) {
                ByteArrayOutputStream expected = new ByteArrayOutputStream();
                DataOutputStream bigEndian = new DataOutputStream(expected);
                long room = (long) count * width + 16;
                try (BytePointer memory = new BytePointer(room); BytePointer back = new BytePointer(room)) {
                    for (int i = 0; i < count; i++) {
                        long bits = (i + 1) * 0x9e3779b97f4a7c15L;
                        if (type == DataType.FLOAT) {
                            bigEndian.writeInt((int) bits);
                            memory.position(offset + (long) i * width).putInt((int) bits);
                        } else {
                            bigEndian.writeLong(bits);
                            memory.position(offset + (long) i * width).putLong(bits);
                        }
                    }
                    memory.position(0);
                    ByteArrayOutputStream written = new ByteArrayOutputStream();
                    ArrayStream.write(written, memory.address() + offset, count, width);
                    assertThat(Arrays.equals(written.toByteArray(), expected.toByteArray())).as("%d values", count).isTrue();

                    Pointer.memset(back, 0x5a, back.capacity());
                    ArrayStream.read(new ByteArrayInputStream(written.toByteArray()), back.address() + offset, count, width);
                    byte[] got = bytes(back);
                    byte[] want = bytes(memory);
                    Arrays.fill(want, 0, offset, (byte) 0x5a);
                    Arrays.fill(want, offset + count * width, want.length, (byte) 0x5a);
                    assertThat(Arrays.equals(got, want)).as("%d values at offset %d, nothing beside them", count, offset).isTrue();
                }
            }
        }
    }

    @Test
    void bits_of_not_a_number_survive_a_write_and_a_read() throws IOException {
        int[] patterns = {0xffc00000, 0x7fc00001, 0x7f800001, 0x80000000, 1, 0x7f800000};
        String json = new Net(layers(DataType.FLOAT, new Sgd(0.1))).json();
        File file = directory.resolve("nan.zip").toFile();
        try (BytePointer memory = new BytePointer(4L * patterns.length); BytePointer back = new BytePointer(4L * patterns.length)) {
            for (int i = 0; i < patterns.length; i++) {
                memory.putInt(4L * i, patterns[i]);
            }
            ModelArchive.write(file, json, HostArray.of(memory.address(), DataType.FLOAT, patterns.length), HostArray.NONE, Map.of());
            try (ModelArchive archive = ModelArchive.open(file)) {
                archive.readParameters(back.address(), patterns.length, DataType.FLOAT);
            }
            assertThat(bytes(back)).isEqualTo(bytes(memory));
        }
    }

    @Test
    void headers_are_those_of_Nd4j_write_for_every_vector_shape() throws IOException {
        for (DataType type : List.of(DataType.FLOAT, DataType.DOUBLE)) {
            for (long[] shape : new long[][] {{1}, {7}, {1, 1}, {1, 7}, {7, 1}}) {
                INDArray array = Nd4j.create(type, shape);
                ByteArrayOutputStream stock = new ByteArrayOutputStream();
                Nd4j.write(array, new DataOutputStream(stock));
                ByteArrayOutputStream ours = new ByteArrayOutputStream();
                ArrayHeader.write(ours, type, shape);
                int length = stock.size() - (int) array.length() * type.width();
                assertThat(ours.toByteArray()).as("%s %s", type, Arrays.toString(shape))
                        .isEqualTo(Arrays.copyOf(stock.toByteArray(), length));
                ArrayHeader header = ArrayHeader.read(new ByteArrayInputStream(stock.toByteArray()));
                assertThat(header.bytes()).isEqualTo(length);
                assertThat(header.totalBytes()).isEqualTo(stock.size());
                assertThat(header.count()).isEqualTo(array.length());
                assertThat(header.type()).isEqualTo(type);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {Integer.MAX_VALUE + 1L, 4_294_967_299L, 3_000_000_000_000L})
    void a_header_counts_beyond_two_to_the_31_exactly(long count) throws IOException {
        for (long[] shape : new long[][] {{count}, {1, count}}) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            ArrayHeader.write(bytes, DataType.DOUBLE, shape);
            ArrayHeader header = ArrayHeader.read(new ByteArrayInputStream(bytes.toByteArray()));
            assertThat(header.count()).isEqualTo(count);
            assertThat(header.totalBytes()).isEqualTo(bytes.size() + 8 * count);
            assertThat(HostArray.of(256, DataType.DOUBLE, shape).bytes()).isEqualTo(8 * count);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"DIRECT", "HEAP", "JAVACPP", "LONG_SHAPE"})
    void files_of_old_releases_are_read_as_the_stock_reader_does(String mode) throws IOException {
        float[] values = {1.5f, -2.25f, 1e-30f, 4};
        ByteArrayOutputStream array = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(array);
        boolean longShape = mode.equals("LONG_SHAPE");
        bufferStart(data, mode, 8, longShape ? "LONG" : "INT");
        for (int part : new int[] {2, 1, values.length, values.length, 1, 0, 1, 'c'}) {
            if (longShape) {
                data.writeLong(part);
            } else {
                data.writeInt(part);
            }
        }
        bufferStart(data, mode, values.length, "FLOAT");
        for (float value : values) {
            data.writeFloat(value);
        }
        INDArray stock = Nd4j.read(new ByteArrayInputStream(array.toByteArray()));
        assertThat(stock.toFloatVector()).isEqualTo(values);

        File file = zip("old.zip", Map.of("configuration.json", json(), "coefficients.bin", array.toByteArray()));
        try (ModelArchive archive = ModelArchive.open(file); FloatPointer memory = new FloatPointer((long) values.length)) {
            archive.readParameters(memory.address(), values.length, DataType.FLOAT);
            float[] read = new float[values.length];
            memory.get(read);
            assertThat(read).isEqualTo(values);
        }
    }

    // ---- refusals and damage ----

    @Test
    void a_wrong_count_or_type_is_refused_with_both_numbers_and_memory_is_untouched() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Nesterovs(0.01, 0.9)));
        long n = net.model.params().length();
        long states = net.state().length();
        File file = stockSave(net.model, true);
        try (ModelArchive archive = ModelArchive.open(file); BytePointer memory = new BytePointer(8 * (n + 1))) {
            Pointer.memset(memory, 0x5a, memory.capacity());
            byte[] before = bytes(memory);
            assertThatThrownBy(() -> archive.readParameters(memory.address(), n + 1, DataType.FLOAT)).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll(file.getPath(), "coefficients.bin", "holds " + n + " values", "expected: " + (n + 1));
            assertThatThrownBy(() -> archive.readUpdaterState(memory.address(), n, DataType.FLOAT)).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll(file.getPath(), "updaterState.bin", "holds " + states + " values", "expected: " + n);
            assertThatThrownBy(() -> archive.readParameters(memory.address(), n, DataType.DOUBLE)).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll(file.getPath(), "coefficients.bin", "type FLOAT", "expected: DOUBLE");
            assertThatThrownBy(() -> archive.readParameters(0, n, DataType.FLOAT)).isInstanceOf(RefusedException.class)
                    .hasMessageContaining("address 0");
            assertThat(bytes(memory)).isEqualTo(before);
        }
        try (ModelArchive archive = ModelArchive.open(stockSave(net.model, false))) {
            assertThatThrownBy(() -> archive.readUpdaterState(256, n, DataType.FLOAT)).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll("updaterState.bin", "holds 0 values", "expected: " + n);
        }
    }

    @Test
    void other_types_than_float_and_double_are_refused_by_name() throws IOException {
        ByteArrayOutputStream half = new ByteArrayOutputStream();
        Nd4j.write(Nd4j.create(DataType.HALF, 1, 5), new DataOutputStream(half));
        File file = zip("half.zip", Map.of("configuration.json", json(), "coefficients.bin", half.toByteArray()));
        try (ModelArchive archive = ModelArchive.open(file)) {
            assertThat(archive.parameterType()).isEqualTo(DataType.HALF);
            assertThatThrownBy(() -> archive.readParameters(256, 5, DataType.HALF)).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll("half.zip", "coefficients.bin", "type HALF", "expected: FLOAT or DOUBLE");
        }
        assertThatThrownBy(() -> HostArray.of(256, DataType.BFLOAT16, 5)).isInstanceOf(RefusedException.class)
                .hasMessageContainingAll("type BFLOAT16", "expected: FLOAT or DOUBLE");
        assertThatThrownBy(() -> HostArray.of(256, DataType.FLOAT, 5, 2)).isInstanceOf(RefusedException.class)
                .hasMessageContainingAll("[5, 2]", "expected: a vector");
    }

    @Test
    void a_file_cut_anywhere_is_refused() throws IOException {
        byte[] whole = Files.readAllBytes(stockSave(layers(DataType.FLOAT, new Adam(0.01)), true).toPath());
        for (int length = 0; length < whole.length; length += 13) {
            Path cut = Files.write(directory.resolve("cut.zip"), Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> ModelArchive.open(cut.toFile())).as("%d of %d bytes", length, whole.length)
                    .isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll(cut.toString(), "(" + String.format("%,d", length) + " bytes)", "not a complete zip");
        }
    }

    @Test
    void a_flipped_byte_never_passes_as_a_value() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Adam(0.01)));
        byte[] whole = Files.readAllBytes(stockSave(net.model, true).toPath());
        int noticed = 0;
        for (int at = 0; at < whole.length; at += 3) {
            byte[] bytes = whole.clone();
            bytes[at] ^= 0x10;
            Path file = Files.write(directory.resolve("flipped.zip"), bytes);
            try (ModelArchive archive = ModelArchive.open(file.toFile())) {
                byte[] parameters = readParameters(archive);
                byte[] state = readUpdaterState(archive);
                assertThat(archive.configurationJson()).as("byte %d", at).isEqualTo(net.json());
                assertThat(parameters).as("byte %d", at).isEqualTo(bits(net.model.params()));
                // A flip in the name of the entry makes it one of the others; then there is no state rather than a wrong one.
                assertThat(state).as("byte %d", at).isIn(bits(net.state()), new byte[0]);
            } catch (MemFerryException e) {
                assertThat(e).hasMessageContaining("flipped.zip").hasMessageContaining("expected");
                noticed++;
            }
        }
        assertThat(noticed).isGreaterThan(whole.length / 3 * 8 / 10);
    }

    @Test
    void a_damaged_value_is_told_with_file_entry_and_checksums() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Adam(0.01)));
        File file = directory.resolve("stored.zip").toFile();
        Map<String, byte[]> entries = entries(stockSave(net.model, true));
        // Stored, not deflated: nothing but the checksum can notice the flip.
        byte[] bytes = storedZip(entries);
        int at = indexOf(bytes, entries.get("coefficients.bin")) + entries.get("coefficients.bin").length - 1;
        bytes[at] ^= 1;
        Files.write(file.toPath(), bytes);
        try (ModelArchive archive = ModelArchive.open(file)) {
            assertThatThrownBy(() -> readParameters(archive)).isInstanceOf(MemFerryException.class)
                    .hasMessageContainingAll(file.getPath(), "coefficients.bin", "damaged", "checksum", "copy it again");
            assertThat(readUpdaterState(archive)).isEqualTo(bits(net.state()));
        }
    }

    @Test
    void a_foreign_file_is_refused_naming_what_is_there_and_what_is_missing() throws IOException {
        byte[] array = entries(stockSave(layers(DataType.FLOAT, new Sgd(0.1)), true)).get("coefficients.bin");
        refused(directory.resolve("none.zip").toFile(), "no such file");
        refused(directory.toFile(), "no such file");
        refused(Files.write(directory.resolve("text.zip"), "hello".getBytes(StandardCharsets.UTF_8)).toFile(), "not a complete zip");
        refused(zip("foreign.zip", Map.of("word/document.xml", new byte[3])), "no entry configuration.json", "word/document.xml");
        refused(zip("nocoef.zip", Map.of("configuration.json", json())), "no entry coefficients.bin", "configuration.json");
        refused(zip("nomark.zip", Map.of("configuration.json", json(), "coefficients.bin", new byte[0])), "no entry noParams.marker");
        refused(zip("nojson.zip", Map.of("configuration.json", "{\"a\": ".getBytes(), "coefficients.bin", array)), "not JSON");
        refused(zip("other.zip", Map.of("configuration.json", "{\"a\": {\"confs\": []}}".getBytes(), "coefficients.bin", array)),
                "neither a MultiLayerNetwork nor a ComputationGraph");
        refused(zip("noarray.zip", Map.of("configuration.json", json(), "coefficients.bin", new byte[100])), "coefficients.bin",
                "not an array", "allocation mode");
        refused(zip("short.zip", Map.of("configuration.json", json(), "coefficients.bin", Arrays.copyOf(array, 30))), "coefficients.bin",
                "ends within the array's header", "30 bytes");
        refused(zip("fewer.zip", Map.of("configuration.json", json(), "coefficients.bin", Arrays.copyOf(array, array.length - 4))),
                "coefficients.bin", (array.length - 4) + " bytes", "expected: " + array.length);
        refused(zip("matrix.zip", Map.of("configuration.json", json(), "coefficients.bin", stockArray(Nd4j.create(3, 4)))), "[3, 4]",
                "expected: a vector");
        refused(zip("words.zip", Map.of("configuration.json", json(), "coefficients.bin", array, "updaterState.bin", compressedStart())),
                "updaterState.bin", "COMPRESSED", "plain numbers");
    }

    // ---- replacing a file ----

    @Test
    void a_failure_in_the_middle_of_a_write_leaves_the_old_file_and_no_temporary() throws IOException {
        Net net = new Net(layers(DataType.DOUBLE, new Adam(0.01)));
        File file = ourSave(net, "model.zip");
        byte[] before = Files.readAllBytes(file.toPath());
        for (int limit : new int[] {0, 1, 500, before.length / 2, before.length - 1}) {
            try (Held parameters = new Held(net.model.params()); Held state = new Held(net.state())) {
                assertThatThrownBy(() -> AtomicFile.replace(file, out -> ModelArchive.writeZip(new FullDisk(out, limit), net.json(),
                        parameters.array, state.array, Map.of()))).isInstanceOf(IOException.class).hasMessageContaining("disk full");
            }
            assertThat(Files.readAllBytes(file.toPath())).isEqualTo(before);
            assertThat(names()).containsExactly("model.zip");
        }
        assertThatThrownBy(() -> AtomicFile.replace(file, out -> {
            throw new IllegalStateException("no content");
        })).isInstanceOf(IllegalStateException.class);
        assertThat(Files.readAllBytes(file.toPath())).isEqualTo(before);
        assertThat(names()).containsExactly("model.zip");
    }

    @Test
    void a_write_that_cannot_be_is_told_with_the_file_and_the_room_it_needs() throws IOException {
        Net net = new Net(layers(DataType.FLOAT, new Sgd(0.1)));
        File nowhere = directory.resolve("missing").resolve("model.zip").toFile();
        Files.createDirectory(directory.resolve("folder"));
        try (Held parameters = new Held(net.model.params())) {
            for (File file : List.of(nowhere, directory.resolve("folder").toFile())) {
                assertThatThrownBy(() -> ModelArchive.write(file, net.json(), parameters.array, HostArray.NONE, Map.of()))
                        .isInstanceOf(MemFerryException.class)
                        .hasMessageContainingAll(file.getPath(), String.format("%,d bytes", parameters.array.bytes()), "untouched",
                                "expected: a directory");
            }
            File file = directory.resolve("model.zip").toFile();
            assertThatThrownBy(() -> ModelArchive.write(file, net.json(), parameters.array, HostArray.NONE,
                    Map.of("updaterState.bin", new byte[1]))).isInstanceOf(RefusedException.class)
                    .hasMessageContainingAll(file.getPath(), "updaterState.bin", "expected: a name other than");
            assertThatThrownBy(() -> ModelArchive.write(file, "[]", parameters.array, HostArray.NONE, Map.of()))
                    .isInstanceOf(RefusedException.class).hasMessageContainingAll(file.getPath(), "neither", "'confs' or 'vertices'");
        }
        assertThat(names()).containsExactly("folder");
    }

    @Test
    void writing_over_a_file_keeps_its_permissions_and_follows_a_link() throws IOException {
        Needs.that(Files.getFileStore(directory).supportsFileAttributeView("posix"), "the file system keeps no POSIX permissions");
        Net old = new Net(layers(DataType.FLOAT, new Sgd(0.1)));
        File file = ourSave(old, "model.zip");
        Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString("rw-rw----"));
        Path link = Files.createSymbolicLink(directory.resolve("latest.zip"), file.toPath());
        Net net = new Net(graph(DataType.FLOAT, new Sgd(0.1)));
        ourSave(net, "latest.zip");
        assertThat(link).isSymbolicLink();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.toPath()))).isEqualTo("rw-rw----");
        try (ModelArchive archive = ModelArchive.open(file)) {
            assertThat(archive.isGraph()).isTrue();
            assertThat(readParameters(archive)).isEqualTo(bits(net.model.params()));
        }
        assertThat(names()).containsExactly("latest.zip", "model.zip");
    }

    // ---- networks ----

    static Stream<Net> networks() {
        List<Net> nets = new ArrayList<>();
        for (DataType type : List.of(DataType.FLOAT, DataType.DOUBLE)) {
            for (IUpdater updater : List.of(new Adam(0.01), new Nesterovs(0.01, 0.9), new Sgd(0.1))) {
                nets.add(new Net(layers(type, updater)));
                nets.add(new Net(graph(type, updater)));
            }
        }
        return nets.stream();
    }

    private static MultiLayerNetwork layers(DataType type, IUpdater updater) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().seed(5).dataType(type).updater(updater).list()
                .layer(new DenseLayer.Builder().nIn(5).nOut(7).build())
                .layer(new BatchNormalization.Builder().nIn(7).nOut(7).build())
                .layer(new OutputLayer.Builder().nIn(7).nOut(3).build()).build());
        net.init();
        train(new Net(net), type);
        return net;
    }

    private static ComputationGraph graph(DataType type, IUpdater updater) {
        ComputationGraph net = new ComputationGraph(new NeuralNetConfiguration.Builder().seed(6).dataType(type).updater(updater)
                .graphBuilder().addInputs("in")
                .addLayer("dense", new DenseLayer.Builder().nIn(5).nOut(7).build(), "in")
                .addLayer("out", new OutputLayer.Builder().nIn(7).nOut(3).build(), "dense")
                .setOutputs("out").build());
        net.init();
        train(new Net(net), type);
        return net;
    }

    private static MultiLayerNetwork parameterlessLayers(DataType type) {
        MultiLayerNetwork net = new MultiLayerNetwork(new NeuralNetConfiguration.Builder().dataType(type).list()
                .layer(new ActivationLayer.Builder().build()).layer(new LossLayer.Builder().build()).build());
        net.init();
        return net;
    }

    private static ComputationGraph parameterlessGraph(DataType type) {
        ComputationGraph net = new ComputationGraph(new NeuralNetConfiguration.Builder().dataType(type).graphBuilder().addInputs("in")
                .addLayer("act", new ActivationLayer.Builder().build(), "in")
                .addLayer("loss", new LossLayer.Builder().build(), "act").setOutputs("loss").build());
        net.init();
        return net;
    }

    private static void train(Net net, DataType type) {
        for (int i = 0; i < 3; i++) {
            net.fit(batch(type, i));
        }
    }

    private static DataSet batch(DataType type, int seed) {
        INDArray labels = Nd4j.zeros(type, 8, 3);
        for (int i = 0; i < 8; i++) {
            labels.putScalar(i, (i + seed) % 3, 1);
        }
        return new DataSet(Nd4j.linspace(-1 - seed, 1, 40, type).reshape(8, 5), labels);
    }

    /** The two kinds of network as one. */
    private static final class Net {

        private final Model model;

        private Net(Model model) {
            this.model = model;
        }

        private boolean isGraph() {
            return model instanceof ComputationGraph;
        }

        private String json() {
            return isGraph() ? ((ComputationGraph) model).getConfiguration().toJson()
                    : ((MultiLayerNetwork) model).getLayerWiseConfigurations().toJson();
        }

        private INDArray state() {
            return isGraph() ? ((ComputationGraph) model).getUpdater().getStateViewArray()
                    : ((MultiLayerNetwork) model).getUpdater().getStateViewArray();
        }

        private int iterations() {
            return isGraph() ? ((ComputationGraph) model).getConfiguration().getIterationCount()
                    : ((MultiLayerNetwork) model).getLayerWiseConfigurations().getIterationCount();
        }

        private int epochs() {
            return isGraph() ? ((ComputationGraph) model).getConfiguration().getEpochCount()
                    : ((MultiLayerNetwork) model).getLayerWiseConfigurations().getEpochCount();
        }

        /** One iteration, and an epoch counted as an iterator's end would. */
        private void fit(DataSet batch) {
            if (isGraph()) {
                ((ComputationGraph) model).fit(batch);
                ((ComputationGraph) model).incrementEpochCount();
            } else {
                ((MultiLayerNetwork) model).fit(batch);
                ((MultiLayerNetwork) model).incrementEpochCount();
            }
        }

        @Override
        public String toString() {
            return model.getClass().getSimpleName() + ", " + model.params().dataType() + ", state "
                    + (state() == null ? 0 : state().length());
        }
    }

    /** A copy of an array in host memory of our own. */
    private static final class Held implements AutoCloseable {

        private final Pointer memory;
        private final HostArray array;

        private Held(INDArray values) {
            if (values == null) {
                memory = new BytePointer();
                array = HostArray.NONE;
            } else {
                memory = values.dataType() == DataType.FLOAT ? new FloatPointer(values.toFloatVector())
                        : new DoublePointer(values.toDoubleVector());
                array = HostArray.of(memory.address(), values.dataType(), values.shape());
            }
        }

        @Override
        public void close() {
            memory.close();
        }
    }

    /** Takes so many bytes and no more. */
    private static final class FullDisk extends FilterOutputStream {

        private long room;

        private FullDisk(OutputStream out, long room) {
            super(out);
            this.room = room;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, (int) Math.min(length, room));
            room -= length;
            if (room < 0) {
                throw new IOException("disk full");
            }
        }
    }

    // ---- files and bytes ----

    private File stockSave(Model model, boolean updater) throws IOException {
        File file = directory.resolve("stock-" + updater + ".zip").toFile();
        ModelSerializer.writeModel(model, file, updater);
        return file;
    }

    private File ourSave(Net net, String name) {
        File file = directory.resolve(name).toFile();
        try (Held parameters = new Held(net.model.params()); Held state = new Held(net.state())) {
            ModelArchive.write(file, net.json(), parameters.array, state.array, Map.of());
        }
        return file;
    }

    private static Net stockRestore(File file, Net like) throws IOException {
        return new Net(like.isGraph() ? ModelSerializer.restoreComputationGraph(file) : ModelSerializer.restoreMultiLayerNetwork(file));
    }

    private static byte[] readParameters(ModelArchive archive) {
        DataType type = archive.parameterType();
        try (BytePointer memory = new BytePointer(archive.parameterCount() * type.width())) {
            archive.readParameters(memory.address(), archive.parameterCount(), type);
            return bytes(memory);
        }
    }

    private static byte[] readUpdaterState(ModelArchive archive) {
        DataType type = archive.parameterType();
        try (BytePointer memory = new BytePointer(archive.updaterStateCount() * type.width())) {
            archive.readUpdaterState(memory.address(), archive.updaterStateCount(), type);
            return bytes(memory);
        }
    }

    /** The array's bytes as they lie in memory; none for null. */
    private static byte[] bits(INDArray array) {
        if (array == null) {
            return new byte[0];
        }
        try (Held held = new Held(array)) {
            return bytes(new BytePointer(held.memory).capacity(held.array.bytes()));
        }
    }

    private static byte[] bytes(BytePointer memory) {
        byte[] bytes = new byte[(int) memory.capacity()];
        memory.position(0).get(bytes);
        return bytes;
    }

    private static Map<String, byte[]> entries(File file) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(file)) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                assertThat(entry.getMethod()).isEqualTo(ZipEntry.DEFLATED);
                entries.put(entry.getName(), zip.getInputStream(entry).readAllBytes());
            }
        }
        return entries;
    }

    private File zip(String name, Map<String, byte[]> entries) throws IOException {
        File file = directory.resolve(name).toFile();
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file.toPath()))) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry(entry.getKey()));
                zip.write(entry.getValue());
            }
        }
        return file;
    }

    private static byte[] storedZip(Map<String, byte[]> entries) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.setLevel(0);
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                zip.putNextEntry(new ZipEntry(entry.getKey()));
                zip.write(entry.getValue());
            }
        }
        return bytes.toByteArray();
    }

    private static int indexOf(byte[] bytes, byte[] part) {
        for (int at = 0; at <= bytes.length - part.length; at++) {
            if (Arrays.equals(bytes, at, at + part.length, part, 0, part.length)) {
                return at;
            }
        }
        throw new AssertionError("not stored as one block");
    }

    private static void bufferStart(DataOutputStream data, String mode, int length, String type) throws IOException {
        data.writeUTF(mode);
        if (mode.equals("LONG_SHAPE")) {
            data.writeLong(length);
        } else {
            data.writeInt(length);
        }
        data.writeUTF(type);
    }

    private static byte[] stockArray(INDArray array) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Nd4j.write(array, new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static byte[] compressedStart() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream data = new DataOutputStream(bytes);
        bufferStart(data, "LONG_SHAPE", 6, "LONG");
        for (long part : new long[] {1, 4, 1, 0, 1, 'c'}) {
            data.writeLong(part);
        }
        bufferStart(data, "LONG_SHAPE", 4, "COMPRESSED");
        return bytes.toByteArray();
    }

    private static byte[] json() {
        return new Net(parameterlessLayers(DataType.FLOAT)).json().getBytes(StandardCharsets.UTF_8);
    }

    private static void refused(File file, String... parts) {
        assertThatThrownBy(() -> ModelArchive.open(file)).isInstanceOf(RefusedException.class).hasMessageContaining(file.getPath())
                .hasMessageContaining("expected").hasMessageContainingAll(parts);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().collect(Collectors.toList());
        }
    }
}
