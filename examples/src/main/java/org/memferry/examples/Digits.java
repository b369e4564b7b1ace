package org.memferry.examples;

import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.zip.GZIPInputStream;

/**
 * Handwritten digits of 8x8 pixels, in Java memory: what becomes an array, and so takes device memory, is only what
 * {@link #batches} is asked for. A row of the file is 64 grey values 0..16, then the digit; {@code README.md} beside the bundled file
 * names its source.
 */
public final class Digits {

    /** Pixels per side. */
    public static final int SIDE = 8;
    /** Share of the examples that is held out for the test. */
    private static final double TEST_SHARE = 0.2;
    private static final int PIXELS = SIDE * SIDE;
    private static final float WHITE = 16f;
    private static final String BUNDLED = "digits.csv.gz";
    private static final int GZIP_MAGIC = 0x1f8b;

    private final List<int[]> rows;

    private Digits(List<int[]> rows) {
        this.rows = rows;
    }

    /** The bundled file: 1,797 digits. */
    public static Digits bundled() {
        try (InputStream in = Digits.class.getResourceAsStream(BUNDLED)) {
            return read(in, BUNDLED);
        } catch (IOException e) {
            throw new IllegalStateException("the bundled data cannot be read", e);
        }
    }

    /**
     * A file of the same format, plain or gzipped, such as the UCI data set's training part {@code optdigits.tra}.
     *
     * @throws IOException if it cannot be read or a row is not 64 values 0..16 and a digit; names the line
     */
    public static Digits read(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return read(in, file.toString());
        }
    }

    private static Digits read(InputStream raw, String name) throws IOException {
        InputStream in = new BufferedInputStream(raw);
        in.mark(2);
        boolean zipped = (in.read() << 8 | in.read()) == GZIP_MAGIC;
        in.reset();
        List<int[]> rows = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(
                new InputStreamReader(zipped ? new GZIPInputStream(in) : in, StandardCharsets.US_ASCII))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (!line.isBlank()) {
                    rows.add(row(line, name, rows.size() + 1));
                }
            }
        }
        if (rows.isEmpty()) {
            throw new IOException(name + ": no rows (expected: 64 whole numbers 0..16 and a digit in each)");
        }
        return new Digits(rows);
    }

    private static int[] row(String line, String name, int number) throws IOException {
        String[] fields = line.split(",");
        int[] row = new int[fields.length];
        boolean good = fields.length == PIXELS + 1;
        for (int i = 0; good && i < fields.length; i++) {
            try {
                row[i] = Integer.parseInt(fields[i].trim());
                good = row[i] >= 0 && row[i] <= (i < PIXELS ? WHITE : 9);
            } catch (NumberFormatException e) {
                good = false;
            }
        }
        if (!good) {
            throw new IOException(name + ", row " + number + ": '" + (line.length() > 40 ? line.substring(0, 40) + "..." : line)
                    + "' (expected: 64 whole numbers 0..16 and a digit, separated by commas)");
        }
        return row;
    }

    /** Number of examples. */
    public int size() {
        return rows.size();
    }

    /** Number of examples of one digit. */
    public int count(int digit) {
        return (int) rows.stream().filter(r -> r[PIXELS] == digit).count();
    }

    /** Only the digits {@code first} to {@code last}, in the same order. */
    public Digits only(int first, int last) {
        List<int[]> chosen = new ArrayList<>();
        for (int[] row : rows) {
            if (row[PIXELS] >= first && row[PIXELS] <= last) {
                chosen.add(row);
            }
        }
        return new Digits(chosen);
    }

    /** The examples to learn from: shuffled by the seed, without the held-out ones. */
    public Digits train(long seed) {
        return new Digits(shuffled(seed).subList(held(), rows.size()));
    }

    /** The held-out examples; none of them is among {@link #train} of the same seed. */
    public Digits test(long seed) {
        return new Digits(shuffled(seed).subList(0, held()));
    }

    private int held() {
        return (int) Math.round(rows.size() * TEST_SHARE);
    }

    private List<int[]> shuffled(long seed) {
        List<int[]> copy = new ArrayList<>(rows);
        Collections.shuffle(copy, new Random(seed));
        return copy;
    }

    /**
     * The examples as arrays, one data set per batch: features [examples, 1, 8, 8] scaled to 0..1, labels one-hot. The last batch may
     * be smaller.
     *
     * @param first digit of the first class
     * @param count number of classes
     * @param size  examples per batch
     */
    public List<DataSet> batches(int first, int count, int size) {
        List<DataSet> batches = new ArrayList<>();
        for (int from = 0; from < rows.size(); from += size) {
            batches.add(batch(rows.subList(from, Math.min(rows.size(), from + size)), first, count));
        }
        return batches;
    }

    private static DataSet batch(List<int[]> rows, int first, int count) {
        float[] features = new float[rows.size() * PIXELS];
        float[] labels = new float[rows.size() * count];
        for (int r = 0; r < rows.size(); r++) {
            int[] row = rows.get(r);
            for (int p = 0; p < PIXELS; p++) {
                features[r * PIXELS + p] = row[p] / WHITE;
            }
            labels[r * count + row[PIXELS] - first] = 1;
        }
        return new DataSet(Nd4j.create(features, new long[] {rows.size(), 1, SIDE, SIDE}),
                Nd4j.create(labels, new long[] {rows.size(), count}));
    }
}
