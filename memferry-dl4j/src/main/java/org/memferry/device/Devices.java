package org.memferry.device;

import java.io.File;
import java.io.IOException;

import org.memferry.base.RefusedException;
import org.memferry.base.Sizes;
import org.memferry.device.cuda.ComputeStream;
import org.memferry.device.cuda.CudaDevice;
import org.memferry.device.emulated.EmulatedDevice;
import org.memferry.device.host.HostDevice;
import org.memferry.plan.Profile;
import org.memferry.plan.ProfileFile;

/** Opens a device from the text a user gives, for example {@code host}, {@code cuda:0,memory=6GB} or {@code emulated:512MB,h2d=12,d2h=12}. */
public final class Devices {

    private static final String EXPECTED = "host, or emulated:<size> followed by any of ,h2d=<GB/s> ,d2h=<GB/s> ,dilation=<factor>"
            + " ,pace=<profile> ,poison ,delay=<seed>/<max microseconds>, or cuda:<number> followed by any of ,memory=<size> ,poison"
            + " ,delay=<seed>/<max microseconds>";
    private static final String CUDA = "cuda";
    private static final String EMULATED = "emulated";
    private static final double BYTES_PER_GB = 1L << 30;

    private Devices() {
    }

    /**
     * Opens a device.
     *
     * <ul>
     * <li>{@code host}: no memory of its own; everything is read in place.
     * <li>{@code cuda} or {@code cuda:<number>}: a card, the first one where none is named. Options: {@code memory} limits what is taken of its
     * memory; {@code poison} and {@code delay} as below.
     * <li>{@code emulated:<size>}: a budget of real memory with real copies. Options, each at most once, separated by commas:
     * {@code h2d} and {@code d2h} limit the link (GB/s, 1 GB = 2^30 bytes), {@code dilation} stretches every visit of a layer,
     * {@code pace} lets it last as long as a {@linkplain ProfileFile profile} says, {@code poison}
     * fills unused device memory with NaN, {@code delay} lets every copy start late by a random time.
     * </ul>
     *
     * @param spec the text
     * @throws RefusedException if the text is none of these; names the text and what is expected
     */
    public static Device open(String spec) {
        return open(spec, ComputeStream.HOST);
    }

    /**
     * As above, for computation on a card.
     *
     * @param compute where the computation runs, if the device is a card
     */
    public static Device open(String spec, ComputeStream compute) {
        String text = spec == null ? "" : spec.trim();
        if (text.equals("host")) {
            return new HostDevice();
        }
        if (text.startsWith(EMULATED + ":")) {
            return openEmulated(spec, text.substring(EMULATED.length() + 1).split(",", -1));
        }
        String[] parts = text.split(",", -1);
        if (parts[0].equals(EMULATED)) {
            throw refused(spec, "no size: give it here, or beside property org.memferry.device as org.memferry.deviceMemory (among the agent's "
                    + "arguments deviceMemory)");
        }
        if (parts[0].equals(CUDA) || parts[0].startsWith(CUDA + ":")) {
            return openCuda(spec, parts, compute);
        }
        throw refused(spec, "unknown device");
    }

    private static Device openCuda(String spec, String[] parts, ComputeStream compute) {
        CudaDevice.Builder builder = CudaDevice.builder(card(spec, parts[0])).compute(compute);
        for (int i = 1; i < parts.length; i++) {
            String option = parts[i].trim();
            String name = option.contains("=") ? option.substring(0, option.indexOf('=')) : option;
            String value = option.contains("=") ? option.substring(option.indexOf('=') + 1) : null;
            requireFirst(spec, parts, i, name);
            if (name.equals("memory")) {
                builder.memory(Sizes.parse(value, "device '" + spec + "': memory"));
            } else if (option.equals("poison")) {
                builder.poison();
            } else if (name.equals("delay")) {
                addDelays(builder::randomDelays, spec, option, value);
            } else {
                throw refused(spec, "unknown option '" + option + "'");
            }
        }
        return builder.build();
    }

    private static int card(String spec, String device) {
        try {
            return device.equals(CUDA) ? 0 : Integer.parseUnsignedInt(device.substring(CUDA.length() + 1));
        } catch (NumberFormatException e) {
            throw refused(spec, "no number of a card");
        }
    }

    private static Device openEmulated(String spec, String[] parts) {
        EmulatedDevice.Builder builder = EmulatedDevice.builder(Sizes.parse(parts[0], "device '" + spec + "'"));
        double toDevice = Double.POSITIVE_INFINITY;
        double toHost = Double.POSITIVE_INFINITY;
        for (int i = 1; i < parts.length; i++) {
            String option = parts[i].trim();
            String name = option.contains("=") ? option.substring(0, option.indexOf('=')) : option;
            String value = option.contains("=") ? option.substring(option.indexOf('=') + 1) : null;
            requireFirst(spec, parts, i, name);
            if (name.equals("h2d")) {
                toDevice = positive(spec, option, value) * BYTES_PER_GB;
            } else if (name.equals("d2h")) {
                toHost = positive(spec, option, value) * BYTES_PER_GB;
            } else if (name.equals("dilation")) {
                builder.computeDilation(positive(spec, option, value));
            } else if (name.equals("pace")) {
                builder.pace(profile(spec, option, value));
            } else if (option.equals("poison")) {
                builder.poison();
            } else if (name.equals("delay")) {
                addDelays(builder::randomDelays, spec, option, value);
            } else {
                throw refused(spec, "unknown option '" + option + "'");
            }
        }
        return builder.linkRates(LinkRates.of(toDevice, toHost)).build();
    }

    private static void requireFirst(String spec, String[] parts, int index, String name) {
        for (int i = 1; i < index; i++) {
            if (parts[i].trim().equals(name) || parts[i].trim().startsWith(name + "=")) {
                throw refused(spec, "option '" + name + "' is given twice");
            }
        }
    }

    private static double positive(String spec, String option, String value) {
        try {
            double number = value == null ? Double.NaN : Double.parseDouble(value);
            if (number > 0 && number < Double.POSITIVE_INFINITY) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Refused below like a number out of range.
        }
        throw refused(spec, "option '" + option + "' needs a number above 0");
    }

    private static Profile profile(String spec, String option, String value) {
        if (value == null || value.isEmpty()) {
            throw refused(spec, "option '" + option + "' needs the file of a profile");
        }
        try {
            return ProfileFile.read(new File(value));
        } catch (IOException e) {
            throw refused(spec, "option '" + option + "': the profile cannot be read (" + e.getMessage() + ")");
        }
    }

    /** Takes a seed and a longest delay in microseconds. */
    private interface Delays {
        void set(long seed, long maxMicros);
    }

    private static void addDelays(Delays delays, String spec, String option, String value) {
        int slash = value == null ? -1 : value.indexOf('/');
        try {
            if (slash >= 0) {
                delays.set(Long.parseLong(value.substring(0, slash)), Long.parseLong(value.substring(slash + 1)));
                return;
            }
        } catch (NumberFormatException e) {
            // Refused below like a missing number.
        }
        throw refused(spec, "option '" + option + "' needs two whole numbers");
    }

    private static RefusedException refused(String spec, String what) {
        return new RefusedException("device: '" + spec + "': " + what + " (expected: " + EXPECTED + ")");
    }
}
