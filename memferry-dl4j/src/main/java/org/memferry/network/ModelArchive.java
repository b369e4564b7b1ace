package org.memferry.network;

import java.io.Closeable;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.deeplearning4j.util.ModelSerializer;
import org.memferry.base.AtomicFile;
import org.memferry.base.MemFerryException;
import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.shade.jackson.core.JsonFactory;
import org.nd4j.shade.jackson.core.JsonParser;
import org.nd4j.shade.jackson.core.JsonToken;

/**
 * DL4J's model zip, read into and written from host memory without a second copy of the arrays. The format is that of
 * {@link ModelSerializer}: each side reads what the other wrote, and the entries hold the same bytes, with these exceptions:
 * <ul>
 *   <li>{@code ModelSerializer} reads no entry of 2 GiB or more; both directions here go on, with {@code long} sizes;
 *   <li>a network without parameters is always marked by {@code noParams.marker}; M2.1 writes an empty FLOAT vector instead, which
 *       makes a DOUBLE network FLOAT when restored; both are read here;
 *   <li>a NaN keeps its bits, and characters beyond ASCII in the configuration are escaped.
 * </ul>
 *
 * <p>Entries, in this order: {@code configuration.json}; {@code coefficients.bin}; {@code noParams.marker} if that is empty;
 * {@code updaterState.bin} unless there is no state; any others, such as {@code normalizer.bin} and {@code objects/...}, are carried
 * as they are. An open archive holds the file open and is not thread-safe.
 */
public final class ModelArchive implements Closeable {

    private static final Set<String> OWN_ENTRIES = Set.of(ModelSerializer.CONFIGURATION_JSON, ModelSerializer.COEFFICIENTS_BIN,
            ModelSerializer.NO_PARAMS_MARKER, ModelSerializer.UPDATER_BIN);
    private static final String WAY_OUT = "use a model file that ModelSerializer or MemFerry wrote; if this one is a copy, copy it again";
    private static final int NAMES_IN_MESSAGE = 12;

    private final File file;
    private final ZipFile zip;
    private final String configurationJson;
    private final boolean graph;
    private final ArrayHeader parameters;
    private final ArrayHeader updaterState;

    private ModelArchive(File file, ZipFile zip) {
        this.file = file;
        this.zip = zip;
        this.configurationJson = new String(bytes(required(ModelSerializer.CONFIGURATION_JSON)), StandardCharsets.UTF_8);
        this.graph = isGraph(configurationJson, file + ", entry " + ModelSerializer.CONFIGURATION_JSON);
        this.parameters = parameterHeader();
        ZipEntry state = zip.getEntry(ModelSerializer.UPDATER_BIN);
        this.updaterState = state == null ? null : header(state);
    }

