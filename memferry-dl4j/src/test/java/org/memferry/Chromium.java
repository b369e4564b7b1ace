package org.memferry;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.imageio.ImageIO;

/** A page in a real browser without a screen. */
public final class Chromium {

    private static final String PROGRAM = "chromium";

    private Chromium() {
    }

    /** True if the browser is on the path. */
    public static boolean isThere() {
        return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
                .anyMatch(entry -> Files.isExecutable(Path.of(entry, PROGRAM)));
    }

    /**
     * Draws a page.
     *
     * @param picture where the picture is kept
     * @param dark    the colours that the reader prefers
     */
    public static Screen open(String page, Path picture, boolean dark) throws IOException, InterruptedException {
        List<String> log = run(page, picture.getParent(), "--window-size=1300,1500", "--hide-scrollbars", "--screenshot=" + picture,
                "--blink-settings=preferredColorScheme=" + (dark ? 0 : 1));
        return new Screen(log.stream().filter(line -> line.contains("CONSOLE")).collect(Collectors.toList()), ImageIO.read(picture.toFile()));
    }

    /** The document once its scripts have run. */
    public static String dom(String page, Path directory) throws IOException, InterruptedException {
        return String.join("\n", run(page, directory, "--dump-dom", "--virtual-time-budget=2000"));
    }

    private static List<String> run(String page, Path directory, String... options) throws IOException, InterruptedException {
        Path file = Files.writeString(directory.resolve("page.html"), page);
        Path profile = Files.createTempDirectory(directory, "profile");
        List<String> command = new ArrayList<>(List.of(PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--user-data-dir=" + profile, "--enable-logging=stderr", "--v=0"));
        command.addAll(List.of(options));
        command.add(file.toUri().toString());
        Path log = Files.createTempFile(directory, "browser", ".log");
        Process browser = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        boolean ended = browser.waitFor(2, TimeUnit.MINUTES);
        browser.destroyForcibly().waitFor();
        List<String> lines = Files.readAllLines(log, StandardCharsets.UTF_8);
        assertThat(ended && browser.exitValue() == 0).as("the browser ended well; it wrote: %s", lines).isTrue();
        return lines;
    }

    /** How many pixels below some row have a colour, give or take the browser's rounding. */
    public static long count(BufferedImage image, int colour, int row) {
        long count = 0;
        for (int y = row; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                count += near(image.getRGB(x, y), colour) ? 1 : 0;
            }
        }
        return count;
    }

    private static boolean near(int a, int b) {
        return Math.abs((a >> 16 & 255) - (b >> 16 & 255)) + Math.abs((a >> 8 & 255) - (b >> 8 & 255)) + Math.abs((a & 255) - (b & 255)) <= 6;
    }

    /** Mean of a pixel's three colours, 0 to 255. */
    public static int brightness(BufferedImage image, int x, int y) {
        int rgb = image.getRGB(x, y);
        return ((rgb >> 16 & 255) + (rgb >> 8 & 255) + (rgb & 255)) / 3;
    }

    /** What was drawn and what the page complained about. */
    public static final class Screen {

        private final List<String> consoleLines;
        private final BufferedImage image;

        private Screen(List<String> consoleLines, BufferedImage image) {
            this.consoleLines = consoleLines;
            this.image = image;
        }

        /** Everything that was written to the page's console. */
        public List<String> consoleLines() {
            return consoleLines;
        }

        /** The picture. */
        public BufferedImage image() {
            return image;
        }
    }
}
