package org.memferry.examples;

import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;

/** A text as numbers: each different character has one, in the order of their code points. {@code README.md} beside the bundled one names its source. */
public final class Text {

    private static final String BUNDLED = "kjv-pentateuch.txt.gz";
    private static final int LEAST = 10_000;

    private final String characters;
    private final byte[] content;

    private Text(String text) {
        characters = text.codePoints().distinct().sorted().collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        content = new byte[text.length()];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) characters.indexOf(text.charAt(i));
        }
    }

    /** The bundled text, 815,101 characters of English. */
    public static Text bundled() {
        try (InputStream in = Text.class.getResourceAsStream(BUNDLED); GZIPInputStream unzipped = new GZIPInputStream(in)) {
            return new Text(new String(unzipped.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalStateException("the bundled text cannot be read", e);
        }
    }

    /**
     * A text file in UTF-8.
     *
     * @throws IOException if it cannot be read, is too short, or has more than 127 different characters
     */
    public static Text read(Path file) throws IOException {
        String text = Files.readString(file);
        long kinds = text.chars().distinct().count();
        if (text.length() < LEAST || kinds > Byte.MAX_VALUE) {
            throw new IOException(file + ": " + text.length() + " characters of " + kinds + " kinds (expected: at least " + LEAST
                    + ", of at most " + Byte.MAX_VALUE + " kinds)");
        }
        return new Text(text);
    }

    /** Number of characters. */
    public int length() {
        return content.length;
    }

    /** Number of different characters. */
    public int kinds() {
        return characters.length();
    }

    /** The number of the character at a place. */
    public int at(int place) {
        return content[place];
    }

    /** The character of a number. */
    public char character(int number) {
        return characters.charAt(number);
    }

    /**
     * Pieces of the text as one-hot vectors.
     *
     * @param starts where the pieces begin
     * @param steps  length of each
     * @return shape [pieces, kinds, steps]
     */
    public INDArray oneHot(int[] starts, int steps) {
        int kinds = kinds();
        float[] values = new float[starts.length * kinds * steps];
        for (int piece = 0; piece < starts.length; piece++) {
            for (int step = 0; step < steps; step++) {
                values[(piece * kinds + at(starts[piece] + step)) * steps + step] = 1;
            }
        }
        return Nd4j.create(values, new long[] {starts.length, kinds, steps}, DataType.FLOAT);
    }

    /** As {@link #oneHot}, of single characters: shape [pieces, kinds]. */
    public INDArray oneHot(int[] places) {
        return oneHot(places, 1).reshape(places.length, kinds());
    }

    /** Places, each a number further on. */
    public static int[] shifted(int[] places, int by) {
        return Arrays.stream(places).map(p -> p + by).toArray();
    }
}