    /**
     * Opens a model file and checks everything but the values: entries, configuration, array headers against entry sizes.
     *
     * @throws RefusedException  if the file is missing, is cut short, or is no model file; names file, entry, expected and found
     * @throws MemFerryException if the configuration is damaged
     */
    public static ModelArchive open(File file) {
        if (!file.isFile()) {
            throw new RefusedException(file + ": there is no such file (expected: a model file)");
        }
        ZipFile zip;
        try {
            zip = new ZipFile(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw refused(file + ", " + Sizes.exact(file.length()) + ": not a complete zip: " + e.getMessage() + " (expected: a model"
                    + " file; " + WAY_OUT + ")", e);
        }
        try {
            return new ModelArchive(file, zip);
        } catch (RuntimeException | Error e) {
            closeAfter(e, zip);
            throw e;
        }
    }

    /** The configuration as it is stored; iteration and epoch count are part of it. */
    public String configurationJson() {
        return configurationJson;
    }

    /** True for a {@code ComputationGraph}, false for a {@code MultiLayerNetwork}. */
    public boolean isGraph() {
        return graph;
    }

    /** Number of parameters; 0 for a network without any. */
    public long parameterCount() {
        return parameters == null ? 0 : parameters.count();
    }

    /**
     * Type of the parameters as they are stored.
     *
     * @throws RefusedException if there are none
     */
    public DataType parameterType() {
        if (parameterCount() == 0) {
            throw new RefusedException(file + ": the network has no parameters, hence no parameter type (expected: a call only where"
                    + " parameterCount() is above 0)");
        }
        return parameters.type();
    }

    /** True if the file holds updater state. */
    public boolean hasUpdaterState() {
        return updaterStateCount() > 0;
    }

    /** Number of values of updater state; 0 if the file holds none. */
    public long updaterStateCount() {
        return updaterState == null ? 0 : updaterState.count();
    }

    /**
     * Reads the parameters into host memory.
     *
     * @param address first byte of {@code count} values, alive until this returns
     * @param count   number of values; must be what the file holds
     * @param type    FLOAT or DOUBLE; must be what the file holds
     * @throws RefusedException  if count or type differ; memory is untouched
     * @throws MemFerryException if the file turns out damaged; memory then holds a part of it
     */
    public void readParameters(long address, long count, DataType type) {
        readValues(ModelSerializer.COEFFICIENTS_BIN, parameters, address, count, type);
    }

    /**
     * Reads the updater state into host memory; arguments and errors as in {@link #readParameters}.
     *
     * @throws RefusedException also if the file holds none and {@code count} is not 0
     */
    public void readUpdaterState(long address, long count, DataType type) {
        readValues(ModelSerializer.UPDATER_BIN, updaterState, address, count, type);
    }

    /** All entries that are neither configuration, parameters nor updater state, by name in the file's order; ready for {@link #write}. */
    public Map<String, byte[]> otherEntries() {
        Map<String, byte[]> others = new LinkedHashMap<>();
        for (ZipEntry entry : Collections.list(zip.entries())) {
            if (!entry.isDirectory() && !OWN_ENTRIES.contains(entry.getName())) {
                others.put(entry.getName(), bytes(entry));
            }
        }
        return others;
    }

    @Override
    public void close() {
        try {
            zip.close();
        } catch (IOException e) {
            throw new MemFerryException(file + ": closing failed: " + e, e);
        }
    }

    /**
     * Writes a model file, replacing an existing one only when the new one is complete and on the disk. The values must not change
     * meanwhile. On Windows no archive may be open on the file.
     *
     * @param file              where to; the directory must exist and have room for a second copy of the file
     * @param configurationJson of a {@code MultiLayerNetwork} or a {@code ComputationGraph}, counters included
     * @param parameters        values and shape as {@code net.params()} has them; M1.1 restores {@code [1, n]} only, M2.1 both
     * @param updaterState      values and shape as {@code getStateViewArray()} has them; {@link HostArray#NONE} to leave them out
     * @param otherEntries      further entries by name, such as {@link ModelSerializer#NORMALIZER_BIN}
     * @throws RefusedException  if the configuration is of neither kind or an entry's name is taken; nothing was written
     * @throws MemFerryException if writing failed; the old file is untouched
     */
    public static void write(File file, String configurationJson, HostArray parameters, HostArray updaterState,
                             Map<String, byte[]> otherEntries) {
        isGraph(configurationJson, "the configuration to write to " + file);
        for (String name : otherEntries.keySet()) {
            if (OWN_ENTRIES.contains(name)) {
                throw new RefusedException(file + ": a further entry named " + name + " (expected: a name other than " + OWN_ENTRIES + ")");
            }
        }
        try {
            AtomicFile.replace(file, out -> writeZip(out, configurationJson, parameters, updaterState, otherEntries));
        } catch (IOException e) {
            long asked = Math.addExact(parameters.bytes(), updaterState.bytes());
            throw new MemFerryException(file + ": writing " + Sizes.exact(asked) + " of values failed: " + e + "; a file that was there"
                    + " before is untouched (expected: a directory that exists, is writable and has that much room)", e);
        }
    }

    /** Writes the zip to a stream and closes the stream. */
    static void writeZip(OutputStream out, String configurationJson, HostArray parameters, HostArray updaterState,
                         Map<String, byte[]> otherEntries) throws IOException {
        try (ZipOutputStream zip = new ZipOutputStream(out, StandardCharsets.UTF_8)) {
            zip.putNextEntry(new ZipEntry(ModelSerializer.CONFIGURATION_JSON));
            zip.write(ascii(configurationJson));
            // Weights hardly shrink, and shrinking them is several times slower than a disk.
            zip.setLevel(Deflater.NO_COMPRESSION);
            zip.putNextEntry(new ZipEntry(ModelSerializer.COEFFICIENTS_BIN));
            if (parameters.count() > 0) {
                writeArray(zip, parameters);
            } else {
                zip.putNextEntry(new ZipEntry(ModelSerializer.NO_PARAMS_MARKER));
            }
            if (updaterState.count() > 0) {
                zip.putNextEntry(new ZipEntry(ModelSerializer.UPDATER_BIN));
                writeArray(zip, updaterState);
            }
            for (Map.Entry<String, byte[]> other : otherEntries.entrySet()) {
                zip.putNextEntry(new ZipEntry(other.getKey()));
                zip.write(other.getValue());
            }
        }
    }

    private static void writeArray(OutputStream out, HostArray array) throws IOException {
        ArrayHeader.write(out, array.type(), array.shape());
        ArrayStream.write(out, array.address(), array.count(), array.type().width());
    }

    /**
     * JSON in ASCII, other characters escaped. {@code ModelSerializer} decodes with the machine's character set; every set agrees on
     * ASCII.
     */
    private static byte[] ascii(String json) {
        StringBuilder text = new StringBuilder(json.length());
        for (int i = 0; i < json.length(); i++) {
            char c = json.charAt(i);
            if (c < 0x80) {
                text.append(c);
            } else {
                text.append(String.format("\\u%04x", (int) c));
            }
        }
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** Tells the two kinds of configuration apart by the fields each must have at the top. */
    private static boolean isGraph(String json, String what) {
        boolean layers = false;
        boolean vertices = false;
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            if (parser.nextToken() == JsonToken.START_OBJECT) {
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    layers |= parser.getCurrentName().equals("confs");
                    vertices |= parser.getCurrentName().equals("vertices");
                    parser.nextToken();
                    parser.skipChildren();
                }
            }
        } catch (IOException e) {
            throw refused(what + ": not JSON: " + e.getMessage() + " (expected: the configuration of a network; " + WAY_OUT + ")", e);
        }
        if (layers == vertices) {
            throw new RefusedException(what + ": neither a MultiLayerNetwork nor a ComputationGraph (expected: a field 'confs' or"
                    + " 'vertices', one of them; " + WAY_OUT + ")");
        }
        return vertices;
    }

