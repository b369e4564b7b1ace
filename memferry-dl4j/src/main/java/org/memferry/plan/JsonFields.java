package org.memferry.plan;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.memferry.base.RefusedException;

/**
 * An object of a JSON file that is read to the letter: every field must be there and of its kind, and none that is not known, so that a
 * misspelt or newer field is never passed over in silence. All its refusals name the file and the field.
 */
final class JsonFields {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String file;
    private final String path;
    private final JsonNode node;

    private JsonFields(String file, String path, JsonNode node) {
        this.file = file;
        this.path = path;
        this.node = node;
    }

    /**
     * Reads a file of a known format.
     *
     * @param file    its name, for refusals
     * @param format  what its field {@code format} must say
     * @param version what its field {@code version} must say
     * @throws RefusedException if it is not JSON, or another format or version
     * @throws IOException      if it could not be read
     */
    static JsonFields read(InputStream in, String file, String format, int version) throws IOException {
        return read(in, file, format, version, version);
    }

    /**
     * As above, of one of several versions.
     *
     * @param oldest the oldest that is read
     * @param newest the one that is written
     */
    static JsonFields read(InputStream in, String file, String format, int oldest, int newest) throws IOException {
        JsonNode root;
        try {
            root = JSON.readTree(in.readAllBytes());
        } catch (JsonProcessingException e) {
            throw refused(file, "is not JSON: " + e.getOriginalMessage(), "a file that MemFerry wrote");
        }
        if (root == null || !root.isObject() || !format.equals(root.path("format").asText())) {
            throw refused(file, "is no " + format + " file", "a JSON object with \"format\": \"" + format + "\"");
        }
        int version = root.path("version").asInt(-1);
        if (version < oldest || version > newest) {
            throw refused(file, "has version " + root.path("version"), "version " + newest + ", which this MemFerry writes"
                    + (oldest < newest ? ", or an older one from " + oldest + " on" : ""));
        }
        return new JsonFields(file, "", root);
    }

    private static RefusedException refused(String file, String what, String expected) {
        return new RefusedException(file + " " + what + " (expected: " + expected + "). Delete the file and let it be made anew, or"
                + " restore it.");
    }

    /** Refuses fields that are none of these. */
    JsonFields only(String... names) {
        List<String> known = Arrays.asList(names);
        for (Iterator<String> fields = node.fieldNames(); fields.hasNext(); ) {
            String field = fields.next();
            if (!known.contains(field)) {
                throw refused(file, "has an unknown field '" + path + field + "'", "only " + String.join(", ", known));
            }
        }
        return this;
    }

    private JsonNode field(String name, boolean isRight, String kind) {
        if (!isRight) {
            JsonNode found = node.path(name);
            String what = found.isMissingNode() ? "has no field '" + path + name + "'" : "has '" + path + name + "': " + found;
            throw refused(file, what, kind);
        }
        return node.get(name);
    }

    String text(String name) {
        return field(name, node.path(name).isTextual(), "a text").textValue();
    }

    boolean truth(String name) {
        return field(name, node.path(name).isBoolean(), "true or false").booleanValue();
    }

    /** A whole number of at least 0 that fits a {@code long}. */
    long count(String name) {
        JsonNode found = node.path(name);
        return field(name, found.isIntegralNumber() && found.canConvertToLong() && found.longValue() >= 0, "a whole number of at least 0")
                .longValue();
    }

    /** A number; null stands for infinity. */
    double number(String name) {
        JsonNode found = node.path(name);
        JsonNode right = field(name, found.isNumber() || found.isNull(), "a number, or null for no limit");
        return right.isNull() ? Double.POSITIVE_INFINITY : right.doubleValue();
    }

    JsonFields object(String name) {
        return new JsonFields(file, path + name + ".", field(name, node.path(name).isObject(), "an object"));
    }

    JsonFields[] objects(String name) {
        JsonNode array = field(name, node.path(name).isArray(), "a list of objects");
        JsonFields[] objects = new JsonFields[array.size()];
        for (int i = 0; i < objects.length; i++) {
            objects[i] = new JsonFields(file, path + name + "[" + i + "].", array.get(i));
        }
        return objects;
    }

    /** The values are of the right kinds but make no sense together. */
    RefusedException senseless(IllegalArgumentException why) {
        return refused(file, "makes no sense: " + why.getMessage(), "values as MemFerry writes them");
    }
}
