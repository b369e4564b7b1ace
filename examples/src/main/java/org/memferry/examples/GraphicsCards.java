package org.memferry.examples;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the driver says cards are called, by its files: the runtime's structure of properties differs between versions of CUDA. */
public final class GraphicsCards {

    private static final String DRIVER = "proc/driver/nvidia/gpus";
    private static final String MODEL = "Model:";

    private GraphicsCards() {
    }

    /**
     * The models that the driver lists; none without a driver.
     *
     * @param root the root folder, {@code /} but in tests
     */
    public static List<String> names(Path root) {
        List<String> models = new ArrayList<>();
        try (DirectoryStream<Path> cards = Files.newDirectoryStream(root.resolve(DRIVER))) {
            for (Path one : cards) {
                for (String line : Files.readAllLines(one.resolve("information"))) {
                    if (line.startsWith(MODEL)) {
                        models.add(line.substring(MODEL.length()).trim());
                    }
                }
            }
        } catch (IOException e) {
            return List.of();
        }
        return models;
    }

    /** The model of a card; which of several different ones is meant depends on what the process may see. */
    public static String name(int card) {
        List<String> models = names(Path.of("/"));
        boolean alike = models.stream().distinct().count() == 1;
        return alike ? models.get(0) : "cuda:" + card + (models.isEmpty() ? "" : " of " + models);
    }
}