    private ArrayHeader parameterHeader() {
        ZipEntry entry = required(ModelSerializer.COEFFICIENTS_BIN);
        if (entry.getSize() > 0) {
            return header(entry);
        }
        required(ModelSerializer.NO_PARAMS_MARKER);
        return null;
    }

    private ZipEntry required(String name) {
        ZipEntry entry = zip.getEntry(name);
        if (entry == null) {
            List<String> found = zip.stream().map(ZipEntry::getName).limit(NAMES_IN_MESSAGE).collect(Collectors.toList());
            throw new RefusedException(file + ": no entry " + name + " among " + zip.size() + ", the first " + found
                    + " (expected: a DL4J model; " + WAY_OUT + ")");
        }
        return entry;
    }

    private ArrayHeader header(ZipEntry entry) {
        ArrayHeader header;
        try (InputStream in = zip.getInputStream(entry)) {
            header = ArrayHeader.read(in);
        } catch (EOFException e) {
            throw refused(where(entry.getName()) + ": ends within the array's header, after " + entry.getSize() + " bytes (expected: an"
                    + " ND4J array; " + WAY_OUT + ")", e);
        } catch (IOException e) {
            throw refused(where(entry.getName()) + ": not an array MemFerry reads: " + e.getMessage() + " (expected: a vector as"
                    + " Nd4j.write stores it; " + WAY_OUT + ")", e);
        }
        if (header.totalBytes() != entry.getSize()) {
            throw new RefusedException(where(entry.getName()) + ": " + entry.getSize() + " bytes (expected: " + header.totalBytes()
                    + " for " + header.count() + " " + header.type() + " values; " + WAY_OUT + ")");
        }
        return header;
    }

    private void readValues(String name, ArrayHeader header, long address, long count, DataType type) {
        long found = header == null ? 0 : header.count();
        if (found != count) {
            throw new RefusedException(where(name) + ": holds " + found + " values (expected: " + count + ", what the network has; load"
                    + " the file into a network of its own configuration)");
        }
        if (count == 0) {
            return;
        }
        HostArray.requireStorable(header.type(), where(name));
        if (header.type() != type) {
            throw new RefusedException(where(name) + ": values of type " + header.type() + " (expected: " + type + ", the network's type;"
                    + " load the file into a network of type " + header.type() + ")");
        }
        HostArray target = HostArray.of(address, type, count);
        ZipEntry entry = zip.getEntry(name);
        try (CheckedInputStream in = new CheckedInputStream(zip.getInputStream(entry), new CRC32())) {
            ArrayHeader.read(in);
            ArrayStream.read(in, target.address(), target.count(), type.width());
            requireIntact(in, entry);
        } catch (IOException e) {
            throw damaged(name, e);
        }
    }

    private byte[] bytes(ZipEntry entry) {
        try (CheckedInputStream in = new CheckedInputStream(zip.getInputStream(entry), new CRC32())) {
            byte[] bytes = in.readAllBytes();
            requireIntact(in, entry);
            return bytes;
        } catch (IOException e) {
            throw damaged(entry.getName(), e);
        }
    }

    /** {@link ZipFile} does not compare checksums; a bit that flipped in a stored weight would pass. */
    private static void requireIntact(CheckedInputStream in, ZipEntry entry) throws IOException {
        if (in.read() != -1) {
            throw new IOException("more bytes than the " + entry.getSize() + " that the zip's directory names");
        }
        if (in.getChecksum().getValue() != entry.getCrc()) {
            throw new IOException(String.format("checksum %08x where the zip's directory says %08x", in.getChecksum().getValue(),
                    entry.getCrc()));
        }
    }

    private MemFerryException damaged(String name, IOException cause) {
        return new MemFerryException(where(name) + ": damaged: " + cause.getMessage() + " (expected: an intact entry; " + WAY_OUT + ")",
                cause);
    }

    private String where(String name) {
        return file + ", entry " + name;
    }

    private static RefusedException refused(String message, Throwable cause) {
        RefusedException refusal = new RefusedException(message);
        refusal.initCause(cause);
        return refusal;
    }

    private static void closeAfter(Throwable failure, ZipFile zip) {
        try {
            zip.close();
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }
}
