package org.memferry.plan;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import org.memferry.base.RefusedException;

/**
 * A device, its link and its host in a few numbers, to estimate times where nothing can be measured. Each number carries its source: a
 * datasheet, or what it is derived from. Immutable.
 */
public final class Hardware {

    private static final String FORMAT = "memferry-hardware";
    private static final int VERSION = 1;
    private static final List<String> NAMES = List.of("V100-32-PCIe3", "A100-80-PCIe3", "A100-80-PCIe4", "RTX3060", "RTX3090", "RTX4090",
            "H200");
    private static final List<String> NUMBERS = List.of("deviceBytes", "bytesPerSecondToDevice", "bytesPerSecondToHost",
            "deviceFlopsPerSecond", "deviceFlopsEfficiency", "deviceBytesPerSecond", "hostBytesPerSecond", "updatedParametersPerSecond");

    private final String name;
    private final Map<String, Double> values = new LinkedHashMap<>();
    private final Map<String, String> sources = new LinkedHashMap<>();

    private Hardware(Hardware other, long deviceBytes) {
        name = other.name;
        values.putAll(other.values);
        sources.putAll(other.sources);
        values.put("deviceBytes", (double) deviceBytes);
        sources.put("deviceBytes", "given");
    }

    private Hardware(JsonFields root) {
        List<String> fields = new ArrayList<>(List.of("format", "version", "name"));
        fields.addAll(NUMBERS);
        root.only(fields.toArray(new String[0]));
        name = root.text("name");
        for (String number : NUMBERS) {
            JsonFields field = root.object(number).only("value", "source");
            double value = field.number("value");
            if (!(value > 0) || Double.isInfinite(value)) {
                throw root.senseless(new IllegalArgumentException(number + " " + value + " is not more than 0"));
            }
            values.put(number, value);
            sources.put(number, field.text("source"));
        }
    }

    /** The names of the descriptions that come with MemFerry. */
    public static List<String> names() {
        return NAMES;
    }

    /**
     * A description that comes with MemFerry.
     *
     * @param name one of {@link #names()}, in any case
     * @throws RefusedException if there is none of this name
     */
    public static Hardware named(String name) {
        for (String known : NAMES) {
            if (known.equalsIgnoreCase(name)) {
                String resource = "/hardware/" + known.toLowerCase(Locale.ROOT) + ".json";
                try (InputStream in = Hardware.class.getResourceAsStream(resource)) {
                    return new Hardware(JsonFields.read(in, resource, FORMAT, VERSION));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        throw new RefusedException("hardware '" + name + "' is not known (expected: one of " + String.join(", ", NAMES)
                + ", or the name of a .json file of the same form)");
    }

    /**
     * A description of one's own, of the form of those that come with MemFerry.
     *
     * @throws RefusedException if a number or its source is missing
     * @throws IOException      if the file is not there or could not be read
     */
    public static Hardware read(File file) throws IOException {
        try (InputStream in = new FileInputStream(file)) {
            return new Hardware(JsonFields.read(in, file.toString(), FORMAT, VERSION));
        }
    }

    /**
     * The same hardware with another amount of memory on the device.
     *
     * @throws RefusedException if it is not more than 0
     */
    public Hardware withDeviceBytes(long bytes) {
        if (bytes <= 0) {
            throw new RefusedException("memory of hardware " + name + ": " + bytes + " bytes (expected: more than 0, such as 8GB)");
        }
        return new Hardware(this, bytes);
    }

    /** What the description is of. */
    public String name() {
        return name;
    }

    /** Memory of the device in bytes. */
    public long deviceBytes() {
        return Math.round(values.get("deviceBytes"));
    }

    /** Rate of a copy from host to device. */
    public double bytesPerSecondToDevice() {
        return values.get("bytesPerSecondToDevice");
    }

    /** Rate of a copy from device to host. */
    public double bytesPerSecondToHost() {
        return values.get("bytesPerSecondToHost");
    }

    /** Peak floating point operations per second of the device in single precision. */
    public double deviceFlopsPerSecond() {
        return values.get("deviceFlopsPerSecond");
    }

    /** The share of the peak that a layer is expected to reach. */
    public double deviceFlopsEfficiency() {
        return values.get("deviceFlopsEfficiency");
    }

    /** Rate of the device's own memory. */
    public double deviceBytesPerSecond() {
        return values.get("deviceBytesPerSecond");
    }

    /** Rate of the host's memory. */
    public double hostBytesPerSecond() {
        return values.get("hostBytesPerSecond");
    }

    /** Parameters that the host's optimizer step (Adam, single precision) takes per second. */
    public double updatedParametersPerSecond() {
        return values.get("updatedParametersPerSecond");
    }

    /** Per number, by the name of its method: where it is from. */
    public Map<String, String> sources() {
        return Map.copyOf(sources);
    }
}
