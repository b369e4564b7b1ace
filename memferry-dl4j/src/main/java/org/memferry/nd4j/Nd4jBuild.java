package org.memferry.nd4j;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

/**
 * Says which ND4J is on the class path. ND4J's own {@code VersionCheck} does not know: it looks for its releases' versions in a folder
 * ({@code ai/skymind}) that they no longer have. Read from what Maven leaves in each jar; starts nothing of ND4J.
 */
public final class Nd4jBuild {

    /** What {@link #version} says of an ND4J that was packed anew, without what Maven had left in it. */
    public static final String UNKNOWN = "unknown version";

    private static final String GROUP = "/META-INF/maven/org.nd4j/";
    /** Versions of CUDA that ND4J was ever published for since 1.0.0-beta7. */
    private static final List<String> CUDA = List.of("11.6", "11.4", "11.2", "11.1", "11.0", "10.2", "10.1", "10.0");

    private Nd4jBuild() {
    }

    /** The release, such as {@code 1.0.0-M2.1}, or {@link #UNKNOWN}. */
    public static String version() {
        return version("nd4j-api").orElse(UNKNOWN);
    }

    /** The version of CUDA that the CUDA backend on the class path is for, such as {@code 11.6}; empty without one. */
    public static Optional<String> cuda() {
        return CUDA.stream().filter(cuda -> version("nd4j-cuda-" + cuda).isPresent()).findFirst();
    }

    private static Optional<String> version(String artifact) {
        try (InputStream in = Nd4jBuild.class.getResourceAsStream(GROUP + artifact + "/pom.properties")) {
            Properties properties = new Properties();
            if (in != null) {
                properties.load(in);
            }
            return Optional.ofNullable(properties.getProperty("version"));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
