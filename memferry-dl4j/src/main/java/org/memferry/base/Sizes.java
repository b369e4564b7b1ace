package org.memferry.base;

import java.util.Locale;

/** Byte sizes as people write and read them. Units are powers of two: 1 KB = 2^10, 1 MB = 2^20, 1 GB = 2^30 bytes. */
public final class Sizes {

    private static final String[] UNITS = {"B", "KB", "MB", "GB", "TB"};

    private Sizes() {
    }

    /**
     * Reads a size such as {@code 512}, {@code 64KB}, {@code 1.5GB} or {@code 6g}.
     *
     * @param text the size; case and blanks do not matter
     * @param name what the size is for, named in the error
     * @return bytes
     * @throws RefusedException if the text is not a size or does not fit a {@code long}
     */
    public static long parse(String text, String name) {
        String t = text == null ? "" : text.trim().toUpperCase(Locale.ROOT).replace(" ", "");
        int digits = 0;
        while (digits < t.length() && (Character.isDigit(t.charAt(digits)) || t.charAt(digits) == '.')) {
            digits++;
        }
        int shift = shiftOf(t.substring(digits));
        double value = -1;
        try {
            value = digits == 0 ? -1 : Double.parseDouble(t.substring(0, digits));
        } catch (NumberFormatException e) {
            // More than one point: refused below like any other text that is not a number.
        }
        double bytes = value * (1L << Math.max(shift, 0));
        if (shift < 0 || value < 0 || bytes > Long.MAX_VALUE / 2) {
            throw new RefusedException(name + ": '" + text + "' (expected: a size such as 512MB, 6GB or 1.5GB)");
        }
        return Math.round(bytes);
    }

    private static int shiftOf(String unit) {
        switch (unit) {
            case "":
            case "B":
                return 0;
            case "K":
            case "KB":
            case "KIB":
                return 10;
            case "M":
            case "MB":
            case "MIB":
                return 20;
            case "G":
            case "GB":
            case "GIB":
                return 30;
            case "T":
            case "TB":
            case "TIB":
                return 40;
            default:
                return -1;
        }
    }

    /** Bytes for a reader: three significant digits and a unit, for example {@code 81.3 MB}. */
    public static String format(long bytes) {
        double value = bytes;
        int unit = 0;
        // The limits are where rounding would add a digit: 1023.7 KB is written 1.00 MB, 9.997 KB is written 10.0 KB.
        while (Math.abs(value) >= (unit == 0 ? 1024 : 1023.5) && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        String pattern = unit == 0 ? "%.0f %s" : Math.abs(value) < 9.995 ? "%.2f %s" : Math.abs(value) < 99.95 ? "%.1f %s" : "%.0f %s";
        return String.format(Locale.ROOT, pattern, value, UNITS[unit]);
    }

    /** Bytes for a message: readable and exact, for example {@code 81.3 MB (85,197,824 bytes)}. */
    public static String exact(long bytes) {
        return format(bytes) + String.format(Locale.ROOT, " (%,d bytes)", bytes);
    }

    /**
     * Rounds up to a multiple.
     *
     * @param value     at least 0
     * @param alignment a power of two
     */
    public static long align(long value, long alignment) {
        return Math.addExact(value, alignment - 1) & -alignment;
    }
}
