package org.memferry.examples.gpucheck;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** What the driver says a card is called, by its files: the runtime's structure of properties differs between versions of CUDA. */
final class GraphicsCard {

    private static final Path DRIVER = Paths.get("/proc/driver/nvidia/gpus");
    private static final String MODEL = "Model:";

    private GraphicsCard() {
    }

    /** The models that the driver lists; which of several is meant depends on what the process may see. */
    static String name(int card) {
        List<String> models = new ArrayList<>();
        try (DirectoryStream<Path> cards = Files.newDirectoryStream(DRIVER)) {
            for (Path one : cards) {
                for (String line : Files.readAllLines(one.resolve("information"))) {
                    if (line.startsWith(MODEL)) {
                        models.add(line.substring(MODEL.length()).trim());
                    }
                }
            }
        } catch (IOException e) {
            return "cuda:" + card;
        }
        boolean alike = models.stream().distinct().count() == 1;
        return alike ? models.get(0) : "cuda:" + card + (models.isEmpty() ? "" : " of " + models);
    }
}
