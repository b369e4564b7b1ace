package org.memferry.plan;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.memferry.base.AtomicFile;
import org.memferry.base.RefusedException;

/**
 * Keeps a {@link Profile} as JSON beside a model, so that what was measured once is used again as long as network, batch shape, device and
 * version are the same: as long as the key is. A rate that nothing limits is written as null. A file of version 1, which does not tell what
 * copies lose to what is used in place beside them, is read as one link for all, as estimated profiles have it.
 */
public final class ProfileFile {

    private static final String FORMAT = "memferry-profile";
    private static final int VERSION = 2;
    private static final int WITHOUT_SHARES = 1;
    private static final String ENDING = ".profile.json";
    private static final String[] FIELDS = {"format", "version", "key", "measured", "bytesPerSecondToDevice", "bytesPerSecondToHost",
        "copySlowdown", "updateSlowdown", "betweenNanos", "layers"};
    private static final String[] FIELDS_WITH_SHARES = {"format", "version", "key", "measured", "bytesPerSecondToDevice", "bytesPerSecondToHost",
        "readShare", "writeShare", "copySlowdown", "updateSlowdown", "betweenNanos", "layers"};
    private static final String[] LAYER_FIELDS = {"forwardNanos", "backwardNanos", "forwardDirectNanos", "backwardDirectNanos",
        "gradientDirectNanos", "updateNanos", "activationBytes"};

    private ProfileFile() {
    }

    /** Where the profile of a model is kept: the model's file with {@code .profile.json} behind its name. */
    public static File beside(File model) {
        return new File(model.getPath() + ENDING);
    }

    /**
     * Writes a profile; the file is replaced as a whole or not at all.
     *
     * @throws IOException if it could not be written
     */
    public static void write(Profile profile, File file) throws IOException {
        ObjectMapper json = new ObjectMapper();
        ObjectNode root = json.createObjectNode().put("format", FORMAT).put("version", VERSION).put("key", profile.key())
                .put("measured", profile.measured());
        putRate(root, "bytesPerSecondToDevice", profile.bytesPerSecondToDevice());
        putRate(root, "bytesPerSecondToHost", profile.bytesPerSecondToHost());
        root.put("readShare", profile.readShare()).put("writeShare", profile.writeShare());
        root.put("copySlowdown", profile.copySlowdown()).put("updateSlowdown", profile.updateSlowdown())
                .put("betweenNanos", profile.betweenNanos());
        ArrayNode layers = root.putArray("layers");
        for (LayerProfile layer : profile.layers()) {
            layers.addObject().put("forwardNanos", layer.forwardNanos()).put("backwardNanos", layer.backwardNanos())
                    .put("forwardDirectNanos", layer.forwardDirectNanos()).put("backwardDirectNanos", layer.backwardDirectNanos())
                    .put("gradientDirectNanos", layer.gradientDirectNanos()).put("updateNanos", layer.updateNanos())
                    .put("activationBytes", layer.activationBytes());
        }
        byte[] bytes = json.writerWithDefaultPrettyPrinter().writeValueAsBytes(root);
        AtomicFile.replace(file, out -> out.write(bytes));
    }

    private static void putRate(ObjectNode root, String name, double rate) {
        if (Double.isInfinite(rate)) {
            root.putNull(name);
        } else {
            root.put(name, rate);
        }
    }

    /**
     * Reads a profile.
     *
     * @throws RefusedException if the file is no profile that this version reads
     * @throws IOException      if it is not there or could not be read
     */
    public static Profile read(File file) throws IOException {
        try (InputStream in = new FileInputStream(file)) {
            JsonFields root = JsonFields.read(in, file.toString(), FORMAT, WITHOUT_SHARES, VERSION);
            boolean shares = root.count("version") > WITHOUT_SHARES;
            root.only(shares ? FIELDS_WITH_SHARES : FIELDS);
            try {
                return profile(root, shares);
            } catch (IllegalArgumentException e) {
                throw root.senseless(e);
            }
        }
    }

    private static Profile profile(JsonFields root, boolean shares) {
        List<LayerProfile> layers = new ArrayList<>();
        for (JsonFields layer : root.objects("layers")) {
            layer.only(LAYER_FIELDS);
            layers.add(LayerProfile.builder(layer.count("forwardNanos"), layer.count("backwardNanos"))
                    .direct(layer.count("forwardDirectNanos"), layer.count("backwardDirectNanos"))
                    .gradientDirect(layer.count("gradientDirectNanos")).update(layer.count("updateNanos"))
                    .activations(layer.count("activationBytes")).build());
        }
        Profile.Builder profile = Profile.builder(root.text("key"), layers)
                .link(root.number("bytesPerSecondToDevice"), root.number("bytesPerSecondToHost"))
                .slowdown(root.number("copySlowdown"), root.number("updateSlowdown")).between(root.count("betweenNanos"));
        if (shares) {
            profile.shares(root.number("readShare"), root.number("writeShare"));
        }
        return root.truth("measured") ? profile.measured().build() : profile.build();
    }

    /**
     * The profile that a file holds, if it is there and of the same key.
     *
     * @param key what the profile must hold for, see {@link Profile#key()}
     * @return empty if there is no such file, or its profile is of another network, batch, device or version
     * @throws RefusedException if the file is no profile that this version reads
     * @throws IOException      if it could not be read
     */
    public static Optional<Profile> find(File file, String key) throws IOException {
        return file.exists() ? Optional.of(read(file)).filter(profile -> profile.key().equals(key)) : Optional.empty();
    }
}
